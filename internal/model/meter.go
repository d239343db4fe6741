package model

import (
	"math/big"

	"github.com/goweir/weir"
)

// A meter is one algorithm with what was taken under it. It may be asked about
// an instant before the last at which something was taken: what is to be taken
// later counts as used already, as those who come now stand behind it.
type meter interface {
	// clone returns a meter that goes its own way.
	clone() meter
	// free is how many may be taken at t, a whole number.
	free(t number) number
	// when is the first instant from t on at which n, from 1 to the capacity, may
	// be taken.
	when(t, n number) number
	// take takes n at t whether it is there or not, for a reservation unless that
	// is nil.
	take(t, n number, by *Reservation)
	// used is how much of the capacity is missing at t, rounded up.
	used(t number) number
	// refund gives back up to n of what was taken last, and returns how many.
	refund(t, n number) number
	// settle gives back the last n of what a reservation took, as far as they are
	// still missing.
	settle(t, n number, by *Reservation)
}

// newMeter returns the meter of a leaf, with nothing taken.
func newMeter(p weir.Policy) meter {
	l, _ := p.Limit()
	switch {
	case l == weir.Unlimited(), l.Count() == 0, l.Burst() == 0:
		return constant{capacity(p)}
	case p.Algorithm() == weir.AlgorithmTokenBucket, p.Algorithm() == weir.AlgorithmLeakyBucket:
		return &bucket{burst: capacity(p), interval: interval(l)}
	}
	h := history{count: whole(l.Count()), period: whole(l.Period())}
	switch p.Algorithm() {
	case weir.AlgorithmFixedWindow:
		return &window{h}
	case weir.AlgorithmSlidingWindow:
		return &log{history: h}
	case weir.AlgorithmSlidingCounter:
		return &counter{window{h}}
	}
	panic("model: no meter for " + p.String())
}

// interval is the time between two tokens: whole eighths of a nanosecond, never
// shorter than the limit says.
func interval(l weir.Limit) number {
	exact := big.NewRat(int64(l.Period()), int64(l.Count()))
	return over(ceil(times(exact, whole(8))), whole(8))
}

// A constant is a limit that time does not change: everything, or nothing.
type constant struct{ capacity number }

func (c constant) clone() meter                       { return c }
func (c constant) free(number) number                 { return c.capacity }
func (c constant) when(t, _ number) number            { return t }
func (c constant) take(_, _ number, _ *Reservation)   {}
func (c constant) used(number) number                 { return zero }
func (c constant) refund(_, _ number) number          { return zero }
func (c constant) settle(_, _ number, _ *Reservation) {}
