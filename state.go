package weir

import "math"

// A state is what a policy remembers of one key: words side by side, and the
// book in which those of its words that stand for a log are looked up. Words
// that are all 0 are a key that was never seen, full. Where they are kept, and
// under which lock, is their owner's business.
type state struct {
	newest uint64 // mark of the newest reading at which it was charged, 0 for never
	words  []uint64
	logs   *logbook
}

// A state has no word in its first place from leastReserved on: those are its
// owner's.
const leastReserved uint64 = math.MaxUint64 - 1

// apart stands in place of a slot's first word while its state is an account.
const apart = leastReserved

// mark returns a reading as a word that ascends with it and is 0 for none.
func mark(reading int64) uint64 { return max(1, uint64(reading)^1<<63) }

// readingOf returns the reading of a mark.
func readingOf(mark uint64) int64 { return int64(mark ^ 1<<63) }

// part returns the state of a part that takes the words from one to another.
func (s state) part(from, to int) state {
	s.words = s.words[from:to:to]
	return s
}

// clamp returns the instant at which a reading is decided: one below the newest
// counts as the newest, whether the clock stepped back or another goroutine read
// it later and was quicker. The lowest int64 counts as the one above it, as its
// mark would be that of none.
func (s state) clamp(now int64) int64 {
	return max(now, readingOf(max(1, s.newest)))
}

// furthest returns how far ahead of now, in ticks, a bucket's word can be: when
// the state was charged it was less than 2^64 ticks ahead of that.
func (s state) furthest(now int64) uint64 {
	idle := mark(now) - s.newest
	if s.newest == 0 || idle > math.MaxUint64/ticksPerNano {
		return 0
	}
	return ^(idle * ticksPerNano)
}
