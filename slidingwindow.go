package weir

import (
	"math/bits"
	"sort"
	"time"
)

// SlidingWindow returns the policy that never admits more than l.Count() in any
// l.Period(), wherever it begins. It keeps a log: for each key the instants of
// what is still in view, so its memory grows with use, not with the limit. What
// is taken at once, or at the same instant, is one entry of as few bytes as
// period and count need: seven for 1000 an hour.
func SlidingWindow(l Limit) Policy {
	return newLeaf(AlgorithmSlidingWindow, l, 0)
}

// A slidingWindow keeps the log of what was taken, the oldest first (the sliding
// window log):
//
//	used(t) = sum of n taken at u with t - period < u <= t
//	admits  = n <= count - used(t)
//
// What was taken at u is out of view at u + period and not before. The state's
// word is the ref of its log.
type slidingWindow struct {
	count  int64
	period int64
	format stampFormat
	keeps  bool // what is out of view: the log has stamps that are still to come
}

func newSlidingWindow(l Limit) slidingWindow {
	return slidingWindow{
		count:  int64(l.count),
		period: int64(l.period),
		format: newStampFormat(int64(l.count), int64(l.period)),
	}
}

// ahead returns the same for a log with stamps that are still to come, however
// far ahead.
func (w slidingWindow) ahead() slidingWindow {
	w.format, w.keeps = wideStamp, true
	return w
}

// look returns the key's log, how many of its stamps are out of view, and what
// is used.
func (w slidingWindow) look(s state, now int64) (l log, expired int, used int64) {
	l = w.open(s)
	expired = l.expired(now, w.period)
	return l, expired, l.since(expired)
}

func (w slidingWindow) open(s state) log { return s.logs.open(w.format, s) }

// until returns when what was taken at an instant goes out of view.
func (w slidingWindow) until(at, now int64) time.Duration {
	return time.Duration(w.period - (now - at))
}

func (w slidingWindow) size() int { return 1 }

func (w slidingWindow) most() int64 { return w.count }

func (w slidingWindow) wait(s state, now, n int64) time.Duration {
	l, expired, used := w.look(s, now)
	if n <= w.count-used {
		return 0
	}
	last := expired + sort.Search(l.len-expired, func(i int) bool {
		return l.since(expired+i+1) <= w.count-n
	})
	return w.until(l.at(last), now)
}

func (w slidingWindow) room(s state, now, n int64) int64 {
	_, _, used := w.look(s, now)
	return max(0, w.count-used-n)
}

func (w slidingWindow) reset(s state, now, n int64) time.Duration {
	if n > 0 {
		return time.Duration(w.period)
	}
	l, _, used := w.look(s, now)
	if used == 0 {
		return 0
	}
	return w.until(l.at(l.len-1), now)
}

func (w slidingWindow) used(s state, now int64) int64 {
	_, _, used := w.look(s, now)
	return used
}

func (w slidingWindow) take(s state, now, n int64) {
	l := w.trim(s, now)
	// What is charged above the count takes the place of the oldest: until those are
	// out of view nothing is admitted anyway.
	n = min(n, w.count)
	expired := l.expired(now, w.period)
	l.shed(expired, l.since(expired)+n-w.count)
	if l.len > 0 && l.at(l.len-1) == now {
		l.set(l.len-1, now, l.sum(l.len-1)+uint64(n))
	} else {
		sum := l.sum(l.len-1) + uint64(n)
		l.resize(l.len + 1)
		l.set(l.len-1, now, sum)
	}
	s.words[0] = l.ref()
}

func (w slidingWindow) refund(s state, now, n int64) int64 {
	l, _, used := w.look(s, now)
	given := min(n, used)
	for left := given; left > 0; {
		of := min(left, l.since(l.len-1))
		l.lessen(l.len-1, of)
		left -= of
	}
	s.words[0] = l.ref()
	return given
}

func (w slidingWindow) giveBack(s state, now, at, n int64) {
	l, expired, _ := w.look(s, now)
	i := expired + sort.Search(l.len-expired, func(i int) bool { return l.at(expired+i) >= at })
	if i < l.len && l.at(i) == at {
		l.lessen(i, n)
		s.words[0] = l.ref()
	}
}

// refresh drops what has long been out of view, so that the stamps that stay
// can still be told apart when others move the state's newest reading.
func (w slidingWindow) refresh(s state, now int64) {
	l := w.trim(s, now)
	s.words[0] = l.ref()
}

// release drops the log.
func (w slidingWindow) release(s state) { s.logs.erase(w.format, s.words[0]) }

// trim returns the log without what is out of view, if that is half of it, so
// that a stamp is moved once on average, or longer than a period.
func (w slidingWindow) trim(s state, now int64) log {
	l, expired, _ := w.look(s, now)
	if !w.keeps && expired > 0 && (2*expired >= l.len || uint64(now-l.at(0)) >= 2*uint64(w.period)) {
		l.drop(expired)
	}
	return l
}

func (w slidingWindow) maxWithin(d time.Duration) int64 {
	return saturatingMul(w.count, ceilDiv(int64(d), w.period))
}

// A stampFormat is how the stamps of a log are written. A stamp is an instant
// in nanoseconds and the sum of the log up to it and with it, so that what was
// used since is a subtraction. Both are cut to the bits that they need: no two
// instants of a log are further apart than two periods, and no difference of
// sums that counts is more than the limit's count.
type stampFormat struct {
	bytes   int
	sumBits int // below the instant's
}

// wideStamp is the format for what does not fit into a word: two of them.
var wideStamp = stampFormat{bytes: 16, sumBits: 64}

func newStampFormat(count, period int64) stampFormat {
	sumBits := bits.Len64(uint64(count))
	atBits := bits.Len64(2 * uint64(period))
	if atBits+sumBits > 64 {
		return wideStamp
	}
	return stampFormat{bytes: (atBits + sumBits + 7) / 8, sumBits: sumBits}
}
