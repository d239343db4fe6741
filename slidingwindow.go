package weir

import (
	"sort"
	"time"
)

// SlidingWindow returns the policy that never admits more than l.Count() in any
// l.Period(), wherever it begins. It keeps a log: for each key the instants of
// what is still in view, so its memory grows with use, not with the limit.
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
// word is the number of its log in the logbook, 0 for none.
type slidingWindow struct {
	count  int64
	period int64
}

// A stamp is an admission: its instant, and the sum of the log up to it and
// with it, so that what was used since any instant is a subtraction.
type stamp struct {
	at  int64
	sum uint64 // wraps; only differences count
}

// A log is what one key has taken. Its stamps ascend in both fields.
type log struct {
	dropped uint64 // the sum up to what is no longer kept
	stamps  []stamp
}

// A logbook holds the logs of several keys, by number.
type logbook struct {
	logs []log
	free []uint64
}

// read returns the log of that number.
func (b *logbook) read(number uint64) log {
	if number == 0 {
		return log{}
	}
	return b.logs[number-1]
}

// write changes the log of that number, a new one for 0.
func (b *logbook) write(number uint64, l log) uint64 {
	if number == 0 {
		if last := len(b.free) - 1; last >= 0 {
			number, b.free = b.free[last], b.free[:last]
		} else {
			b.logs = append(b.logs, log{})
			number = uint64(len(b.logs))
		}
	}
	b.logs[number-1] = l
	return number
}

// erase gives the number back.
func (b *logbook) erase(number uint64) {
	if number == 0 {
		return
	}
	b.logs[number-1] = log{}
	b.free = append(b.free, number)
	if len(b.free) == len(b.logs) {
		*b = logbook{}
	}
}

// before returns the sum of the log up to its first i stamps.
func (l log) before(i int) uint64 {
	if i == 0 {
		return l.dropped
	}
	return l.stamps[i-1].sum
}

// total returns the sum of all of the log.
func (l log) total() uint64 { return l.before(len(l.stamps)) }

// expired returns how many of the stamps are out of view: the first ones.
func (l log) expired(now, period int64) int {
	if len(l.stamps) == 0 || uint64(now-l.stamps[0].at) < uint64(period) {
		return 0
	}
	return sort.Search(len(l.stamps), func(i int) bool {
		return uint64(now-l.stamps[i].at) < uint64(period)
	})
}

// look returns the key's log, the first of it that is in view, and what is
// used.
func (w slidingWindow) look(s state, now int64) (l log, first int, used int64) {
	l = s.logs.read(s.words[0])
	first = l.expired(now, w.period)
	return l, first, int64(l.total() - l.before(first))
}

// until returns when the stamp goes out of view.
func (w slidingWindow) until(t stamp, now int64) time.Duration {
	return time.Duration(w.period - (now - t.at))
}

func (w slidingWindow) size() int { return 1 }

func (w slidingWindow) most() int64 { return w.count }

func (w slidingWindow) wait(s state, now, n int64) time.Duration {
	l, first, used := w.look(s, now)
	if n <= w.count-used {
		return 0
	}
	total, most := l.total(), uint64(w.count-n)
	last := first + sort.Search(len(l.stamps)-first, func(i int) bool {
		return total-l.stamps[first+i].sum <= most
	})
	return w.until(l.stamps[last], now)
}

func (w slidingWindow) room(s state, now, n int64) int64 {
	_, _, used := w.look(s, now)
	return w.count - used - n
}

func (w slidingWindow) reset(s state, now, n int64) time.Duration {
	if n > 0 {
		return time.Duration(w.period)
	}
	l, _, used := w.look(s, now)
	if used == 0 {
		return 0
	}
	return w.until(l.stamps[len(l.stamps)-1], now)
}

func (w slidingWindow) take(s state, now, n int64) {
	l, first, _ := w.look(s, now)
	total := l.total() + uint64(n)
	// What is out of view is dropped once it is half of the log, so that a
	// stamp is moved once on average.
	if first > 0 && first >= len(l.stamps)/2 {
		l.dropped = l.before(first)
		live := l.stamps[first:]
		if cap(l.stamps) >= 64 && len(live) < cap(l.stamps)/8 {
			l.stamps = append(make([]stamp, 0, 2*len(live)+1), live...)
		} else {
			l.stamps = l.stamps[:copy(l.stamps, live)]
		}
	}
	if last := len(l.stamps) - 1; last >= 0 && l.stamps[last].at == now {
		l.stamps[last].sum = total
	} else {
		l.stamps = append(l.stamps, stamp{at: now, sum: total})
	}
	s.words[0] = s.logs.write(s.words[0], l)
}

func (w slidingWindow) maxWithin(d time.Duration) int64 {
	return saturatingMul(w.count, ceilDiv(int64(d), w.period))
}
