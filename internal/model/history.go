package model

import (
	"math"
	"slices"
)

// A history is what was taken, and when, in order of time: all that windows and
// logs know. They do not know by whom: of what was taken at one instant, or in one
// window, it makes no difference whose is given back.
type history struct {
	count, period number
	taken         []taking
}

type taking struct{ at, n number }

func (h *history) cloned() history {
	c := *h
	c.taken = slices.Clone(h.taken)
	return c
}

// add notes that n were taken at t.
func (h *history) add(t, n number) { h.taken = append(h.taken, taking{t, n}) }

// sum is how many were taken at the instants of which in says so.
func (h *history) sum(in func(at number) bool) number {
	sum := zero
	for _, e := range h.taken {
		if in(e.at) {
			sum = plus(sum, e.n)
		}
	}
	return sum
}

// lessen gives back up to n of those, the last ones first, and returns how many.
func (h *history) lessen(n number, in func(at number) bool) number {
	rest := n
	for i := len(h.taken) - 1; i >= 0; i-- {
		if e := &h.taken[i]; in(e.at) {
			given := least(rest, e.n)
			e.n, rest = minus(e.n, given), minus(rest, given)
		}
	}
	return minus(n, rest)
}

// A window counts what is taken between two multiples of the period.
type window struct{ history }

func (w *window) clone() meter { return &window{w.cloned()} }

func (w *window) number(t number) number { return floor(over(t, w.period)) }

// within returns what says whether an instant is in a window.
func (w *window) within(k number) func(number) bool {
	return func(at number) bool { return equal(w.number(at), k) }
}

// current is the window of t, or a later one if something is taken there: nobody
// who comes now is served in one before that.
func (w *window) current(t number) number {
	k := w.number(t)
	for _, e := range w.taken {
		if e.n.Sign() > 0 {
			k = most(k, w.number(e.at))
		}
	}
	return k
}

func (w *window) begins(k number) number { return times(k, w.period) }

func (w *window) free(t number) number {
	k := w.current(t)
	if less(w.number(t), k) {
		return zero
	}
	return most(zero, minus(w.count, w.sum(w.within(k))))
}

func (w *window) when(t, n number) number {
	k := w.current(t)
	if !less(w.count, plus(w.sum(w.within(k)), n)) {
		return most(t, w.begins(k))
	}
	return w.begins(plus(k, one))
}

func (w *window) take(t, n number, _ *Reservation) {
	room := minus(whole(int64(math.MaxInt64)), w.sum(w.within(w.number(t)))) // as many as are counted
	w.add(t, least(n, room))
}

func (w *window) used(t number) number { return w.sum(w.within(w.current(t))) }

func (w *window) refund(t, n number) number { return w.lessen(n, w.within(w.number(t))) }

func (w *window) settle(t, n number, by *Reservation) {
	if k := w.number(t); equal(w.number(by.at), k) {
		w.lessen(n, w.within(k))
	}
}
