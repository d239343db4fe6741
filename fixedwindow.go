package weir

import "time"

// FixedWindow returns the policy of l.Count() per window. Windows are l.Period()
// long and begin at multiples of it on the clock: with the default clock, at
// round times in UTC. Its state is two words. A limit with a burst of its own is
// invalid: a window admits its count at once.
//
// Around the boundary of two windows it admits up to twice l.Count() in a short
// time; that is its nature. SlidingWindow does not.
func FixedWindow(l Limit) Policy {
	return newLeaf(AlgorithmFixedWindow, l, 0)
}

// A fixedWindow counts what was taken in the window that its state names:
//
//	words  = (k, used)
//	used   = sum of n taken at t with floor(t / period) = k
//	admits = n <= count - used, with used = 0 in any other window
type fixedWindow struct {
	count  int64
	period int64
}

// look returns the window of now, what is used of it, and what is left of its
// time.
func (w fixedWindow) look(s state, now int64) (k, used, left int64) {
	k, rest := floorDiv(now, w.period)
	if int64(s.words[0]) == k {
		used = int64(s.words[1])
	}
	return k, used, w.period - rest
}

func (w fixedWindow) size() int { return 2 }

func (w fixedWindow) most() int64 { return w.count }

func (w fixedWindow) wait(s state, now, n int64) time.Duration {
	_, used, left := w.look(s, now)
	if n <= w.count-used {
		return 0
	}
	return time.Duration(left)
}

func (w fixedWindow) room(s state, now, n int64) int64 {
	_, used, _ := w.look(s, now)
	return w.count - used - n
}

func (w fixedWindow) reset(s state, now, n int64) time.Duration {
	_, used, left := w.look(s, now)
	if used == 0 && n == 0 {
		return 0
	}
	return time.Duration(left)
}

func (w fixedWindow) take(s state, now, n int64) {
	k, used, _ := w.look(s, now)
	s.words[0], s.words[1] = uint64(k), uint64(used+n)
}

func (w fixedWindow) maxWithin(d time.Duration) int64 {
	return saturatingMul(w.count, ceilDiv(int64(d-1), w.period)+1)
}
