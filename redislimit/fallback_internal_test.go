package redislimit

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

const day = 24 * time.Hour

// TestAShareIsWhatItsFloatStandsFor: also where that is the result of a calculation.
func TestAShareIsWhatItsFloatStandsFor(t *testing.T) {
	for of := int64(1); of <= finest; of++ {
		for _, part := range []int64{1, of / 3, of - 1, of} {
			if part > 0 {
				require.Equal(t, big.NewRat(part, of), fraction(float64(part)/float64(of)), "%d/%d", part, of)
			}
		}
	}
	require.Equal(t, big.NewRat(1, 3), fraction(1-2./3))
	for _, float := range []float64{0.1234567, 0.333333333, 1 - 1e-9, 1e-9, 1e-300, math.SmallestNonzeroFloat64} {
		require.Equal(t, new(big.Rat).SetFloat64(float), fraction(float), float)
	}
}

// TestAShareIsRoundedToWhatLimitsCanSay: of buckets the rate, of windows the count.
func TestAShareIsRoundedToWhatLimitsCanSay(t *testing.T) {
	year := 365 * day
	for _, of := range []struct {
		share float64
		p, is weir.Policy
	}{
		{1. / 3, weir.TokenBucket(weir.PerSecond(9)), weir.TokenBucket(weir.PerSecond(3))},
		{1. / 49, weir.TokenBucket(weir.PerSecond(147)), weir.TokenBucket(weir.PerSecond(3))},
		{0.5, weir.TokenBucket(weir.PerHour(100).WithBurst(7)), weir.TokenBucket(weir.PerHour(50).WithBurst(3))},
		{0.5, weir.TokenBucket(weir.PerHour(3)), weir.TokenBucket(weir.Per(1, 40*time.Minute))},
		{0.5, weir.TokenBucket(weir.Per(3, 10*year).WithBurst(9)), weir.TokenBucket(weir.Per(1, 20*year/3).WithBurst(4))},
		{0.25, weir.TokenBucket(weir.PerHour(1).WithBurst(10)), weir.TokenBucket(weir.Per(1, 4*time.Hour).WithBurst(2))},
		{1e-300, weir.TokenBucket(weir.PerHour(1000)), weir.TokenBucket(weir.Per(1, longest))},
		{0.1, weir.LeakyBucket(weir.PerSecond(20).WithBurst(100), 7), weir.LeakyBucket(weir.PerSecond(2).WithBurst(10), 0)},
		{0.5, weir.FixedWindow(weir.PerHour(5)), weir.FixedWindow(weir.PerHour(2))},
		{0.3, weir.SlidingWindow(weir.PerDay(10)), weir.SlidingWindow(weir.PerDay(3))},
		{0.01, weir.SlidingCounter(weir.PerHour(25)), weir.SlidingCounter(weir.Per(1, 4*time.Hour))},
		{0.9, weir.FixedWindow(weir.Per(8, longest)), weir.FixedWindow(weir.Per(7, longest-7))},
		{0.5, weir.TokenBucket(weir.Unlimited()), weir.TokenBucket(weir.Unlimited())},
		{0.5, weir.FixedWindow(weir.PerSecond(0)), weir.FixedWindow(weir.PerSecond(0))},
		{0.5, weir.LeakyBucket(weir.PerSecond(0).WithBurst(7), 0), weir.LeakyBucket(weir.PerSecond(0).WithBurst(7), 0)},
		{0.5, weir.TokenBucket(weir.PerSecond(7).WithBurst(0)), weir.TokenBucket(weir.PerSecond(7).WithBurst(0))},
	} {
		require.NoError(t, of.p.Validate())
		got := shareOf(of.p, fraction(of.share))
		require.NoError(t, got.Validate(), "%v of %v", of.share, of.p)
		want, _ := of.is.Limit()
		is, _ := got.Limit()
		require.Equal(t, want, is, "%v of %v", of.share, of.p)
		require.Equal(t, of.is.Algorithm(), got.Algorithm())
		require.Equal(t, of.p.Name(), got.Name())
	}
}

// TestAShareIsAValidPolicyAndNoMore: and at least half of it, if limits can say that.
func TestAShareIsAValidPolicyAndNoMore(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	leaves := 0
	for i := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, i))
		p := anyPolicy(r, 2)
		_, err := newPlan(p)
		require.NoError(t, err)
		share := anyShare(r)
		less := shareOf(p, share)
		require.NoError(t, less.Validate(), "seed %d, policy %d: %v of %v", seed, i, share, p)
		if i%100 == 0 {
			weir.NewPerClient[string](less).Take("a", 1)
		}
		leaves += isShare(t, p, less, share, fmt.Sprintf("seed %d, policy %d", seed, i))
	}
	require.Greater(t, leaves, 20_000)
}

// isShare compares each leaf, and returns how many there are.
func isShare(t *testing.T, p, less weir.Policy, share *big.Rat, where string) (leaves int) {
	t.Helper()
	where = fmt.Sprintf("%s: %v, of which %v is %v", where, p, share, less)
	require.Equal(t, p.Algorithm(), less.Algorithm(), where)
	require.Equal(t, p.Name(), less.Name(), where)
	require.Len(t, less.Parts(), len(p.Parts()), where)
	for i, part := range less.Parts() {
		leaves += isShare(t, p.Parts()[i], part, share, where)
	}
	of, single := p.Limit()
	if !single {
		return leaves
	}
	got, _ := less.Limit()
	if of == weir.Unlimited() || of.Count() == 0 || of.Burst() == 0 {
		require.Equal(t, of, got, where)
		return 1
	}

	most, rate := times(share, of.Count()), big.NewRat(int64(got.Count()), int64(got.Period()))
	most.Mul(most, big.NewRat(1, int64(of.Period())))
	least := big.NewRat(1, int64(longest))
	require.False(t, rate.Cmp(most) > 0 && rate.Cmp(least) != 0, where)
	require.LessOrEqual(t, most.Cmp(rate.Mul(rate, big.NewRat(2, 1))), 0, where)

	burst := max(1, floor(times(share, of.Burst())))
	require.LessOrEqual(t, int64(got.Burst()), burst, where)
	require.GreaterOrEqual(t, 2*int64(got.Burst()), burst, where)

	switch p.Algorithm() {
	case weir.AlgorithmFixedWindow, weir.AlgorithmSlidingWindow, weir.AlgorithmSlidingCounter:
		// No two of them are in one of the original's, but where that is 30 years.
		require.GreaterOrEqual(t, got.Period(), min(of.Period(), longest-time.Duration(got.Count()+1)), where)
	}
	return 1
}

func anyShare(r *rand.Rand) *big.Rat {
	switch r.IntN(4) {
	case 0:
		return fraction(1 / float64(1+r.IntN(100)))
	case 1:
		return fraction(1 - r.Float64())
	case 2:
		return fraction(math.Pow(10, -30*r.Float64()))
	default:
		return fraction(float64(1+r.IntN(99)) / 100)
	}
}

func anyPolicy(r *rand.Rand, depth int) weir.Policy {
	p := weir.BurstReserve(anyLimit(r, true), anyLimit(r, true))
	switch kind := r.IntN(14); {
	case kind < 3:
		p = weir.TokenBucket(anyLimit(r, true))
	case kind < 5:
		p = weir.LeakyBucket(anyLimit(r, true), r.IntN(3))
	case kind < 7:
		p = weir.FixedWindow(anyLimit(r, false))
	case kind < 9:
		p = weir.SlidingWindow(anyLimit(r, false))
	case kind < 11:
		p = weir.SlidingCounter(anyLimit(r, false))
	case kind < 13 && depth > 0:
		parts := make([]weir.Policy, 1+r.IntN(3))
		for i := range parts {
			parts[i] = anyPolicy(r, depth-1)
		}
		if p = weir.All(parts...); kind == 11 {
			p = weir.FirstOf(parts...)
		}
	}
	if r.IntN(2) == 0 {
		p = p.Named("plan " + strconv.Itoa(r.IntN(1000)))
	}
	return p
}

// anyLimit returns one that New accepts: of any magnitude, and often the longest or largest that there is.
func anyLimit(r *rand.Rand, bucket bool) weir.Limit {
	switch r.IntN(20) {
	case 0:
		return weir.Unlimited()
	case 1:
		return weir.PerSecond(7).WithBurst(0)
	case 2:
		if bucket {
			return weir.PerSecond(0).WithBurst(5)
		}
	}
	for {
		period := time.Duration(magnitude(r, int64(longest)))
		switch r.IntN(4) {
		case 0:
			period = longest - period%100
		case 1:
			period = min(longest, period.Round(time.Hour)+time.Hour)
		}
		if !bucket && period >= mostOddPeriod {
			period = period.Truncate(time.Microsecond)
		}
		l := weir.Per(int(magnitude(r, min(mostCount, math.MaxInt))), period)
		if bucket {
			most := min(mostCount, math.MaxInt, int64(ticksPerNano*uint64(longest)/interval(l)))
			n := magnitude(r, most)
			if r.IntN(3) == 0 {
				n = most
			}
			l = l.WithBurst(int(n))
		}
		if l.Validate() == nil {
			return l
		}
	}
}

// magnitude returns a number from 1 to most, each number of bits as likely as another.
func magnitude(r *rand.Rand, most int64) int64 {
	return min(most, 1+r.Int64N(1<<r.IntN(63)))
}
