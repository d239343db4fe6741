package weir_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestSlidingWindowTimeline(t *testing.T) {
	const s = time.Second
	timeline(t, weir.SlidingWindow(weir.Per(5, 10*s)), by("sliding-window 5/10s", 5, []ask{
		{3 * s, 0, yes(5, 0)},
		{3 * s, 2, yes(3, 10*s)},
		{4 * s, 1, yes(2, 10*s)},
		{6 * s, 2, yes(0, 10*s)},
		{6 * s, 1, no(0, 7*s, 10*s)},
		{6 * s, 2, no(0, 7*s, 10*s)},
		{6 * s, 3, no(0, 8*s, 10*s)},
		{6 * s, 4, no(0, 10*s, 10*s)},
		{6 * s, 6, no(0, weir.Never, 10*s)},
		{13*s - 1, 1, no(0, 1, 3*s+1)},
		{13 * s, 1, yes(1, 10*s)},
		{12 * s, 1, yes(0, 11*s)}, // counts as 13 s
		{14 * s, 2, no(1, 2*s, 9*s)},
		{16*s - 1, 2, no(1, 1, 7*s+1)},
		{16 * s, 3, yes(0, 10*s)},
		{23 * s, 0, yes(2, 3*s)},
		{26*s - 1, 0, yes(2, 1)},
		{26 * s, 0, yes(5, 0)},
	}))
}

// TestSlidingWindowAroundABoundary: five in any 100 ms, where a fixed window lets ten through.
func TestSlidingWindowAroundABoundary(t *testing.T) {
	l := weir.Per(5, 100*time.Millisecond)
	for _, test := range []struct {
		policy weir.Policy
		want   int
	}{{weir.FixedWindow(l), 10}, {weir.SlidingWindow(l), 5}} {
		clock := &setClock{}
		limiter := weir.New(test.policy, weir.WithClock(clock))
		admitted := 0
		for clock.now = int64(95 * time.Millisecond); clock.now < int64(105*time.Millisecond); clock.now += 100_000 {
			if limiter.Allow() {
				admitted++
			}
		}
		require.Equal(t, test.want, admitted, "%v", test.policy)
	}
}

// TestSlidingWindowDenialsDoNotCount: RetryAfter shrinks as time passes, however often it is asked for.
func TestSlidingWindowDenialsDoNotCount(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.SlidingWindow(weir.PerMinute(10)), weir.FixedWindow(weir.PerMinute(10)), weir.SlidingCounter(weir.PerMinute(10)),
	} {
		clock := &setClock{}
		limiter := weir.New(p, weir.WithClock(clock))
		require.True(t, limiter.AllowN(10))
		retry := limiter.Take(1).RetryAfter
		for retry > 0 {
			step := min(retry, 7*time.Second)
			clock.now += int64(step)
			d := limiter.Peek(1)
			require.Equal(t, retry-step, d.RetryAfter, "%v", p)
			if retry = d.RetryAfter; retry > 0 {
				require.False(t, limiter.Allow(), "%v", p)
			}
		}
		require.True(t, limiter.Allow(), "%v", p)
	}
}

// TestSlidingWindowManyStamps: a long log, each entry of which leaves at its own nanosecond.
func TestSlidingWindowManyStamps(t *testing.T) {
	const count = 1000
	clock := &setClock{}
	period := int64(time.Second)
	limiter := weir.New(weir.SlidingWindow(weir.PerSecond(count)), weir.WithClock(clock))
	c := randomly(3)
	at := make([]int64, 0, 5*count)
	for round := range 5 {
		for i := range count {
			if round == 0 {
				clock.now += 1 + c(1000)
			} else {
				clock.now = at[len(at)-count] + period - 1
				require.False(t, limiter.Allow(), "%d too early in round %d", i, round)
				clock.now++
			}
			require.True(t, limiter.Allow(), "%d in round %d", i, round)
			at = append(at, clock.now)
		}
	}
	clock.now = at[len(at)-1] + period
	require.Equal(t, count, limiter.Tokens())
}

// TestSlidingWindowReachesMaxWithin: all at once, again as soon as they are out of view.
func TestSlidingWindowReachesMaxWithin(t *testing.T) {
	for _, l := range awkward {
		p := weir.SlidingWindow(l)
		clock := &setClock{}
		limiter := weir.New(p, weir.WithClock(clock))
		count := int64(l.Count())
		for k := range int64(5) {
			clock.now = k * int64(l.Period())
			require.Equal(t, saturated(bigInt(k*count)), p.MaxWithin(time.Duration(clock.now)), "%v", l)
			require.True(t, limiter.AllowN(l.Count()), "%v", l)
			require.Equal(t, saturated(bigInt((k+1)*count)), p.MaxWithin(time.Duration(clock.now+1)), "%v", l)
			require.False(t, limiter.Allow(), "%v", l)
			clock.now += int64(l.Period()) - 1
			require.False(t, limiter.Allow(), "%v", l)
		}
	}
}

func TestSlidingWindowMaxWithinFormula(t *testing.T) {
	for _, l := range awkward {
		for _, d := range spans {
			want := 0
			if d > 0 {
				periods := ceilRat(big.NewRat(int64(d), int64(l.Period())))
				want = saturated(periods.Mul(periods, bigInt(int64(l.Count()))))
			}
			require.Equal(t, want, weir.SlidingWindow(l).MaxWithin(d), "%v within %v", l, d)
		}
	}
}

// What is two periods old is forgotten, though it is little of the log: otherwise it could not be told from what
// is new.
func TestSlidingWindowForgetsWhatIsTwoPeriodsOld(t *testing.T) {
	for _, since := range []int64{-100, 0, 12_345} {
		clock := &setClock{}
		limiter := weir.New(weir.SlidingWindow(weir.Per(127, 255)), weir.WithClock(clock)) // 16 bits a stamp
		at := func(now int64) int {
			clock.now = since + now
			require.True(t, limiter.Allow())
			return limiter.Tokens()
		}
		at(0)
		at(250)
		at(252)
		for i := range int64(7) {
			at(480 + i)
		}
		require.Equal(t, 127-8, at(515))
		require.Equal(t, 127-9, at(520))
	}
}
