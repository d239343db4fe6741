package conformance

import (
	"math"
	"time"

	"github.com/goweir/weir"
)

const (
	year      = 8766 * time.Hour
	mostCount = 1 << 40 // or burst, that a trace has
)

// The limits of policies: those whose bucket's interval, or window's period, is whole
// microseconds; others; and the largest.
type limits func(c Choose, window bool) weir.Limit

func whole(c Choose, window bool) weir.Limit {
	count := pick(c, 1, 2, 3, 5, 10, 100, 1000)
	period := pick(c, time.Microsecond, 7*time.Microsecond, 600*time.Microsecond, 7*time.Millisecond, 30*time.Millisecond,
		time.Second, 3*time.Second, 5*time.Minute, 60*time.Hour, 720*time.Hour)
	switch {
	case !window:
		period *= time.Duration(count)
	case c.oneIn(3):
		period = time.Duration(1+c(10_000_000)) * time.Microsecond
	}
	return weir.Per(count, period)
}

func odd(c Choose, _ bool) weir.Limit {
	if c.oneIn(3) {
		return weir.Per(1+int(c(20)), time.Duration(1+c(int64(10*time.Second))))
	}
	return pick(c, weir.PerSecond(3), weir.PerMinute(7), weir.Every(333_333_333), weir.PerSecond(999_983), weir.PerSecond(2_000_000_000),
		weir.Per(10, 13*time.Second+1), weir.Per(65_535, 100*time.Millisecond), weir.PerHour(10_000_007), weir.Per(7, 10),
		weir.Every(1), weir.Per(3, 1001), weir.Per(3, 999), weir.Per(11, 45*24*time.Hour+7), weir.PerDay(7))
}

func large(c Choose, window bool) weir.Limit {
	count := pick[int64](c, 1, 2, 3, 1<<20+1, 1_000_000_007, mostCount-1, mostCount)
	period := pick(c, time.Microsecond, time.Second, 1_000_003*time.Microsecond, 24*time.Hour, year, 29*year+time.Microsecond, 30*year)
	if !window && c.oneIn(2) { // also where it is not whole microseconds
		period -= 1
	}
	return weir.Per(int(count), period)
}

// mixed draws any whose count a small int holds.
func mixed(c Choose, window bool) weir.Limit {
	l := pick(c, whole, odd, large)(c, window)
	if l.Count() > math.MaxInt32 {
		return whole(c, window)
	}
	return l
}

// limit draws one, now and then of nothing or without a bound.
func limit(c Choose, of limits, window bool) weir.Limit {
	if c.oneIn(30) {
		return pick(c, weir.Limit{}, weir.Unlimited())
	}
	l := of(c, window)
	if !window && !c.oneIn(3) {
		burst := pick(c, 0, 1, 2, 3, 5, 20, 1000, 1<<30, int(min(int64(l.Count())+1, mostCount)))
		if burst == 0 && !c.oneIn(4) {
			burst = 7
		}
		if with := l.WithBurst(burst); with.Validate() == nil {
			return with
		}
	}
	if l.Validate() != nil { // a burst of the count takes too long
		return weir.PerDay(5)
	}
	return l
}

func leaf(c Choose, of limits) weir.Policy {
	var p weir.Policy
	switch c(5) {
	case 0:
		p = weir.TokenBucket(limit(c, of, false))
	case 1:
		p = weir.LeakyBucket(limit(c, of, false), int(c(2)))
	case 2:
		p = weir.FixedWindow(limit(c, of, true))
	case 3:
		p = weir.SlidingWindow(limit(c, of, true))
	default:
		p = weir.SlidingCounter(limit(c, of, true))
	}
	if c.oneIn(8) {
		p = p.Named(pick(c, "a", "b", "per \"client\""))
	}
	return p
}

func policy(c Choose, of limits, depth int) weir.Policy {
	kind := int64(0)
	if depth > 0 {
		kind = c(8)
	}
	switch kind {
	case 0, 1, 2:
		return leaf(c, of)
	case 3:
		return weir.BurstReserve(limit(c, of, false), limit(c, of, false))
	}
	parts := make([]weir.Policy, 1+c(3))
	for i := range parts {
		parts[i] = policy(c, of, depth-1)
	}
	if kind == 4 || kind == 5 {
		return weir.FirstOf(parts...)
	}
	return weir.All(parts...)
}

// leaves returns the policies that others are made of.
func leaves(p weir.Policy) (all []weir.Policy) {
	if p.Parts() == nil {
		return []weir.Policy{p}
	}
	for _, part := range p.Parts() {
		all = append(all, leaves(part)...)
	}
	return all
}
