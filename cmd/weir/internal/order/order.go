// Package order puts rows in order of time that are nearly so, in bounded memory.
package order

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Limits on what is held in memory, in words of 8 bytes.
const (
	mostHeld  = 4 << 20 // more than this is written to a temporary file
	batchSize = 16 << 10
	mostKept  = 1 << 10 // of a slot that is free, and so many slots
)

// A Sorter puts rows in order of time, of the same time as they came. A row is
// some words, of which the first is an instant in nanoseconds.
//
// Rows are held in a slot for each second. Once nothing older can come, a second is
// handed on and its slot is free. If more rows are held than fit into 32 MB they are
// written to a temporary file, slot by slot, and read back when it is their turn:
// memory is bounded by that, the slots (some 100 bytes for each second that has rows)
// and the rows of the busiest second.
//
//	every row that was handed on is older than every row that is held or still to come
type Sorter struct {
	width    int
	emit     func(rows []uint64) error
	batch    []uint64
	slots    map[int64]*slot
	seconds  secondHeap // the keys of slots
	last     *slot      // where the last row went
	lastIs   int64
	free     []*slot
	held     int // words in slots
	most     int // of them
	overflow []*file
}

// A slot is the rows of a second, the oldest in files.
type slot struct {
	rows    []uint64
	written []segment
}

// New returns a Sorter of rows of so many words, which emit is called with, many at
// a time.
func New(width int, emit func(rows []uint64) error) *Sorter {
	return &Sorter{width: width, emit: emit, slots: map[int64]*slot{}, most: mostHeld, batch: make([]uint64, 0, batchSize)}
}

// Add takes rows, none of which is older than what Release was called with.
func (s *Sorter) Add(rows []uint64) error {
	for i := 0; i < len(rows); i += s.width {
		row := rows[i : i+s.width]
		if second := floorSecond(int64(row[0])); s.last == nil || second != s.lastIs {
			s.last, s.lastIs = s.slot(second), second
		}
		s.last.rows = append(s.last.rows, row...)
	}
	if s.held += len(rows); s.held > s.most {
		return s.spill()
	}
	return nil
}

func floorSecond(ns int64) int64 {
	second := ns / int64(time.Second)
	if ns%int64(time.Second) < 0 {
		second--
	}
	return second
}

func (s *Sorter) slot(second int64) *slot {
	t := s.slots[second]
	if t == nil {
		if n := len(s.free); n > 0 {
			t, s.free = s.free[n-1], s.free[:n-1]
		} else {
			t = &slot{}
		}
		s.slots[second] = t
		heap.Push(&s.seconds, second)
	}
	return t
}

// Release hands on all seconds that have ended by an instant.
func (s *Sorter) Release(before int64) error {
	for len(s.seconds) > 0 && s.seconds[0] < floorSecond(before) {
		if err := s.releaseFirst(); err != nil {
			return err
		}
	}
	return nil
}

// Flush hands on everything.
func (s *Sorter) Flush() error {
	for len(s.seconds) > 0 {
		if err := s.releaseFirst(); err != nil {
			return err
		}
	}
	return s.flushBatch()
}

func (s *Sorter) releaseFirst() error {
	second := heap.Pop(&s.seconds).(int64)
	t := s.slots[second]
	delete(s.slots, second)
	s.last = nil
	s.held -= len(t.rows)
	rows := t.rows
	if len(t.written) > 0 {
		var err error
		if rows, err = s.readBack(t); err != nil {
			return err
		}
	}
	if err := s.handOn(s.sorted(rows)); err != nil {
		return err
	}
	t.written = t.written[:0]
	if t.rows = t.rows[:0]; cap(t.rows) <= mostKept && len(s.free) < mostKept {
		s.free = append(s.free, t)
	}
	return nil
}

// sorted returns the rows of one second in order: as they are, where the log's time
// has whole seconds.
func (s *Sorter) sorted(rows []uint64) []uint64 {
	n := len(rows) / s.width
	inOrder := true
	for i := 1; i < n && inOrder; i++ {
		inOrder = int64(rows[(i-1)*s.width]) <= int64(rows[i*s.width])
	}
	if inOrder {
		return rows
	}
	places := make([]int, n)
	for i := range places {
		places[i] = i * s.width
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(int64(rows[a]), int64(rows[b])) })
	out := make([]uint64, 0, len(rows))
	for _, at := range places {
		out = append(out, rows[at:at+s.width]...)
	}
	return out
}

func (s *Sorter) handOn(rows []uint64) error {
	for len(rows) > 0 {
		n := min(len(rows), (cap(s.batch)-len(s.batch))/s.width*s.width)
		s.batch = append(s.batch, rows[:n]...)
		rows = rows[n:]
		if cap(s.batch)-len(s.batch) < s.width {
			if err := s.flushBatch(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sorter) flushBatch() error {
	if len(s.batch) == 0 {
		return nil
	}
	err := s.emit(s.batch)
	s.batch = s.batch[:0]
	return err
}

// A secondHeap is the seconds that have a slot, the lowest first.
type secondHeap []int64

func (h secondHeap) Len() int           { return len(h) }
func (h secondHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h secondHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *secondHeap) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *secondHeap) Pop() any {
	n := len(*h) - 1
	last := (*h)[n]
	*h = (*h)[:n]
	return last
}
