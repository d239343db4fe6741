package weir

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// maxSpan is the longest period and the longest time to refill a whole burst.
// An instant is kept in eighths of a nanosecond modulo 2^64, so two of them
// can be told apart up to 36.5 years: 30 and a margin.
const maxSpan = 30 * 365.25 * 24 * time.Hour

// A Limit says how many, per how long, and how many at once. It is an
// immutable value that may be compared with ==. The zero Limit denies
// everything, and so does any with a count or a burst of 0. Making one never
// fails: Validate says what is wrong with it, and New and NewPerClient panic.
type Limit struct {
	count     int
	period    time.Duration
	burst     int
	unlimited bool
}

// Per returns the limit of count per period, with a burst of count.
func Per(count int, period time.Duration) Limit {
	return Limit{count: count, period: period, burst: count}
}

// PerSecond returns the limit of count per second.
func PerSecond(count int) Limit { return Per(count, time.Second) }

// PerMinute returns the limit of count per minute.
func PerMinute(count int) Limit { return Per(count, time.Minute) }

// PerHour returns the limit of count per hour.
func PerHour(count int) Limit { return Per(count, time.Hour) }

// PerDay returns the limit of count per 24 hours.
func PerDay(count int) Limit { return Per(count, 24*time.Hour) }

// Every returns the limit of one per interval.
func Every(interval time.Duration) Limit { return Per(1, interval) }

// Unlimited returns the limit that admits everything.
func Unlimited() Limit { return Limit{unlimited: true} }

// WithBurst returns l with a capacity of n instead of its count. An unlimited
// limit has no capacity to set: it stays as it is, unless n is 0, which denies
// everything, or negative, which is invalid.
func (l Limit) WithBurst(n int) Limit {
	if l.unlimited {
		if n > 0 {
			return l
		}
		return Limit{burst: n}
	}
	l.burst = n
	return l
}

// Count returns how many the limit admits per period, math.MaxInt if it is
// unlimited.
func (l Limit) Count() int {
	if l.unlimited {
		return math.MaxInt
	}
	return l.count
}

// Period returns the time in which Count are admitted, 0 for the zero Limit
// and an unlimited one.
func (l Limit) Period() time.Duration { return l.period }

// Burst returns the capacity: how many are admitted at once. It is Count
// unless WithBurst said otherwise, and math.MaxInt if the limit is unlimited.
func (l Limit) Burst() int {
	if l.unlimited {
		return math.MaxInt
	}
	return l.burst
}

// Validate returns an error that names the number that is wrong: a negative
// count or burst, a period that is not positive, or a period or a time to
// refill the burst above 30 years. The zero Limit is valid.
func (l Limit) Validate() error {
	switch {
	case l.unlimited || l == Limit{}:
		return nil
	case l.count < 0:
		return fmt.Errorf("weir: limit with a count of %d: it must not be negative", l.count)
	case l.burst < 0:
		return fmt.Errorf("weir: limit with a burst of %d: it must not be negative", l.burst)
	case l.period <= 0:
		return fmt.Errorf("weir: limit with a period of %v: it must be positive", l.period)
	case l.period > maxSpan:
		return fmt.Errorf("weir: limit with a period of %v: it must be at most 30 years (%v)", l.period, maxSpan)
	}
	if hi, lo := bits.Mul64(uint64(l.burst), l.interval()); hi != 0 || lo > ticksPerNano*uint64(maxSpan) {
		return fmt.Errorf("weir: limit of %v: a burst of %d takes longer than 30 years to refill", l, l.burst)
	}
	return nil
}

// deniesAll reports whether nothing can ever pass.
func (l Limit) deniesAll() bool { return !l.unlimited && (l.count == 0 || l.burst == 0) }

// interval returns the time that one token takes, in ticks, rounded up so that
// the rate is never exceeded. l is valid; one that denies everything has none.
func (l Limit) interval() uint64 {
	if l.unlimited || l.deniesAll() {
		return 0
	}
	count := uint64(l.count)
	return (uint64(l.period)*ticksPerNano + count - 1) / count
}
