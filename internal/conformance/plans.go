package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// plan returns a policy to which the state of any of the others can be brought
// without rounding an instant, and such that it is brought: one that keeps a count, is
// like none of them, and has a log only if it is the first. It is the one that was
// drawn, or one in its place.
func plan(drawn weir.Policy, others []weir.Policy) weir.Policy {
	good := !slices.ContainsFunc(others, func(p weir.Policy) bool { return shape(p) == shape(drawn) })
	for _, l := range leaves(drawn) {
		limit, _ := l.Limit()
		good = good && !unlimited(l) && limit.Count() > 0 && limit.Burst() > 0
		good = good && (len(others) == 0 || l.Algorithm() != weir.AlgorithmSlidingWindow)
	}
	if good {
		return drawn
	}
	n := 11 + len(others)
	return weir.TokenBucket(weir.Per(n, time.Duration(n*n)*time.Second))
}

// shape is the same for policies that decide the same, whatever they are called.
func shape(p weir.Policy) string {
	l, single := p.Limit()
	switch {
	case !single:
		text := p.Algorithm().String()
		for _, part := range p.Parts() {
			text += "(" + shape(part) + ")"
		}
		return text
	case p.Algorithm() == weir.AlgorithmTokenBucket, p.Algorithm() == weir.AlgorithmLeakyBucket:
		const ticks = 8 // of a nanosecond: intervals are rounded up to them
		count := uint64(max(1, l.Count()))
		return fmt.Sprint("bucket ", (uint64(l.Period())*ticks+count-1)/count, capacity(p, l))
	}
	return p.Algorithm().String() + " " + l.String()
}

func unlimited(p weir.Policy) bool {
	l, single := p.Limit()
	return single && l == weir.Unlimited()
}
