package schedule

import (
	"math/bits"
	"unsafe"
)

// A Kind is what a step does with an object that threads share.
type Kind uint8

const (
	Read  Kind = iota
	Write      // or both at once
	Add        // without looking at the sum
	Acquire
)

// A step is what a thread does next, or did, from a point up to the next one.
type step struct {
	thread int
	kind   Kind
	object unsafe.Pointer // kept, so that no other object comes to be there
	mutex  *Mutex         // that it acquires
	ready  func() bool    // what it waits for; nil for nothing
	site   string         // if it was asked for

	// clock is, of each thread, the number of its last step that happened before
	// this one; its own number of its own.
	clock clock
}

// dependent reports whether it matters which of two threads' steps comes first.
func dependent(a, b *step) bool {
	return a.object == b.object && (a.kind != b.kind || a.kind == Write || a.kind == Acquire)
}

func (s *step) enabled() bool {
	return (s.mutex == nil || !s.mutex.held) && (s.ready == nil || s.ready())
}

// maxThreads bounds what a program may have.
const maxThreads = 8

type clock [maxThreads]int32

func (c *clock) join(other *clock) {
	for i, n := range other {
		c[i] = max(c[i], n)
	}
}

// knows reports whether a step happened before those of that clock.
func (c *clock) knows(s *step) bool { return c[s.thread] >= s.clock[s.thread] }

// A set is one of threads.
type set uint32

func (s set) has(thread int) bool { return s>>thread&1 != 0 }

func (s *set) add(thread int) { *s |= 1 << thread }

// first returns the lowest of a set that is not empty.
func (s set) first() int { return bits.TrailingZeros32(uint32(s)) }
