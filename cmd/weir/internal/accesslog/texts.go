package accesslog

import (
	"hash/maphash"
	"slices"
)

// texts keeps what keys were read from, of those that are read most often. When it
// is full, the count of the middle one is taken off every count, and what has none
// left is forgotten (Misra and Gries 1982, in batches): of N lines, whatever is in
// more than N / mostTexts is kept.
type texts struct {
	hasher hasher
	kept   map[Key]*keptText
}

type keptText struct {
	text  string
	count int
}

const mostTexts = 16 << 10

func newTexts() texts {
	return texts{hasher{maphash.MakeSeed()}, map[Key]*keptText{}}
}

func (t *texts) add(k Key, text []byte) {
	if kept := t.kept[k]; kept != nil {
		kept.count++
		return
	}
	if len(t.kept) >= 2*mostTexts {
		t.forget()
	}
	t.kept[k] = &keptText{string(text), 1}
}

func (t *texts) forget() {
	counts := make([]int, 0, len(t.kept))
	for _, kept := range t.kept {
		counts = append(counts, kept.count)
	}
	slices.Sort(counts)
	middle := counts[len(counts)/2]
	for k, kept := range t.kept {
		if kept.count -= middle; kept.count <= 0 {
			delete(t.kept, k)
		}
	}
}

func (t *texts) text(k Key) string {
	if kept := t.kept[k]; kept != nil {
		return kept.text
	}
	return ""
}
