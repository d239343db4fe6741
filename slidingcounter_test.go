package weir_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestSlidingCounterTimeline(t *testing.T) {
	const s = time.Second
	timeline(t, weir.SlidingCounter(weir.Per(10, 10*s)), by("sliding-counter 10/10s", 10, []ask{
		{9 * s, 0, yes(10, 0)},
		{9 * s, 10, yes(0, 11*s)},
		{9 * s, 1, no(0, 2*s, 11*s)},
		{9 * s, 10, no(0, 11*s, 11*s)},
		{9 * s, 11, no(0, weir.Never, 11*s)},
		{10 * s, 1, no(0, s, 10*s)},
		{11*s - 1, 1, no(0, 1, 9*s+1)},
		{11 * s, 1, yes(0, 19*s)},
		{14 * s, 4, no(3, s, 16*s)},
		{14 * s, 3, yes(0, 16*s)},
		{14 * s, 6, no(0, 6*s, 16*s)},                   // as the window ends, the 4 of this one are left
		{14 * s, 7, no(0, 8500*time.Millisecond, 16*s)}, // 3 of the 4 at most: a quarter of the next window on
		{13 * s, 7, no(0, 9500*time.Millisecond, 17*s)},
		{22500*time.Millisecond - 1, 7, no(6, 1, 7500*time.Millisecond+1)},
		{22500 * time.Millisecond, 7, yes(0, 17500*time.Millisecond)},
		{40*s - 1, 0, yes(9, 1)},
		{40 * s, 0, yes(10, 0)},
	}))
}

// TestSlidingCounterIsExact: a sum that is a billionth above the count is above it.
func TestSlidingCounterIsExact(t *testing.T) {
	clock := &setClock{now: -1}
	limiter := weir.New(weir.SlidingCounter(weir.PerHour(10_000_000)), weir.WithClock(clock))
	require.True(t, limiter.AllowN(10_000_000))
	for taken := range int64(1000) { // one comes back each 360 us
		clock.now = 360_000*(taken+1) - 1
		require.False(t, limiter.Allow(), "%d ns into the window", clock.now)
		clock.now++
		require.True(t, limiter.Allow(), "%d ns into the window", clock.now)
	}
	clock.now = int64(time.Hour) - 1
	require.Equal(t, 10_000_000-1000-1, limiter.Tokens())
	clock.now++
	require.Equal(t, 10_000_000-1000, limiter.Tokens())
	clock.now = 2*int64(time.Hour) - 1
	require.Equal(t, 10_000_000-1, limiter.Tokens())
	clock.now++
	require.Equal(t, 10_000_000, limiter.Tokens())
}

// TestSlidingCounterLongestAndLargest: the products have more than 64 bits, and more than 90 where int is that wide.
func TestSlidingCounterLongestAndLargest(t *testing.T) {
	const count = min(1<<40, math.MaxInt/2+1)
	l := weir.Per(count, 29*year)
	clock := &setClock{now: -1}
	limiter := weir.New(weir.SlidingCounter(l), weir.WithClock(clock))
	require.True(t, limiter.AllowN(count))
	clock.now = 0
	require.Zero(t, limiter.Tokens())
	for shift := range 20 {
		back := count >> (20 - shift)
		retry := limiter.Peek(back).RetryAfter
		clock.now += int64(retry) - 1
		require.Equal(t, back-1, limiter.Tokens())
		clock.now++
		require.Equal(t, back, limiter.Tokens())
	}
	clock.now = int64(29 * year)
	require.Equal(t, count, limiter.Tokens())
}

func TestSlidingCounterBeforeTheOrigin(t *testing.T) {
	const s = time.Second
	timeline(t, weir.SlidingCounter(weir.Per(4, 8*s)), by("sliding-counter 4/8s", 4, []ask{
		{-9 * s, 4, yes(0, 9*s)},
		{-8 * s, 1, no(0, 2*s, 8*s)},
		{-6*s - 1, 1, no(0, 1, 6*s+1)},
		{-6 * s, 1, yes(0, 14*s)},
		{-1, 3, no(2, 1, 8*s+1)},
		{0, 3, yes(0, 16*s)},
	}))
}

// TestSlidingCounterReachesMaxWithin: all in the last nanosecond of a window, then each as it comes back.
func TestSlidingCounterReachesMaxWithin(t *testing.T) {
	for _, l := range awkward {
		p := weir.SlidingCounter(l)
		clock := &setClock{now: -1}
		limiter := weir.New(p, weir.WithClock(clock))
		require.True(t, limiter.AllowN(l.Count()), "%v", l)
		require.Equal(t, l.Count(), p.MaxWithin(1), "%v", l)
		sum := bigInt(int64(l.Count()))
		for range 5 {
			wait := limiter.Peek(1).RetryAfter
			if clock.now+int64(wait) >= int64(l.Period()) {
				break
			}
			clock.now += int64(wait)
			require.Equal(t, saturated(sum), p.MaxWithin(time.Duration(clock.now+1)), "%v", l)
			came := limiter.Tokens()
			require.True(t, limiter.AllowN(came), "%v", l)
			sum = plus(sum, bigInt(int64(came)))
			require.Equal(t, saturated(sum), p.MaxWithin(time.Duration(clock.now+2)), "%v", l)
		}
	}
}

func TestSlidingCounterMaxWithinFormula(t *testing.T) {
	for _, l := range awkward {
		for _, d := range spans {
			want := 0
			switch {
			case d == 1:
				want = l.Count()
			case d > 1:
				came := bigInt(int64(d - 2))
				came.Mul(came, bigInt(int64(l.Count())))
				want = saturated(plus(floorDiv(came, bigInt(int64(l.Period()))), bigInt(int64(l.Count()))))
			}
			require.Equal(t, want, weir.SlidingCounter(l).MaxWithin(d), "%v within %v", l, d)
		}
	}
	require.Equal(t, math.MaxInt, weir.SlidingCounter(weir.PerSecond(2_000_000_000)).MaxWithin(math.MaxInt64))
}

// TestWhatACounterGivesBackNoOtherPartDoes: of both of its windows.
func TestWhatACounterGivesBackNoOtherPartDoes(t *testing.T) {
	clock := &setClock{now: int64(time.Hour) - 1}
	limiter := weir.New(weir.FirstOf(weir.TokenBucket(weir.Per(10, 29*year)), weir.SlidingCounter(weir.PerHour(5))), weir.WithClock(clock))
	require.True(t, limiter.AllowN(10))
	require.True(t, limiter.AllowN(2), "by the counter")
	clock.now++
	require.True(t, limiter.AllowN(3), "in its next window")
	limiter.Refund(5)
	require.True(t, limiter.AllowN(5))
	require.False(t, limiter.Allow())
}
