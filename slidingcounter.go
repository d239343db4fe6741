package weir

import (
	"math"
	"math/bits"
	"time"
)

// SlidingCounter returns the policy that estimates a sliding window from two
// counts: this window's, and that of the window before, weighted by what of it
// is still in view. Windows begin where FixedWindow's do. Its state is three
// words, whatever the limit. In one period it admits more than l.Count() only if
// the window before was used unevenly, and never twice as much. A limit with a
// burst of its own is invalid: a window admits its count at once.
func SlidingCounter(l Limit) Policy {
	return newLeaf(AlgorithmSlidingCounter, l, 0)
}

// A slidingCounter is the weighted two-window counter. With e the time since
// window k began:
//
//	words  = (k, previous, current)
//	sum(t) = previous * (period - e) / period + current
//	admits = sum(t) + n <= count, exactly: no rounding
//
// sum falls while nothing is taken, and at the end of a window the current
// count becomes the previous one at its full weight, so it falls without a step.
type slidingCounter struct {
	count  uint64
	period uint64
}

// counts is a slidingCounter's state seen at an instant.
type counts struct {
	k                 int64
	previous, current uint64
	wait              uint64 // until window k begins: something in it is reserved
	left              uint64 // of window k from then on, in (0, period]
}

func (c slidingCounter) look(s state, now int64) counts {
	k, rest := floorDiv(now, int64(c.period))
	seen := counts{k: k, left: c.period - uint64(rest)}
	switch charged := int64(s.words[0]); {
	case charged == k:
		seen.previous, seen.current = s.words[1], s.words[2]
	case charged == k-1:
		seen.previous = s.words[2]
	case charged > k && s.words[2] > 0:
		seen.k, seen.previous, seen.current = charged, s.words[1], s.words[2]
		seen.wait, seen.left = uint64(charged-k)*c.period-uint64(rest), c.period
	}
	return seen
}

// untilAtMost returns how long it takes a count whose weight is left / period,
// and falling, to weigh at most some number.
func (c slidingCounter) untilAtMost(weighted, most, left uint64) uint64 {
	if most >= weighted {
		return 0
	}
	// weighted * x / period <= most  <=>  x <= floor(most * period / weighted)
	x, _ := divMul(most, c.period, weighted)
	return left - min(x, left)
}

func (c slidingCounter) size() int { return 3 }

func (c slidingCounter) most() int64 { return int64(c.count) }

func (c slidingCounter) wait(s state, now, n int64) time.Duration {
	seen := c.look(s, now)
	if free := c.count - uint64(n); seen.current <= free {
		return time.Duration(seen.wait + c.untilAtMost(seen.previous, free-seen.current, seen.left))
	}
	// Not in this window. In the next, its count is the one that is weighted.
	return time.Duration(seen.wait + seen.left + c.untilAtMost(seen.current, c.count-uint64(n), c.period))
}

func (c slidingCounter) room(s state, now, n int64) int64 {
	if c.look(s, now).wait > 0 {
		return 0
	}
	return max(0, int64(c.count)-c.used(s, now)-n)
}

func (c slidingCounter) reset(s state, now, n int64) time.Duration {
	seen := c.look(s, now)
	switch {
	case seen.current > 0 || n > 0:
		return time.Duration(seen.wait + seen.left + c.period)
	case seen.previous > 0:
		return time.Duration(seen.wait + seen.left)
	}
	return 0
}

func (c slidingCounter) used(s state, now int64) int64 {
	seen := c.look(s, now)
	weighted, exact := divMul(seen.previous, seen.left, c.period)
	if !exact {
		weighted++
	}
	return int64(weighted + seen.current)
}

func (c slidingCounter) take(s state, now, n int64) {
	seen := c.look(s, now)
	seen.current = min(seen.current+uint64(n), max(seen.current, mostCounted))
	c.put(s, seen)
}

// mostCounted is what charging may bring a count to: two of them can be added.
const mostCounted = 1 << 61

func (c slidingCounter) put(s state, seen counts) {
	s.words[0], s.words[1], s.words[2] = uint64(seen.k), seen.previous, seen.current
}

func (c slidingCounter) refund(s state, now, n int64) int64 {
	seen := c.look(s, now)
	late := min(uint64(n), seen.current)
	early := min(uint64(n)-late, seen.previous)
	seen.current -= late
	seen.previous -= early
	c.put(s, seen)
	return int64(late + early)
}

func (c slidingCounter) giveBack(s state, now, at, n int64) {
	seen := c.look(s, now)
	switch k, _ := floorDiv(at, int64(c.period)); k {
	case seen.k:
		seen.current -= min(uint64(n), seen.current)
	case seen.k - 1:
		seen.previous -= min(uint64(n), seen.previous)
	}
	c.put(s, seen)
}

// maxWithin: of two windows in a row, the second admits at its time e at most
// count less the unweighted part of the first, so both together at most
// count + count * e / period; and every window before them count. The most that
// a span of d reaches into the last window is d - 2 ns less whole periods, as
// its first admission lies at the end of a window.
func (c slidingCounter) maxWithin(d time.Duration) int64 {
	if d < 2 {
		return int64(c.count)
	}
	hi, lo := bits.Mul64(c.count, uint64(d-2))
	if hi >= c.period {
		return math.MaxInt64
	}
	more, _ := bits.Div64(hi, lo, c.period)
	return saturatingAdd(int64(c.count), clampInt64(more))
}
