package weir_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestFixedWindowTimeline(t *testing.T) {
	const s = time.Second
	timeline(t, weir.FixedWindow(weir.Per(5, 10*s)), by("fixed-window 5/10s", 5, []ask{
		{3 * s, 0, yes(5, 0)},
		{3 * s, 2, yes(3, 7*s)},
		{4 * s, 4, no(3, 6*s, 6*s)},
		{4 * s, 6, no(3, weir.Never, 6*s)},
		{4 * s, 3, yes(0, 6*s)},
		{10*s - 1, 1, no(0, 1, 1)},
		{10 * s, 1, yes(4, 10*s)},
		{9 * s, 5, no(4, 11*s, 11*s)},
		{9 * s, 4, yes(0, 11*s)},
		{20*s - 1, 0, yes(0, 1)},
		{20 * s, 0, yes(5, 0)},
		{20 * s, 5, yes(0, 10*s)},
		{35 * s, 5, yes(0, 5*s)},
	}))
}

// TestFixedWindowBeforeTheOrigin: windows begin at the multiples of the period, below zero too.
func TestFixedWindowBeforeTheOrigin(t *testing.T) {
	const s = time.Second
	timeline(t, weir.FixedWindow(weir.Per(2, 10*s)), by("fixed-window 2/10s", 2, []ask{
		{-20 * s, 2, yes(0, 10*s)},
		{-10*s - 1, 1, no(0, 1, 1)},
		{-10 * s, 2, yes(0, 10*s)},
		{-1, 1, no(0, 1, 1)},
		{0, 1, yes(1, 10*s)},
		{10*s - 1, 1, yes(0, 1)},
		{10*s - 1, 1, no(0, 1, 1)},
		{10 * s, 1, yes(1, 10*s)},
	}))
}

// TestFixedWindowNumbersDoNotWrap: windows whose numbers agree in their low bits are different ones.
func TestFixedWindowNumbersDoNotWrap(t *testing.T) {
	for _, far := range []int64{1 << 16, 1 << 24, 1 << 31, 1 << 32, 1 << 33, 1 << 40, 1 << 48, 1 << 62} {
		clock := &setClock{}
		limiter := weir.New(weir.FixedWindow(weir.Per(1, time.Nanosecond)), weir.WithClock(clock))
		require.True(t, limiter.Allow())
		require.False(t, limiter.Allow())
		clock.now = far
		require.True(t, limiter.Allow(), "window %d", far)
		clock.now = 0
		require.False(t, limiter.Allow(), "window 0 after window %d", far)
	}
}

// TestFirstAndLastReading: any int64 is a legal reading, the least and the greatest too.
func TestFirstAndLastReading(t *testing.T) {
	for _, l := range []weir.Limit{weir.Per(1, time.Nanosecond), weir.PerSecond(3), weir.PerHour(10_000_000)} {
		for _, p := range append(everyAlgorithm(l), weir.All(everyAlgorithm(l)...), weir.FirstOf(everyAlgorithm(l)...)) {
			for _, readings := range [][]int64{
				{math.MinInt64 + 1, math.MinInt64 + 2, math.MinInt64}, {math.MaxInt64, math.MaxInt64 - 1}, {math.MaxInt64, math.MinInt64},
			} {
				w := newWalk(t, p)
				for _, now := range readings {
					w.step(now, 1, true)
					w.step(now, w.limiter.Tokens(), true)
					w.step(now, 1, true)
				}
				w.checkMaxWithin()
			}
			clock := &setClock{now: math.MinInt64}
			limiter := weir.New(p, weir.WithClock(clock))
			sum := 0
			for n := limiter.Tokens(); n > 0; n = limiter.Tokens() {
				require.True(t, limiter.AllowN(n), "%v", p)
				sum += n
				require.LessOrEqual(t, sum, p.MaxWithin(1), "%v at the first reading", p)
			}
			retry := limiter.Take(1).RetryAfter
			require.Positive(t, retry, "%v", p)
			clock.now += int64(retry) - 1
			require.False(t, limiter.Allow(), "%v", p)
			clock.now++
			require.True(t, limiter.Allow(), "%v", p)
		}
	}
}

func TestFixedWindowManyPerInterval(t *testing.T) {
	const period = 100 * time.Millisecond
	timeline(t, weir.FixedWindow(weir.Per(65_535, period)), by("fixed-window 65535/100ms", 65_535, []ask{
		{0, 65_535, yes(0, period)},
		{period, 65_535, yes(0, period)},
		{2*period - 1, 1, no(0, 1, 1)},
	}))
}

// TestFixedWindowReachesMaxWithin: all in the last nanosecond of a window, then all in the first of each
// that follows.
func TestFixedWindowReachesMaxWithin(t *testing.T) {
	for _, l := range awkward {
		p := weir.FixedWindow(l)
		clock := &setClock{now: -1}
		limiter := weir.New(p, weir.WithClock(clock))
		require.True(t, limiter.AllowN(l.Count()))
		require.Equal(t, l.Count(), p.MaxWithin(1), "%v", l)
		sum := bigInt(int64(l.Count()))
		for window := range int64(4) {
			clock.now = window * int64(l.Period())
			require.Equal(t, saturated(sum), p.MaxWithin(time.Duration(clock.now+1)), "%v", l)
			require.True(t, limiter.AllowN(l.Count()), "%v", l)
			sum = plus(sum, bigInt(int64(l.Count())))
			require.Equal(t, saturated(sum), p.MaxWithin(time.Duration(clock.now+2)), "%v", l)
		}
	}
}

func TestFixedWindowMaxWithinFormula(t *testing.T) {
	for _, l := range awkward {
		for _, d := range spans {
			want := 0
			if d > 0 {
				windows := plus(ceilRat(big.NewRat(int64(d-1), int64(l.Period()))), bigInt(1))
				want = saturated(windows.Mul(windows, bigInt(int64(l.Count()))))
			}
			require.Equal(t, want, weir.FixedWindow(l).MaxWithin(d), "%v within %v", l, d)
		}
	}
}
