package proof

import (
	"fmt"
	"math"
	"time"

	"github.com/goweir/weir"
	"pgregory.net/rapid"
)

const year = 8766 * time.Hour

// draw is rapid's Draw without a name for each number: the program is printed as
// a whole.
func draw[T any](t *rapid.T, from *rapid.Generator[T]) T { return from.Draw(t, "-") }

func oneOf[T any](t *rapid.T, from ...T) T { return from[draw(t, rapid.IntRange(0, len(from)-1))] }

func oneIn(t *rapid.T, n int) bool { return draw(t, rapid.IntRange(1, n)) == n }

// awkward are limits whose intervals are no round numbers, or extreme.
var awkward = []weir.Limit{
	weir.PerSecond(3), weir.PerSecond(7919), weir.PerSecond(999_983), weir.PerSecond(2_000_000_000),
	weir.Per(10, 13*time.Second), weir.Per(65_535, 100*time.Millisecond), weir.PerHour(10_000_000),
	weir.Per(7, 10*time.Nanosecond), weir.Every(time.Nanosecond), weir.Per(3, time.Nanosecond),
	weir.PerDay(1), weir.Per(3, 29*year), weir.Every(30 * year), weir.Per(11, 7*year),
	weir.Unlimited(), {}, weir.PerSecond(1).WithBurst(0),
}

func drawLimit(t *rapid.T, burst bool) weir.Limit {
	l := weir.Per(draw(t, rapid.IntRange(1, 12)), oneOf(t, time.Second, 10*time.Second, 13*time.Second, 7*time.Millisecond, 997, time.Hour))
	if oneIn(t, 5) {
		l = oneOf(t, awkward...)
	}
	if burst && oneIn(t, 2) {
		if with := l.WithBurst(oneOf(t, 1, 2, 3, 5, 20, 1000, 1<<30)); with.Validate() == nil {
			l = with
		}
	}
	if !burst && l == weir.PerSecond(1).WithBurst(0) {
		l = weir.Limit{}
	}
	return l
}

func drawLeaf(t *rapid.T) weir.Policy {
	var p weir.Policy
	switch draw(t, rapid.IntRange(0, 4)) {
	case 0:
		p = weir.TokenBucket(drawLimit(t, true))
	case 1:
		p = weir.LeakyBucket(drawLimit(t, true), draw(t, rapid.IntRange(0, 3)))
	case 2:
		p = weir.FixedWindow(drawLimit(t, false))
	case 3:
		p = weir.SlidingWindow(drawLimit(t, false))
	default:
		p = weir.SlidingCounter(drawLimit(t, false))
	}
	if oneIn(t, 5) {
		p = p.Named(oneOf(t, "a", "b"))
	}
	return p
}

func drawPolicy(t *rapid.T, depth int) weir.Policy {
	kind := 0
	if depth > 0 {
		kind = draw(t, rapid.IntRange(0, 7))
	}
	switch {
	case kind <= 3:
		return drawLeaf(t)
	case kind == 4:
		return weir.BurstReserve(drawLimit(t, true), drawLimit(t, true))
	}
	parts := make([]weir.Policy, draw(t, rapid.IntRange(1, 3)))
	for i := range parts {
		parts[i] = drawPolicy(t, depth-1)
	}
	if kind == 5 {
		return weir.FirstOf(parts...)
	}
	return weir.All(parts...)
}

// source is a policy as Go.
func source(p weir.Policy) string { return fmt.Sprintf("weir.MustParsePolicy(%q)", p) }

// leaves are the policies that others are made of.
func leaves(p weir.Policy) (all []weir.Policy) {
	if p.Parts() == nil {
		return []weir.Policy{p}
	}
	for _, part := range p.Parts() {
		all = append(all, leaves(part)...)
	}
	return all
}

// drawN draws how many to ask for: often what the last decision says is the edge.
func drawN(t *rapid.T, last weir.Decision) int {
	switch draw(t, rapid.IntRange(0, 9)) {
	default:
		return draw(t, rapid.IntRange(0, 5))
	case 6:
		return last.Remaining
	case 7:
		return last.Remaining + 1 // wraps to the least int after the greatest
	case 8:
		return last.Limit - draw(t, rapid.IntRange(-1, 1))
	case 9:
		return oneOf(t, -1, 0, 1, 8, 100, 1<<30, math.MinInt, math.MaxInt, math.MaxInt/2+1)
	}
}

// drawStep draws how far the next reading is from this one: often so that it hits
// an instant at which an answer changes, or misses it by a nanosecond.
func drawStep(t *rapid.T, now int64, p weir.Policy, spans ...time.Duration) time.Duration {
	around := time.Duration(draw(t, rapid.IntRange(-1, 1)))
	l, _ := oneOf(t, leaves(p)...).Limit()
	period := max(l.Period(), 1)
	switch draw(t, rapid.IntRange(0, 6)) {
	case 0:
		return 1
	case 3:
		return time.Duration(int64(period)-((now%int64(period))+int64(period))%int64(period)) + around
	case 4:
		return time.Duration(draw(t, rapid.Int64Range(1, int64(2*period))))
	case 5:
		return time.Duration(draw(t, rapid.Int64Range(1, int64(10*time.Second))))
	case 6:
		return min(period, year)*time.Duration(draw(t, rapid.IntRange(1, 4))) + around
	default:
		return clamp(oneOf(t, spans...)) + around
	}
}

// clamp keeps a span to what a program goes on for.
func clamp(d time.Duration) time.Duration {
	if d > 61*year {
		return 1
	}
	return d
}
