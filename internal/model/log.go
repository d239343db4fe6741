package model

import "slices"

// A log counts what was taken less than a period ago.
type log struct {
	history
	ahead bool // it has what is to be taken at instants still to come
}

func (l *log) clone() meter { return &log{l.cloned(), l.ahead} }

// inView returns what says whether something taken at an instant counts at t.
func (l *log) inView(t number) func(number) bool {
	return func(at number) bool { return less(minus(t, at), l.period) }
}

func (l *log) used(t number) number { return l.sum(l.inView(t)) }

func (l *log) free(t number) number { return most(zero, minus(l.count, l.used(t))) }

func (l *log) when(t, n number) number {
	instants := []number{t}
	for _, e := range l.taken {
		instants = append(instants, most(t, plus(e.at, l.period)))
	}
	slices.SortFunc(instants, number.Cmp)
	return instants[slices.IndexFunc(instants, func(t number) bool {
		return !less(l.count, plus(l.used(t), n))
	})]
}

func (l *log) take(t, n number, _ *Reservation) {
	if l.ahead {
		l.add(t, n)
		return
	}
	l.add(t, least(n, l.count))
	// What is too much takes the place of the oldest in view.
	for i := range l.taken {
		if e := &l.taken[i]; l.inView(t)(e.at) {
			e.n = minus(e.n, least(e.n, most(zero, minus(l.used(t), l.count))))
		}
	}
}

func (l *log) refund(t, n number) number { return l.lessen(n, l.inView(t)) }

func (l *log) settle(t, n number, by *Reservation) {
	l.lessen(n, func(at number) bool { return equal(at, by.at) && l.inView(t)(at) })
}
