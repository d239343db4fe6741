package weir_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestBurstReserveTimeline(t *testing.T) {
	const (
		ms        = time.Millisecond
		sustained = "token-bucket 100/s"
		reserve   = "token-bucket 5/s burst 50"
	)
	timeline(t, weir.BurstReserve(weir.PerSecond(100), weir.PerSecond(5).WithBurst(50)), []ask{
		{0, 1, weir.Decision{Allowed: true, Remaining: 99, Policy: sustained, Limit: 100, ResetAfter: 10 * ms}},
		{0, 99, weir.Decision{Allowed: true, Remaining: 50, Policy: reserve, Limit: 50, ResetAfter: 0}},
		{0, 51, weir.Decision{Remaining: 50, RetryAfter: 510 * ms, Policy: sustained, Limit: 100, ResetAfter: 1000 * ms}},
		{0, 101, weir.Decision{Remaining: 50, RetryAfter: weir.Never, Policy: sustained, Limit: 100, ResetAfter: 1000 * ms}},
		{0, 49, weir.Decision{Allowed: true, Remaining: 1, Policy: reserve, Limit: 50, ResetAfter: 9800 * ms}},
		{0, 2, weir.Decision{Remaining: 1, RetryAfter: 20 * ms, Policy: sustained, Limit: 100, ResetAfter: 1000 * ms}},
		{0, 1, weir.Decision{Allowed: true, Remaining: 0, Policy: sustained, Limit: 100, ResetAfter: 1000 * ms}}, // a tie: the first
		{10*ms - 1, 1, weir.Decision{RetryAfter: 1, Policy: sustained, Limit: 100, ResetAfter: 990*ms + 1}},
		{10 * ms, 1, weir.Decision{Allowed: true, Policy: sustained, Limit: 100, ResetAfter: 1000 * ms}},
		{200 * ms, 20, weir.Decision{Remaining: 19, RetryAfter: 10 * ms, Policy: sustained, Limit: 100, ResetAfter: 810 * ms}},
		{200 * ms, 19, weir.Decision{Allowed: true, Remaining: 1, Policy: reserve, Limit: 50, ResetAfter: 9800 * ms}},
		{200 * ms, 1, weir.Decision{Allowed: true, Remaining: 0, Policy: sustained, Limit: 100, ResetAfter: 1000 * ms}},
		{20 * time.Second, 0, weir.Decision{Allowed: true, Remaining: 100, Policy: sustained, Limit: 100}},
	})
}

func TestBurstReserveIsFirstOfTwoBuckets(t *testing.T) {
	sustained, reserve := weir.PerSecond(100), weir.PerSecond(5).WithBurst(50)
	p := weir.BurstReserve(sustained, reserve)
	require.NoError(t, p.Validate())
	require.Equal(t, weir.AlgorithmFirstOf, p.Algorithm())
	require.Equal(t, "burst-reserve(100/s, 5/s burst 50)", p.Name())
	require.Equal(t, "burst-reserve(100/s, 5/s burst 50)", p.String())
	require.Len(t, p.Parts(), 2)
	require.True(t, p.Parts()[0].Equal(weir.TokenBucket(sustained)))
	require.True(t, p.Parts()[1].Equal(weir.TokenBucket(reserve)))
	require.True(t, p.Equal(weir.BurstReserve(sustained, reserve)))
	require.False(t, p.Equal(weir.BurstReserve(reserve, sustained)))
	require.Equal(t, 150, p.MaxWithin(1))
	require.Equal(t, 150+99+4, p.MaxWithin(time.Second))
	require.Equal(t, 150+100+5, p.MaxWithin(time.Second+1))
	require.Equal(t, `burst-reserve(100/s, 5/s burst 50) as "api"`, p.Named("api").String())
}

// TestBurstReserveReachesMaxWithin: greedy by ones, it admits what both buckets hold together.
func TestBurstReserveReachesMaxWithin(t *testing.T) {
	p := weir.BurstReserve(weir.PerSecond(100), weir.PerSecond(5).WithBurst(50))
	clock := &setClock{}
	limiter := weir.New(p, weir.WithClock(clock))
	admitted := 0
	for clock.now = 0; clock.now <= int64(3*time.Second); clock.now += int64(time.Millisecond) {
		for limiter.Allow() {
			admitted++
		}
		require.Equal(t, p.MaxWithin(time.Duration(clock.now+1)), admitted, "after %d ns", clock.now)
	}
}

// TestFirstOfTimeline: the first part that admits all n pays, and only that one.
func TestFirstOfTimeline(t *testing.T) {
	const s = time.Second
	timeline(t, weir.FirstOf(
		weir.FixedWindow(weir.Per(2, 10*s)).Named("cheap"),
		weir.FixedWindow(weir.Per(5, 60*s)).Named("dear"),
	), []ask{
		{0, 1, weir.Decision{Allowed: true, Remaining: 5, Policy: "dear", Limit: 5}},
		{0, 2, weir.Decision{Allowed: true, Remaining: 3, Policy: "dear", Limit: 5, ResetAfter: 60 * s}},
		{s, 1, weir.Decision{Allowed: true, Remaining: 3, Policy: "dear", Limit: 5, ResetAfter: 59 * s}},
		{s, 4, weir.Decision{Remaining: 3, RetryAfter: 59 * s, Policy: "dear", Limit: 5, ResetAfter: 59 * s}},
		{s, 6, weir.Decision{Remaining: 3, RetryAfter: weir.Never, Policy: "cheap", Limit: 2, ResetAfter: 9 * s}},
		{s, 3, weir.Decision{Allowed: true, Remaining: 0, Policy: "cheap", Limit: 2, ResetAfter: 9 * s}},
		{s, 2, weir.Decision{RetryAfter: 9 * s, Policy: "cheap", Limit: 2, ResetAfter: 9 * s}},
		{s, 3, weir.Decision{RetryAfter: 59 * s, Policy: "dear", Limit: 5, ResetAfter: 59 * s}},
		{10 * s, 0, weir.Decision{Allowed: true, Remaining: 2, Policy: "cheap", Limit: 2}},
		{10 * s, 2, weir.Decision{Allowed: true, Remaining: 0, Policy: "cheap", Limit: 2, ResetAfter: 10 * s}},
	})
}
