package redislimit

import (
	"fmt"
	"math"
	"math/big"
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
// keeps them together within it, as long as that is at least one for each. What is no
// whole number is rounded down; less than one becomes one, in a longer period of at most
// 30 years. A client begins there with a full share. It panics if share is not above 0
// and at most 1.
func Local(share float64) Fallback {
	f := Fallback(share)
	if !f.isShare() {
		panic(fmt.Sprintf("redislimit: Local(%v): a share is above 0 and at most 1", share))
	}
	return f
}

func (f Fallback) isShare() bool { return 0 < f && f <= 1 }

// finest bounds the denominators of the fractions that a share is taken for.
const finest = 10_000

// fraction returns what a float stands for: a third for 1./3, which is a little less, so
// that a third of 9 is 3.
func fraction(share float64) *big.Rat {
	for of := 1.; of <= finest; of++ {
		if part := math.Round(share * of); math.Abs(share*of-part) <= 1e-12*part {
			return big.NewRat(int64(part), int64(of))
		}
	}
	return new(big.Rat).SetFloat64(share)
}

// shareOf returns a policy of the same shape and names with a share of each limit: valid,
// if p is, and never more than the share, unless that is less than a limit can be.
func shareOf(p weir.Policy, share *big.Rat) weir.Policy {
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
	if l == weir.Unlimited() || l.Count() == 0 || l.Burst() == 0 {
		return p
	}
	switch p.Algorithm() {
	case weir.AlgorithmTokenBucket:
		return weir.TokenBucket(shareOfBucket(l, share)).Named(p.Name())
	case weir.AlgorithmLeakyBucket:
		return weir.LeakyBucket(shareOfBucket(l, share), 0).Named(p.Name()) // nobody queues here
	case weir.AlgorithmFixedWindow:
		return weir.FixedWindow(shareOfWindow(l, share)).Named(p.Name())
	case weir.AlgorithmSlidingWindow:
		return weir.SlidingWindow(shareOfWindow(l, share)).Named(p.Name())
	default:
		return weir.SlidingCounter(shareOfWindow(l, share)).Named(p.Name())
	}
}

// shareOfBucket fits the period to the whole count, so that hardly anything of the rate is
// lost: half of 3 an hour is 1 in 40 minutes.
//
//	count / period <= share * l.Count() / l.Period(), or 1 in the longest period
//	burst          <= max(1, share * l.Burst())
func shareOfBucket(l weir.Limit, share *big.Rat) weir.Limit {
	part := times(share, l.Count())
	count := max(1, floor(part))
	less := weir.Per(int(count), lasting(count, part, l.Period()))
	// The time of one token is rounded up: a burst that takes 30 years may be longer than that.
	refilled := ticksPerNano * uint64(longest) / interval(less)
	return less.WithBurst(int(min(max(1, floor(times(share, l.Burst()))), int64(refilled))))
}

// shareOfWindow keeps the period, unless the share is less than one in it. It is not fitted to
// the count, as a bucket's: a period of l's might then have two of the shorter ones in it.
//
//	count          <= max(1, share * l.Count())
//	count / period <= share * l.Count() / l.Period(), or 1 in the longest period
func shareOfWindow(l weir.Limit, share *big.Rat) weir.Limit {
	part, period := times(share, l.Count()), l.Period()
	count := max(1, floor(part))
	less := weir.Per(int(count), max(period, lasting(count, part, period)))
	if less.Validate() != nil {
		// The time of one is rounded up, by less than a nanosecond: all of them may then be
		// longer than 30 years, if the window nearly is.
		shorter := longest - time.Duration(count)
		part.Mul(part, big.NewRat(int64(shorter), int64(period)))
		less = weir.Per(int(floor(part)), shorter)
	}
	return less
}

// longest is the longest period, and the longest time to refill a burst, of a valid limit.
const longest = 30 * 365.25 * 24 * time.Hour

// lasting returns how long count takes at the rate of part in period, rounded up, or the
// longest period if that is less.
func lasting(count int64, part *big.Rat, period time.Duration) time.Duration {
	d := big.NewRat(count, 1)
	d.Mul(d.Quo(d, part), big.NewRat(int64(period), 1))
	if d.Cmp(big.NewRat(int64(longest), 1)) >= 0 {
		return longest
	}
	return time.Duration(-floor(d.Neg(d)))
}

func times(share *big.Rat, n int) *big.Rat {
	part := big.NewRat(int64(n), 1)
	return part.Mul(part, share)
}

// floor returns the largest whole number that is not above x.
func floor(x *big.Rat) int64 { return new(big.Int).Div(x.Num(), x.Denom()).Int64() }
