package weir_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestLeakyBucketTimeline(t *testing.T) {
	const ms = time.Millisecond
	timeline(t, weir.LeakyBucket(weir.PerSecond(5), 10), by("leaky-bucket 5/s queue 10", 1, []ask{
		{0, 0, yes(1, 0)},
		{0, 2, no(1, weir.Never, 0)},
		{0, 1, yes(0, 200*ms)},
		{0, 1, no(0, 200*ms, 200*ms)},
		{0, 2, no(0, weir.Never, 200*ms)},
		{200*ms - 1, 1, no(0, 1, 1)},
		{200 * ms, 1, yes(0, 200*ms)},
		{900 * ms, 1, yes(0, 200*ms)},
		{1000 * ms, 1, no(0, 100*ms, 100*ms)},
		{700 * ms, 1, no(0, 400*ms, 400*ms)},
		{1100 * ms, 1, yes(0, 200*ms)},
	}))
}

// TestLeakyBucketIgnoresBurstAndQueue: whatever they are, Take knows a capacity of 1; only a burst of 0 closes it.
func TestLeakyBucketIgnoresBurstAndQueue(t *testing.T) {
	l := weir.PerSecond(3)
	for _, p := range []weir.Policy{
		weir.LeakyBucket(l, 0), weir.LeakyBucket(l, 7), weir.LeakyBucket(l.WithBurst(100), 0), weir.LeakyBucket(l.WithBurst(1), 1),
		weir.TokenBucket(l.WithBurst(1)),
	} {
		timeline(t, p, by(p.Name(), 1, []ask{
			{0, 1, yes(0, 333_333_334)},
			{333_333_333, 1, no(0, 1, 1)},
			{333_333_334, 1, yes(0, 333_333_334)}, // it overflowed for 5/8 ns
			{333_333_334, 1, no(0, 333_333_334, 333_333_334)},
			{666_666_668, 1, yes(0, 333_333_334)},
		}))
	}
	p := weir.LeakyBucket(l.WithBurst(0), 5)
	timeline(t, p, by(p.Name(), 0, []ask{{0, 1, no(0, weir.Never, 0)}, {time.Hour, 0, yes(0, 0)}}))
}

// TestLeakyBucketSpacesEvenly: no two closer than the interval, none later than it can be.
func TestLeakyBucketSpacesEvenly(t *testing.T) {
	for _, test := range sustainedRates {
		clock := &setClock{now: -5}
		limiter := weir.New(weir.LeakyBucket(test.limit, 0), weir.WithClock(clock))
		require.True(t, limiter.Allow())
		for k := range 1000 {
			clock.now += ceilRat(roundedInterval(test.limit)).Int64() - 1
			require.False(t, limiter.Allow(), "%v: departure %d too early", test.limit, k)
			clock.now++
			require.True(t, limiter.Allow(), "%v: departure %d", test.limit, k)
		}
	}
}

func TestLeakyBucketReachesMaxWithin(t *testing.T) {
	require.Equal(t, 5, weir.LeakyBucket(weir.PerSecond(5), 3).MaxWithin(time.Second))
	require.Equal(t, 6, weir.LeakyBucket(weir.PerSecond(5), 3).MaxWithin(time.Second+1))
	for _, l := range awkward {
		p := weir.LeakyBucket(l, 2)
		for _, d := range spans {
			require.Equal(t, weir.TokenBucket(l.WithBurst(1)).MaxWithin(d), p.MaxWithin(d), "%v within %v", l, d)
		}
	}
}
