package plan

import (
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// A Family is the policies of one algorithm that differ only in their count.
type Family struct {
	Algorithm weir.Algorithm
	Period    time.Duration
	Burst     int // of a token bucket, if not its count
}

// Algorithms are those that a limit is looked for unless others are asked for. The
// leaky bucket is not one: it never admits two at the same instant, and a log whose
// time has whole seconds has many of those.
var Algorithms = []weir.Algorithm{
	weir.AlgorithmTokenBucket, weir.AlgorithmSlidingWindow, weir.AlgorithmSlidingCounter, weir.AlgorithmFixedWindow,
}

// ParseAlgorithm reads the name of an algorithm that has a limit.
func ParseAlgorithm(text string) (weir.Algorithm, error) {
	for _, a := range append(Algorithms, weir.AlgorithmLeakyBucket) {
		if text == a.String() {
			return a, nil
		}
	}
	return 0, fmt.Errorf("algorithm %q: it is one of token-bucket, sliding-window, sliding-counter, fixed-window, leaky-bucket", text)
}

// Policy returns the one with a count of n.
func (f Family) Policy(n int) weir.Policy {
	l := weir.Per(n, f.Period)
	switch f.Algorithm {
	case weir.AlgorithmLeakyBucket:
		return weir.LeakyBucket(l, 0)
	case weir.AlgorithmFixedWindow:
		return weir.FixedWindow(l)
	case weir.AlgorithmSlidingWindow:
		return weir.SlidingWindow(l)
	case weir.AlgorithmSlidingCounter:
		return weir.SlidingCounter(l)
	}
	if f.Burst > 0 {
		l = l.WithBurst(f.Burst)
	}
	return weir.TokenBucket(l)
}

// most returns a count from which on a greater one makes no difference, or none that
// a log could show. Nobody needs more at once than all requests of the busiest client;
// where that is not what a count says, a request each millisecond.
func (f Family) most(busiest int) int {
	if f.Algorithm == weir.AlgorithmLeakyBucket || f.Burst > 0 {
		return max(busiest, int(min(f.Period/time.Millisecond, 1e9)))
	}
	return max(busiest, 1)
}
