// Package contender puts rate limiters behind one face, so that the same
// traffic can be sent through each: weir, its peers, what people write by hand,
// and the floors that none of them can go below.
package contender

import "time"

// A Limit is what a contender is built for: count per period and, where it
// knows bursts, bursts of count.
type Limit struct {
	Count  int
	Period time.Duration
}

// Roomy admits all that a benchmark can ask, without ever being full for long.
// Closed has admitted its one request of the day when the measuring begins.
// Both say it in a way that every contender computes correctly.
var (
	Roomy  = Limit{Count: 1 << 30, Period: 24 * time.Hour}
	Closed = Limit{Count: 1, Period: 24 * time.Hour}
)

func (l Limit) perSecond() float64 { return float64(l.Count) / l.Period.Seconds() }

// A Limiter is one contender, ready to be asked.
type Limiter struct {
	// Ask asks once for each key and returns how many were allowed. The loop is
	// the contender's own, so that the call inside it is a direct one. One that
	// has no keys only counts them.
	Ask func(keys []string) (allowed int)
	// Close ends what the limiter has running.
	Close func()
}

// A Contender makes limiters.
type Contender struct {
	Name   string
	Module string // the module it comes from, empty for code of this one
	How    string // how it is used here, for the reader
	// New returns a limiter for about so many clients, where it wants to know.
	New func(l Limit, clients int) Limiter
	// Waits is set where Ask sleeps until it may say yes, and never says no.
	Waits bool
}

// limiter returns a Limiter with nothing to close.
func limiter(ask func(keys []string) int) Limiter {
	return Limiter{Ask: ask, Close: func() {}}
}

// must is for constructors whose arguments are known to be right.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
