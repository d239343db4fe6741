package weir_test

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/conformance"
)

const (
	year       = 8766 * time.Hour
	oldestTime = int64(-250 * year)
	newestTime = int64(250 * year)
)

// setClock reads what the test sets.
type setClock struct{ now int64 }

func (c *setClock) Now() time.Duration { return time.Duration(c.now) }

func (c *setClock) SleepUntil(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// choose draws a number in [0, n). Random tests and the fuzz target draw the same policies and traces
// through it, the one from a generator, the other from its input.
type choose func(n int64) int64

func (c choose) oneIn(n int64) bool { return c(n) == 0 }

func always() bool { return true }

func pick[T any](c choose, from ...T) T { return from[c(int64(len(from)))] }

func randomly(seed uint64) choose { return rand.New(rand.NewPCG(seed, 2)).Int64N }

// fromBytes spends as many bytes as the range needs; after the last one everything is 0.
func fromBytes(data []byte) (c choose, more func() bool) {
	chosen, more := conformance.FromBytes(data)
	return choose(chosen), more
}

func chooseLimit(c choose, burst bool) weir.Limit {
	if c.oneIn(20) {
		return pick(c, weir.Limit{}, weir.Unlimited())
	}
	l := pick(c, awkward...)
	if c.oneIn(3) {
		l = weir.Per(1+int(c(20)), time.Duration(1+c(int64(10*time.Second))))
	}
	if burst && !c.oneIn(3) {
		with := l.WithBurst(pick(c, 0, 1, 2, 3, 5, 20, 1000, 1<<30))
		if with.Validate() == nil {
			return with
		}
	}
	return l
}

func chooseLeaf(c choose) weir.Policy {
	var p weir.Policy
	switch c(5) {
	case 0:
		p = weir.TokenBucket(chooseLimit(c, true))
	case 1:
		p = weir.LeakyBucket(chooseLimit(c, true), int(c(3)))
	case 2:
		p = weir.FixedWindow(chooseLimit(c, false))
	case 3:
		p = weir.SlidingWindow(chooseLimit(c, false))
	case 4:
		p = weir.SlidingCounter(chooseLimit(c, false))
	}
	if c.oneIn(4) {
		p = p.Named(pick(c, "a", "b", "per \"client\""))
	}
	return p
}

func choosePolicy(c choose, depth int64) weir.Policy {
	if depth == 0 || c.oneIn(3) {
		return chooseLeaf(c)
	}
	if c.oneIn(8) {
		return weir.BurstReserve(chooseLimit(c, true), chooseLimit(c, true))
	}
	parts := make([]weir.Policy, 1+c(3))
	for i := range parts {
		parts[i] = choosePolicy(c, depth-1)
	}
	if c.oneIn(2) {
		return weir.FirstOf(parts...)
	}
	return weir.All(parts...)
}

// chooseSmall draws a leaf of small numbers, that those who reserve soon meet each other in.
func chooseSmall(c choose) weir.Policy {
	l := weir.Per(1+int(c(12)), pick(c, time.Second, 10*time.Second, 13*time.Second, 7*time.Millisecond, 997, time.Hour))
	switch c(7) {
	case 0, 1:
		return weir.TokenBucket(l.WithBurst(1 + int(c(15))))
	case 2:
		return weir.LeakyBucket(l, int(c(5)))
	case 3:
		return weir.FixedWindow(l)
	case 4:
		return weir.SlidingCounter(l)
	}
	return weir.SlidingWindow(l)
}

// chooseBuckets draws a policy of nothing but token buckets that must all admit.
func chooseBuckets(c choose) weir.Policy {
	parts := make([]weir.Policy, 1+c(3))
	for i := range parts {
		parts[i] = weir.TokenBucket(chooseLimit(c, true))
		if c.oneIn(4) {
			parts[i] = weir.All(parts[i], weir.LeakyBucket(chooseLimit(c, true), 0))
		}
	}
	return weir.All(parts...)
}

// leafLimits are those of the parts that a policy is made of in the end.
func leafLimits(p weir.Policy) (all []weir.Limit) {
	if l, leaf := p.Limit(); leaf {
		return []weir.Limit{l}
	}
	for _, part := range p.Parts() {
		all = append(all, leafLimits(part)...)
	}
	return all
}

// later is t + d within the readings that are tried.
func later(t int64, d time.Duration) int64 {
	switch d := int64(d); {
	case d > 0 && t > newestTime-d:
		return newestTime
	case d < 0 && t < oldestTime-d:
		return oldestTime
	default:
		return t + d
	}
}

// chooseStep draws how far the next reading is from this one, often so that it hits an instant at
// which the answer under one of some limits changes, or misses it by one nanosecond.
func chooseStep(c choose, now int64, last weir.Decision, limits []weir.Limit) time.Duration {
	around := time.Duration(c(3) - 1)
	l := pick(c, limits...)
	period := max(int64(l.Period()), 1)
	switch c(16) {
	case 0, 1, 2:
		return 0
	case 3:
		return 1
	case 4, 5, 6:
		return min(last.RetryAfter, 290*year) + around
	case 7, 8:
		return min(last.ResetAfter, 290*year) + around
	case 9:
		return time.Duration((1+c(4))*period/int64(max(l.Count(), 1))) + 1 + around
	case 10, 11:
		inWindow := (now%period + period) % period
		return time.Duration(period-inWindow) + around
	case 12:
		return time.Duration(c(period * 2))
	case 13:
		return time.Duration(c(int64(time.Second)))
	case 14:
		return time.Duration(c(period/16 + 1))
	default:
		return time.Duration(1+c(40)) * year
	}
}

func chooseReading(c choose, now int64, last weir.Decision, limits []weir.Limit, backwards bool) int64 {
	step := chooseStep(c, now, last, limits)
	if backwards && c.oneIn(12) {
		if c.oneIn(6) {
			return pick(c, oldestTime, newestTime, 0, -1, 1)
		}
		return later(now, -max(step, 1))
	}
	return later(now, max(step, 0))
}

func chooseN(c choose, last weir.Decision, limits []weir.Limit) int {
	capacity := pick(c, limits...).Burst()
	switch c(16) {
	case 0, 1, 2, 3:
		return 1
	case 4, 5:
		return 2
	case 6:
		return 3
	case 7, 8:
		return last.Remaining
	case 9:
		return last.Remaining + 1 // wraps to the least int after the greatest
	case 10:
		return capacity
	case 11:
		return pick(c, capacity-1, capacity+1)
	case 12:
		return pick(c, 0, -1, -5, math.MinInt, math.MaxInt, math.MaxInt/2+1)
	default:
		return 1 + int(c(max(1, min(int64(capacity), 1<<40))))
	}
}
