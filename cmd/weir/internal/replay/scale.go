package replay

import (
	"math"

	"github.com/goweir/weir"
)

// Scales are the factors by which a candidate's limits are tried for a trade-off
// curve.
var Scales = []float64{0.125, 0.25, 0.5, 1, 2, 4, 8}

// Scaled returns the candidate with every count and burst times a factor, rounded,
// and at least 1.
func (c Candidate) Scaled(factor float64) Candidate {
	scaled := Candidate{Text: c.Text}
	for _, l := range c.Layers {
		l.Policy = scale(l.Policy, factor)
		scaled.Layers = append(scaled.Layers, l)
	}
	return scaled
}

func scale(p weir.Policy, factor float64) weir.Policy {
	var parts []weir.Policy
	for _, part := range p.Parts() {
		parts = append(parts, scale(part, factor))
	}
	switch p.Algorithm() {
	case weir.AlgorithmAll:
		return weir.All(parts...)
	case weir.AlgorithmFirstOf:
		return weir.FirstOf(parts...)
	}
	l, _ := p.Limit()
	if l == weir.Unlimited() || l.Count() == 0 {
		return p
	}
	times := func(n int) int { return int(min(max(1, math.Round(float64(n)*factor)), math.MaxInt32)) }
	scaled := weir.Per(times(l.Count()), l.Period()).WithBurst(times(l.Burst()))
	switch p.Algorithm() {
	case weir.AlgorithmLeakyBucket:
		return weir.LeakyBucket(scaled, 0)
	case weir.AlgorithmFixedWindow:
		return weir.FixedWindow(scaled)
	case weir.AlgorithmSlidingWindow:
		return weir.SlidingWindow(scaled)
	case weir.AlgorithmSlidingCounter:
		return weir.SlidingCounter(scaled)
	}
	return weir.TokenBucket(scaled)
}
