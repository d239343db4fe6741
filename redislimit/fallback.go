package redislimit

import (
	"fmt"
	"math"
	"time"

	"github.com/goweir/weir"
)

// A Fallback is what is decided when the store does not answer in time, or cannot
// decide.
type Fallback float64

const (
	// FailClosed returns the error, and admits nothing.
	FailClosed Fallback = 0
	// FailOpen admits everything.
	FailOpen Fallback = -1
)

// Local decides in memory, with a share of each limit: 1/k in a fleet of k processes
// keeps them together within it, as long as that is at least one for each. A client
// begins there with a full share. It panics if share is not above 0 and at most 1.
func Local(share float64) Fallback {
	f := Fallback(share)
	if !f.isShare() {
		panic(fmt.Sprintf("redislimit: Local(%v): a share is above 0 and at most 1", share))
	}
	return f
}

func (f Fallback) isShare() bool { return 0 < f && f <= 1 }

// shareOf returns a policy with a share of each limit, rounded down: but where
// that is less than one, one in a longer period.
func shareOf(p weir.Policy, share float64) weir.Policy {
	l, single := p.Limit()
	if !single {
		parts := p.Parts()
		for i := range parts {
			parts[i] = shareOf(parts[i], share)
		}
		if p.Algorithm() == weir.AlgorithmAll {
			return weir.All(parts...).Named(p.Name())
		}
		return weir.FirstOf(parts...).Named(p.Name())
	}
	if l == weir.Unlimited() || l.Count() == 0 || l.Burst() == 0 || share == 1 {
		return p
	}
	count, period := float64(l.Count())*share, l.Period()
	if count < 1 {
		period = time.Duration(min(float64(period)/count, float64(30*365*24*time.Hour)))
		count = 1
	}
	less := weir.Per(int(count), period)
	switch p.Algorithm() {
	case weir.AlgorithmTokenBucket:
		burst := max(1, int(math.Floor(float64(l.Burst())*share)))
		return weir.TokenBucket(less.WithBurst(burst)).Named(p.Name())
	case weir.AlgorithmLeakyBucket:
		return weir.LeakyBucket(less, 0).Named(p.Name())
	case weir.AlgorithmFixedWindow:
		return weir.FixedWindow(less).Named(p.Name())
	case weir.AlgorithmSlidingWindow:
		return weir.SlidingWindow(less).Named(p.Name())
	default:
		return weir.SlidingCounter(less).Named(p.Name())
	}
}
