package weir

import (
	"math"
	"time"
)

// A meter is one algorithm with its limit: functions of a state, an instant, and
// a number n, for wait, room and reset from 0 to most. The wait for any n only
// ever shrinks as time passes, and after a wait of 0, room is at least n.
//
// The instant is not before the state's newest, but for the states that others
// are looked at ahead in, with what is reserved taken at its time to come: that
// counts as used from now on.
type meter interface {
	// size is how many words of state it has.
	size() int
	// most is the capacity: what a full one admits at once.
	most() int64
	// wait is how long until n would be admitted, 0 for now.
	wait(s state, now, n int64) time.Duration
	// room is the most that would be admitted now if n were taken before.
	room(s state, now, n int64) int64
	// reset is how long until it would be full if n were taken now.
	reset(s state, now, n int64) time.Duration
	// used is how much of the capacity is not there, rounded up.
	used(s state, now int64) int64
	// take consumes n, whatever n is: of what is not there, as much as it can owe.
	take(s state, now, n int64)
	// refund gives back up to n of what was taken last, and returns how many.
	refund(s state, now, n int64) int64
	// maxWithin is the most that a span of d, at least 1 ns, can admit.
	maxWithin(d time.Duration) int64
}

// A refresher is a meter whose words are misread when they are much older than
// the state's newest reading: refresh forgets what no longer counts in them.
type refresher interface{ refresh(s state, now int64) }

// A releaser is a meter that keeps something outside of its words: release
// gives that back when the state is dropped.
type releaser interface{ release(s state) }

// A giver is a meter that knows what was taken when: giveBack gives back up to n
// of what was taken at an instant, if that still counts.
type giver interface {
	giveBack(s state, now, at, n int64)
}

func newMeter(a Algorithm, l Limit) meter {
	switch {
	case l.unlimited:
		return constant{capacity: math.MaxInt}
	case l.deniesAll():
		return constant{capacity: 0}
	}
	switch a {
	case AlgorithmTokenBucket:
		return newTokenBucket(l, l.burst)
	case AlgorithmLeakyBucket:
		return newTokenBucket(l, 1)
	case AlgorithmFixedWindow:
		return fixedWindow{count: int64(l.count), period: int64(l.period)}
	case AlgorithmSlidingWindow:
		return newSlidingWindow(l)
	default:
		return slidingCounter{count: uint64(l.count), period: uint64(l.period)}
	}
}

// A constant is the meter of a limit that time does not change: unlimited, or
// one that denies everything. It has no state.
type constant struct{ capacity int64 }

func (c constant) size() int                               { return 0 }
func (c constant) most() int64                             { return c.capacity }
func (c constant) wait(state, int64, int64) time.Duration  { return 0 }
func (c constant) room(state, int64, int64) int64          { return c.capacity }
func (c constant) reset(state, int64, int64) time.Duration { return 0 }
func (c constant) used(state, int64) int64                 { return 0 }
func (c constant) take(state, int64, int64)                {}
func (c constant) refund(state, int64, int64) int64        { return 0 }
func (c constant) maxWithin(time.Duration) int64           { return c.capacity }
