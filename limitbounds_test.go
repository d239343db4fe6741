package weir_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// TestABurstTakesThirtyYearsAtMost: to the eighth of a nanosecond.
func TestABurstTakesThirtyYearsAtMost(t *testing.T) {
	const span = 30 * 365.25 * 24 * time.Hour // of 8 ticks a nanosecond
	for _, c := range []struct {
		interval time.Duration // in ticks: a limit of 8 per period has as many as its period has nanoseconds
		burst    int
		valid    bool
	}{
		{span, 8, true},
		{span / 8, 64, true},
		{(8*span + 1) / 41161, 41161, false}, // a tick more
		{1 << 34, 1 << 30, false},            // 2^64 ticks
		{1 << 34, 1<<30 + 1, false},
		{span, math.MaxInt32, false},
	} {
		err := weir.Per(8, c.interval).WithBurst(c.burst).Validate()
		if c.valid {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "takes longer than 30 years to refill")
		}
	}
	require.EqualError(t, weir.Every(span+1).Validate(),
		"weir: limit with a period of 262980h0m0.000000001s: it must be at most 30 years (262980h0m0s)")
}

// TestAnUnlimitedLimitHasNoBurst: but one of nothing, or less.
func TestAnUnlimitedLimitHasNoBurst(t *testing.T) {
	require.Equal(t, weir.Unlimited(), weir.Unlimited().WithBurst(1))
	require.Equal(t, weir.Limit{}, weir.Unlimited().WithBurst(0))
	require.EqualError(t, weir.Unlimited().WithBurst(-1).Validate(), "weir: limit with a burst of -1: it must not be negative")
}

// TestAPeriodIsWrittenWhateverItIs: so that an error can show it.
func TestAPeriodIsWrittenWhateverItIs(t *testing.T) {
	for period, want := range map[time.Duration]string{
		-time.Second:     "5/-1s",
		0:                "5/0s",
		1:                "5/1ns",
		time.Microsecond: "5/1us",
		time.Millisecond: "5/1ms",
		time.Second:      "5/s",
		24 * time.Hour:   "5/d",
	} {
		require.Equal(t, want, weir.Per(5, period).String())
	}
}

// TestAPolicyHas16384WordsAtMost: each of its leaves has one or more.
func TestAPolicyHas16384WordsAtMost(t *testing.T) {
	bucket := weir.TokenBucket(weir.PerSecond(1))
	parts := make([]weir.Policy, 1<<14, 1<<14+1)
	for i := range parts {
		parts[i] = bucket
	}
	require.NoError(t, weir.All(parts...).Validate())
	require.EqualError(t, weir.All(append(parts, bucket)...).Validate(),
		"weir: all with a state of more than 16384 words: leave out some of its parts")
}

// TestTheCapacityOfACombination is the least of All's parts, and the greatest of FirstOf's.
func TestTheCapacityOfACombination(t *testing.T) {
	three, five := weir.TokenBucket(weir.PerSecond(3)), weir.SlidingWindow(weir.PerSecond(5))
	for _, c := range []struct {
		policy weir.Policy
		most   int
	}{
		{weir.All(three, five), 3}, {weir.All(five, three), 3},
		{weir.FirstOf(three, five), 5}, {weir.FirstOf(five, three), 5},
		{weir.All(weir.FirstOf(three, five), three), 3},
	} {
		for name, limiter := range map[string]interface {
			Reserve(n int) weir.Reservation
			Take(n int) weir.Decision
		}{"fresh": weir.New(c.policy, weir.WithClock(weir.NewManualClock())), "used": used(c.policy)} {
			require.Equal(t, weir.Never, limiter.Take(c.most+1).RetryAfter, "%s %v", name, c.policy)
			require.ErrorIs(t, limiter.Reserve(c.most+1).Err(), weir.ErrNever, "%s %v", name, c.policy)
			require.NoError(t, limiter.Reserve(c.most).Err(), "%s %v", name, c.policy)
		}
	}
}

func used(p weir.Policy) *weir.Limiter {
	limiter := weir.New(p, weir.WithClock(weir.NewManualClock()))
	limiter.Take(1)
	limiter.Reserve(3)
	return limiter
}
