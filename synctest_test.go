package weir_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestSystemClockReadsTheTimeOfABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := weir.SystemClock()
		began := clock.Now()
		require.Equal(t, 2000, time.Unix(0, int64(began)).UTC().Year())
		for _, d := range []time.Duration{1, time.Microsecond, time.Hour, 30 * year} {
			require.EqualValues(t, time.Now().UnixNano(), clock.Now())
			time.Sleep(d)
		}
		require.Equal(t, began+1+time.Microsecond+time.Hour+30*year, clock.Now())

		until := clock.Now() + 90*time.Second
		require.NoError(t, clock.SleepUntil(context.Background(), until))
		require.Equal(t, until, clock.Now())

		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.ErrorIs(t, clock.SleepUntil(ctx, until+time.Hour), context.DeadlineExceeded)
		require.Equal(t, until+time.Minute, clock.Now())
	})
}

func TestCoarseClockIsNoOlderThanItsResolution(t *testing.T) {
	for _, resolution := range []time.Duration{time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			clock := weir.NewCoarseClock(resolution)
			defer clock.Close()
			for range 1000 {
				time.Sleep(resolution*137/1000 + 1)
				age := weir.SystemClock().Now() - clock.Now()
				require.GreaterOrEqual(t, age, time.Duration(0))
				require.LessOrEqual(t, age, resolution)
			}
			for i := range 20 {
				until := weir.SystemClock().Now() + resolution*time.Duration(i)/3
				soon, cancel := context.WithTimeout(t.Context(), until-weir.SystemClock().Now()+2*resolution)
				require.NoError(t, clock.SleepUntil(soon, until), "it wakes as soon as it reads that instant")
				cancel()
				require.GreaterOrEqual(t, clock.Now(), until)
			}
			clock.Close()
			clock.Close()
			// A ticker that still ran would keep the bubble from ending.
		})
	}
}

// takeOnTime drains an idle limiter, then waits as long as it is told to and
// asks just before and right at that instant.
func takeOnTime(t *testing.T, k policyKind, take, peek func(n int) weir.Decision) {
	t.Helper()
	require.Equal(t, k.atOnce, drain(func() bool { return take(1).Allowed }))
	for range 25 {
		d := take(1)
		require.False(t, d.Allowed)
		require.Positive(t, d.RetryAfter)
		time.Sleep(d.RetryAfter - 1)
		early := peek(1)
		require.False(t, early.Allowed)
		require.EqualValues(t, 1, early.RetryAfter)
		time.Sleep(time.Nanosecond)
		require.True(t, take(1).Allowed)
		drain(func() bool { return take(1).Allowed })
	}
	time.Sleep(time.Hour)
	require.Equal(t, k.perTake, peek(0).Remaining)
	require.Zero(t, peek(0).ResetAfter)
}

func TestEveryPolicyInABubble(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		synctest.Test(t, func(t *testing.T) {
			limiter := weir.New(k.policy)
			takeOnTime(t, k, limiter.Take, limiter.Peek)
			clients := weir.NewPerClient[string](k.policy)
			defer clients.Close()
			takeOnTime(t, k,
				func(n int) weir.Decision { return clients.Take("alice", n) },
				func(n int) weir.Decision { return clients.Peek("alice", n) })
		})
	})
}

func TestWindowsBeginAtRoundTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight UTC
		time.Sleep(13*time.Minute + 20*time.Second)
		limiter := weir.New(weir.FixedWindow(weir.PerHour(3)))
		require.True(t, limiter.AllowN(3))
		require.Equal(t, 46*time.Minute+40*time.Second, limiter.Take(1).RetryAfter)
		time.Sleep(limiter.Take(1).RetryAfter)
		require.Zero(t, time.Now().Minute())
		require.True(t, limiter.AllowN(3))
	})
}

func TestFreshLimitersMadeOutsideABubbleWorkInIt(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		limiter := weir.New(k.policy)
		clients := weir.NewPerClient[string](k.policy)
		synctest.Test(t, func(t *testing.T) {
			takeOnTime(t, k, limiter.Take, limiter.Peek)
			takeOnTime(t, k,
				func(n int) weir.Decision { return clients.Take("alice", n) },
				func(n int) weir.Decision { return clients.Peek("alice", n) })
			require.EqualValues(t, 1, clients.Len()+int(clients.Stats().Evicted))
		})
		// Whatever it started in the bubble, it is closed outside.
		require.NoError(t, clients.Close())
	})
}

// A limiter of a package serves one bubble after the other, and none in between.
func TestALimiterOutlivesItsBubbles(t *testing.T) {
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10)))
	for _, key := range []string{"first", "second", "third"} {
		synctest.Test(t, func(t *testing.T) {
			require.True(t, clients.AllowN(key, 10))
			require.False(t, clients.Allow(key))
			time.Sleep(5 * time.Minute) // each bubble begins before the last one ended
			synctest.Wait()
		})
	}
	require.True(t, clients.AllowN("outside", 10))
	require.False(t, clients.AllowN("outside", 10))
	require.NoError(t, clients.Close())
}

func TestAPerClientIsClosedAfterItsBubble(t *testing.T) {
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(2)))
	synctest.Test(t, func(t *testing.T) {
		require.True(t, clients.AllowN("alice", 2)) // a sweep is due in a minute that never comes
	})
	require.True(t, clients.Allow("bob"))
	require.NoError(t, clients.Close())
}

func TestSweepingOnRealTime(t *testing.T) {
	for name, every := range map[string]time.Duration{"default": time.Minute, "10s": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var opts []weir.Option
				if name != "default" {
					opts = append(opts, weir.WithSweepEvery(every))
				}
				clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), opts...)
				for range 3 {
					require.True(t, clients.Allow("alice"))
					time.Sleep(every - 1)
					require.Equal(t, 1, clients.Len())
					time.Sleep(every + 1)
					synctest.Wait()
					require.Zero(t, clients.Len(), "nobody called anything")
				}
				require.Equal(t, uint64(3), clients.Stats().Evicted)
				require.NoError(t, clients.Close())
				require.True(t, clients.Allow("alice"))
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				require.Equal(t, 1, clients.Len(), "closed: no more sweeping")
			})
		})
	}
}

func TestSweepingOnACoarseClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := weir.NewCoarseClock(10 * time.Millisecond)
		defer clock.Close()
		clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock))
		require.True(t, clients.Allow("alice"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Zero(t, clients.Len())
	})
}

// An idle PerClient has nothing that runs: a bubble with a goroutine or a
// timer that rearms itself for ever would not end, or would not stand still.
func TestNothingRunsUnlessAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)))
		limiter := weir.New(weir.TokenBucket(weir.PerSecond(1)))
		require.True(t, clients.Allow("alice"))
		require.True(t, limiter.Allow())
		require.Zero(t, goroutinesOfWeir())
	})
}

// A jump of the clock fills buckets and no more, however far it goes.
func TestAnyNumberOfIdleYears(t *testing.T) {
	for _, years := range []time.Duration{30, 40, 50, 60, 70, 100, 150} {
		synctest.Test(t, func(t *testing.T) {
			p := weir.TokenBucket(weir.PerMinute(5))
			l := weir.New(p)
			clients := weir.NewPerClient[string](p, weir.WithSweepEvery(0))
			require.True(t, l.AllowN(5))
			require.True(t, clients.AllowN("a", 5))
			time.Sleep(years * 365 * 24 * time.Hour)
			require.Equal(t, 5, l.Tokens(), "%d years", years)
			require.Equal(t, 5, clients.Tokens("a"), "%d years", years)
		})
	}
}
