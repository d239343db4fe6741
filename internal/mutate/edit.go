package main

import (
	"bytes"
	"cmp"
	"slices"
)

// An edit replaces length bytes at offset. Edits do not overlap, other than by
// being inserted at the same offset.
type edit struct {
	offset, length int
	text           string
	closes         bool // ends what an earlier edit began
}

// rewrite applies edits that are in the order of the expressions they are about, the
// outer before the inner: of those at one offset, the inner is closed first.
func rewrite(src []byte, edits []edit) []byte {
	var opens, closes []edit
	for _, e := range edits {
		if e.closes {
			closes = append(closes, e)
		} else {
			opens = append(opens, e)
		}
	}
	slices.Reverse(closes)
	sorted := append(closes, opens...)
	slices.SortStableFunc(sorted, func(a, b edit) int { return cmp.Compare(a.offset, b.offset) })

	var out bytes.Buffer
	at := 0
	for _, e := range sorted {
		out.Write(src[at:e.offset])
		out.WriteString(e.text)
		at = e.offset + e.length
	}
	out.Write(src[at:])
	return out.Bytes()
}
