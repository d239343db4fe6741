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

// A windowView is a fixedWindow's state seen at an instant.
type windowView struct {
	k    int64
	used int64
	wait int64 // until window k begins: something in it is reserved
	left int64 // until it is over
}

func (w fixedWindow) look(s state, now int64) windowView {
	k, rest := floorDiv(now, w.period)
	switch charged := int64(s.words[0]); {
	case charged == k:
		return windowView{k: k, used: int64(s.words[1]), left: w.period - rest}
	case charged > k && s.words[1] > 0:
		wait := (charged-k)*w.period - rest
		return windowView{k: charged, used: int64(s.words[1]), wait: wait, left: wait + w.period}
	}
	return windowView{k: k, left: w.period - rest}
}

func (w fixedWindow) size() int { return 2 }

func (w fixedWindow) most() int64 { return w.count }

func (w fixedWindow) wait(s state, now, n int64) time.Duration {
	seen := w.look(s, now)
	if n <= w.count-seen.used {
		return time.Duration(seen.wait)
	}
	return time.Duration(seen.left)
}

func (w fixedWindow) room(s state, now, n int64) int64 {
	seen := w.look(s, now)
	if seen.wait > 0 {
		return 0
	}
	return max(0, w.count-seen.used-n)
}

func (w fixedWindow) reset(s state, now, n int64) time.Duration {
	seen := w.look(s, now)
	if seen.used == 0 && n == 0 {
		return 0
	}
	return time.Duration(seen.left)
}

func (w fixedWindow) used(s state, now int64) int64 { return w.look(s, now).used }

func (w fixedWindow) take(s state, now, n int64) {
	seen := w.look(s, now)
	s.words[0], s.words[1] = uint64(seen.k), uint64(saturatingAdd(seen.used, n))
}

func (w fixedWindow) refund(s state, now, n int64) int64 {
	seen := w.look(s, now)
	given := min(n, seen.used)
	s.words[0], s.words[1] = uint64(seen.k), uint64(seen.used-given)
	return given
}

func (w fixedWindow) giveBack(s state, now, at, n int64) {
	k, _ := floorDiv(at, w.period)
	if seen := w.look(s, now); seen.k == k {
		w.refund(s, now, n)
	}
}

func (w fixedWindow) maxWithin(d time.Duration) int64 {
	return saturatingMul(w.count, ceilDiv(int64(d-1), w.period)+1)
}
