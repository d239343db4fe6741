// Package striped counts without a cache line that all cores fight over: each
// goroutine adds to one of several lines, and a reader sums them up.
package striped

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Counters is how many counters a line holds.
const Counters = 4

// lineSize is a cache line, so that stripes are apart.
const lineSize = 64

// Which stripe a goroutine adds to is chance. With eight for each core two that
// run at once seldom meet. maxStripes bounds the memory.
const (
	stripesPerCore = 8
	maxStripes     = 128
)

// A Line is where some goroutines count.
type Line struct {
	counters [Counters]atomic.Uint64
	// Flag is for what a goroutine finds out here and would like to know the next
	// time, if it does no harm that it is lost, or another's.
	Flag atomic.Bool
	_    [lineSize - Counters*8 - 4]byte
}

// A Set is a few counters, each striped. Make it with New.
type Set struct {
	lines []Line
	shift uint8 // of a 64-bit hash, to the number of a line
}

// New returns a Set of counters at 0.
func New() Set {
	stripes, bits := 1, uint8(0)
	for stripes < min(stripesPerCore*runtime.GOMAXPROCS(0), maxStripes) {
		stripes, bits = 2*stripes, bits+1
	}
	return Set{lines: make([]Line, stripes), shift: 64 - bits}
}

// Line returns the line that the goroutine adds to.
func (s *Set) Line() *Line { return &s.lines[Here()>>s.shift] }

// Add adds 1 to counter i.
func (l *Line) Add(i int) { l.counters[i].Add(1) }

// Add adds 1 to counter i.
func (s *Set) Add(i int) { s.Line().Add(i) }

// Sum returns counter i as it was at some instant of the call, or a little
// more. It never decreases.
func (s *Set) Sum(i int) (sum uint64) {
	for j := range s.lines {
		sum += s.lines[j].counters[i].Load()
	}
	return sum
}

// Here returns a hash of where the goroutine's stack lies, to pick a stripe by: it is
// different for goroutines that run at once, and costs nothing to find out.
func Here() uint64 {
	var here byte
	return uint64(uintptr(unsafe.Pointer(&here))>>10) * 0x9e3779b97f4a7c15
}
