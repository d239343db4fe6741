package weir_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// A waiter is somebody who called WaitN.
type waiter struct {
	back atomic.Bool
	err  error // once it is back
}

// join sends a waiter and returns when it sleeps or is back.
func (s *stage) join(ctx context.Context, n int) *waiter {
	w := &waiter{}
	go func() {
		w.err = s.WaitN(ctx, n)
		w.back.Store(true)
	}()
	synctest.Wait()
	return w
}

// requireTurns goes from instant to instant: each waiter comes back at its own and not a nanosecond before.
func requireTurns(t *testing.T, s *stage, waiters []*waiter, turns []time.Duration) {
	t.Helper()
	look := func() {
		t.Helper()
		waiting := 0
		for i, w := range waiters {
			back := w.back.Load()
			require.Equal(t, turns[i] <= s.now, back, "at %v, waiter %d of %v", s.now, i, turns[i])
			if back {
				require.NoError(t, w.err)
			} else {
				waiting++
			}
		}
		require.Equal(t, waiting, s.Stats().Waiting, "at %v", s.now)
	}
	look()
	for _, turn := range turns {
		for _, at := range []time.Duration{turn - 1, turn} {
			if at >= s.now {
				s.at(at)
				look()
			}
		}
	}
}

func TestWaitersComeInOrderToTheNanosecond(t *testing.T) {
	bucket := func(count, burst int) weir.Policy { return weir.TokenBucket(weir.PerSecond(count).WithBurst(burst)) }
	two, ones := weir.PerSecond(2), []int{1, 1, 1, 1, 1, 1}
	const at = 300 * ms // when all of them come
	for _, test := range []struct {
		policy weir.Policy
		ns     []int
		turns  []time.Duration
	}{
		{bucket(10, 2), ones, []time.Duration{at, at, 400 * ms, 500 * ms, 600 * ms, 700 * ms}},
		{bucket(3, 2), []int{2, 1, 2, 1}, []time.Duration{at, at + 333_333_334, at + sec + 1, at + 1_333_333_335}},
		{weir.LeakyBucket(weir.PerSecond(10), 5), ones, []time.Duration{at, 400 * ms, 500 * ms, 600 * ms, 700 * ms, 800 * ms}},
		{weir.FixedWindow(two), ones, []time.Duration{at, at, sec, sec, 2 * sec, 2 * sec}},
		{weir.FixedWindow(two), []int{1, 2, 1}, []time.Duration{at, sec, 2 * sec}},
		{weir.SlidingWindow(two), ones, []time.Duration{at, at, at + sec, at + sec, at + 2*sec, at + 2*sec}},
		{weir.SlidingCounter(two), ones, []time.Duration{at, at, 1500 * ms, 2 * sec, 3 * sec, 4 * sec}},
		{weir.All(bucket(10, 2), weir.FixedWindow(weir.PerSecond(3))), ones, []time.Duration{at, at, 400 * ms, sec, sec, 1100 * ms}},
		{weir.FirstOf(bucket(1, 1), bucket(2, 1)), ones, []time.Duration{at, at, 800 * ms, 1300 * ms, 1300 * ms, 1800 * ms}},
		{weir.BurstReserve(weir.PerSecond(10).WithBurst(1), weir.PerSecond(1)), ones[:4], []time.Duration{at, at, 400 * ms, 500 * ms}},
		{weir.All(weir.LeakyBucket(weir.PerSecond(5), 9), weir.SlidingWindow(weir.PerSecond(3))), ones, []time.Duration{at, 500 * ms, 700 * ms, 1300 * ms, 1500 * ms, 1700 * ms}},
	} {
		onStages(t, test.policy, func(t *testing.T, s *stage) {
			s.at(at)
			var waiters []*waiter
			for _, n := range test.ns {
				waiters = append(waiters, s.join(t.Context(), n))
			}
			requireTurns(t, s, waiters, test.turns)
			require.Equal(t, weir.Stats{Allowed: uint64(len(test.ns))}, s.Stats())
		})
	}
}

func TestWaitOnAManualClock(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(10).WithBurst(1)), clock)
	require.NoError(t, clients.Wait(t.Context(), "alice"))
	back := make(chan int)
	for i := range 5 {
		go func() {
			if clients.Wait(t.Context(), "alice") == nil {
				back <- i
			}
		}()
		clock.BlockUntil(i + 1)
	}
	require.NoError(t, clients.Wait(t.Context(), "bob"), "waits for nobody else")
	for i := range 5 {
		clock.Advance(100*ms - 1)
		require.Equal(t, 5-i, clients.Stats().Waiting)
		clock.Advance(1)
		require.Equal(t, i, <-back)
	}
}

// songzhibin97/gkit#134
func TestCase20ADoneContextTakesNothing(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(10)), func(t *testing.T, s *stage) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("another reason"))
		require.Equal(t, context.Canceled, s.Wait(ctx))
		require.Equal(t, context.Canceled, s.WaitN(ctx, 11))
		past, cancelPast := context.WithTimeout(t.Context(), -sec)
		defer cancelPast()
		require.Equal(t, context.DeadlineExceeded, s.WaitN(past, 10))
		require.Equal(t, 10, s.Tokens())
		require.Equal(t, weir.Stats{}, s.Stats(), "not counted")
	})
}

// grafana/rollout-operator#441, cadence-workflow/cadence#6721
func TestCase21AThousandWaitersCancelledAsleep(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket(weir.PerSecond(1)), weir.LeakyBucket(weir.PerSecond(1), 1000), weir.FixedWindow(weir.PerSecond(1)),
		weir.SlidingWindow(weir.PerSecond(1)), weir.FirstOf(weir.TokenBucket(weir.PerSecond(1)), weir.TokenBucket(weir.Limit{})),
	} {
		onStages(t, p, func(t *testing.T, s *stage) {
			require.NoError(t, s.Wait(t.Context()))
			ctx, cancel := context.WithCancel(t.Context())
			var cancelled atomic.Int64
			for range 1000 {
				go func() {
					if errors.Is(s.Wait(ctx), context.Canceled) {
						cancelled.Add(1)
					}
				}()
			}
			synctest.Wait()
			require.Equal(t, 1000, s.Stats().Waiting)
			s.at(500 * ms)
			cancel()
			synctest.Wait()
			require.EqualValues(t, 1000, cancelled.Load())
			require.Equal(t, weir.Stats{Allowed: 1001}, s.Stats())
			next := s.join(t.Context(), 1)
			requireTurns(t, s, []*waiter{next}, []time.Duration{sec})
		})
	}
}

// golang/go#54541
func TestCase22ADeadlineBeforeTheTurn(t *testing.T) {
	for name, p := range map[string]weir.Policy{"bucket": weir.TokenBucket(weir.PerSecond(1)), "log": weir.SlidingWindow(weir.PerSecond(1))} {
		synctest.Test(t, func(t *testing.T) {
			l := weir.New(p)
			require.True(t, l.Allow())
			began := time.Now()
			before := l.Peek(1)
			ctx, cancel := context.WithTimeout(t.Context(), sec-1)
			defer cancel()
			for range 3 {
				err := l.Wait(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded, name)
				require.NotErrorIs(t, err, weir.ErrNever)
				require.Zero(t, time.Since(began), "at once")
				require.NoError(t, ctx.Err())
				require.Equal(t, before, l.Peek(1))
			}
			require.ErrorIs(t, l.WaitN(ctx, 2), weir.ErrNever)
			require.Equal(t, weir.Stats{Allowed: 1, Denied: 4}, l.Stats())
			time.Sleep(time.Nanosecond)
			require.ErrorIs(t, l.Wait(ctx), context.DeadlineExceeded, "by a nanosecond")
			just, cancelJust := context.WithTimeout(t.Context(), sec-1)
			defer cancelJust()
			require.NoError(t, l.Wait(just), "its instant is the deadline")
			require.Equal(t, sec, time.Since(began))
		})
	}
}

// A ManualClock's instants are no deadlines: who waits on one sleeps until ctx is done.
func TestWaitOnAManualClockUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.New(weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(weir.NewManualClock()))
		require.True(t, l.Allow())
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, l.Wait(ctx))
		require.Equal(t, 10*ms, time.Since(began))
		require.Equal(t, sec, l.Peek(1).RetryAfter)
		require.Equal(t, weir.Stats{Allowed: 2, Denied: 0}, l.Stats())
	})
}

func TestAContextDoneWhileAsleep(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(10).WithBurst(3)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(3))
		ctx, cancel := context.WithCancelCause(t.Context())
		first, second, third := s.join(t.Context(), 1), s.join(ctx, 3), s.join(t.Context(), 1)
		s.at(50 * ms)
		cancel(errors.New("another reason"))
		synctest.Wait()
		require.True(t, second.back.Load())
		require.Equal(t, context.Canceled, second.err)
		requireTurns(t, s, []*waiter{first, third}, []time.Duration{100 * ms, 500 * ms})
		require.Equal(t, 2, s.Tokens(), "as if it had never been: full at 400 ms, 1 taken at 500 ms")
	})
	// A turn that has come is kept, although ctx is done at the same instant.
	synctest.Test(t, func(t *testing.T) {
		l := weir.New(weir.TokenBucket(weir.PerSecond(10).WithBurst(1)))
		require.True(t, l.Allow())
		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(100*ms, cancel)
			require.NoError(t, l.Wait(ctx))
			timer.Stop()
			cancel()
		}
	})
}

// golang/go#23575
func TestCase24ARateRaisedWhileWaitersSleep(t *testing.T) {
	bucket := func(count int) weir.Policy { return weir.TokenBucket(weir.PerSecond(count).WithBurst(1)) }
	for _, test := range []struct {
		old, new weir.Policy
		change   time.Duration
		turns    []time.Duration
	}{
		{bucket(1), bucket(10), 500 * ms, []time.Duration{550 * ms, 650 * ms, 750 * ms}},
		{bucket(10), bucket(1), 50 * ms, []time.Duration{550 * ms, 1550 * ms, 2550 * ms}},
		{bucket(1), bucket(1).Named("another name"), 500 * ms, []time.Duration{sec, 2 * sec, 3 * sec}},
		{bucket(1), weir.TokenBucket(weir.Unlimited()), 500 * ms, []time.Duration{500 * ms, 500 * ms, 500 * ms}},
		{weir.LeakyBucket(weir.PerSecond(1), 3), weir.LeakyBucket(weir.PerSecond(10), 1), 500 * ms, []time.Duration{550 * ms, 650 * ms, 750 * ms}},
		{weir.LeakyBucket(weir.PerSecond(1), 3), weir.LeakyBucket(weir.PerSecond(1), 0), 500 * ms, []time.Duration{sec, 2 * sec, 3 * sec}},
		{weir.LeakyBucket(weir.PerSecond(1), 3), bucket(10), 500 * ms, []time.Duration{550 * ms, 650 * ms, 750 * ms}},
		{weir.FixedWindow(weir.Per(1, 10*sec)), weir.FixedWindow(weir.Per(3, 10*sec)), 3 * sec, []time.Duration{3 * sec, 3 * sec, 10 * sec}},
		{weir.SlidingWindow(weir.Per(1, 10*sec)), weir.SlidingWindow(weir.Per(2, 10*sec)), 3 * sec, []time.Duration{3 * sec, 10 * sec, 13 * sec}},
		{weir.SlidingWindow(weir.Per(1, 10*sec)), weir.SlidingWindow(weir.Per(1, 5*sec)), 3 * sec, []time.Duration{6500 * ms, 11500 * ms, 16500 * ms}},
		{weir.SlidingCounter(weir.Per(1, 10*sec)), weir.SlidingCounter(weir.Per(2, 10*sec)), 3 * sec, []time.Duration{3 * sec, 15 * sec, 20 * sec}},
		{weir.All(bucket(1), weir.FixedWindow(weir.Per(10, 10*sec))), weir.All(bucket(10), weir.FixedWindow(weir.Per(10, 10*sec))), 500 * ms, []time.Duration{550 * ms, 650 * ms, 750 * ms}},
		{weir.FirstOf(bucket(1), weir.TokenBucket(weir.Limit{})), weir.FirstOf(bucket(1), bucket(2)), 500 * ms, []time.Duration{500 * ms, sec, sec}},
		{bucket(1), weir.SlidingWindow(weir.Per(1, 2*sec)), 500 * ms, []time.Duration{2500 * ms, 4500 * ms, 6500 * ms}},
	} {
		onStages(t, test.old, func(t *testing.T, s *stage) {
			require.NoError(t, s.Wait(t.Context()))
			waiters := []*waiter{s.join(t.Context(), 1), s.join(t.Context(), 1), s.join(t.Context(), 1)}
			s.at(test.change)
			require.NoError(t, s.SetPolicy(test.old))
			require.Error(t, s.SetPolicy(weir.Policy{}))
			require.Equal(t, 3, s.Stats().Waiting)
			require.NoError(t, s.SetPolicy(test.new))
			synctest.Wait()
			requireTurns(t, s, waiters, test.turns)
		})
	}
}

func TestAWaiterThatNoLongerFits(t *testing.T) {
	bucket := func(burst int) weir.Policy { return weir.TokenBucket(weir.PerSecond(10).WithBurst(burst)) }
	onStages(t, bucket(5), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(5))
		five, one, four := s.join(t.Context(), 5), s.join(t.Context(), 1), s.Reserve(4)
		require.Equal(t, sec, four.Delay())
		s.at(100 * ms)
		require.NoError(t, s.SetPolicy(bucket(3)))
		synctest.Wait()
		require.True(t, five.back.Load())
		require.ErrorIs(t, five.err, weir.ErrNever)
		require.False(t, four.OK())
		require.ErrorIs(t, four.Err(), weir.ErrNever)
		require.Equal(t, weir.Never, four.Delay())
		four.Cancel()
		four.Settle(0)
		requireTurns(t, s, []*waiter{one}, []time.Duration{200 * ms})
		require.Equal(t, weir.Stats{Allowed: 4}, s.Stats())
	})
}

// JKorf/CryptoExchange.Net#291
func TestCase25TheWholeBurstBeforeAnEndlessStream(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(10)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(10))
		burst := s.join(t.Context(), 10)
		ctx, cancel := context.WithCancel(t.Context())
		var ones atomic.Int64
		var stream sync.WaitGroup
		for range 5 {
			stream.Go(func() {
				for s.Wait(ctx) == nil {
					ones.Add(1)
				}
			})
		}
		synctest.Wait()
		for at := 100 * ms; at < sec; at += 100 * ms {
			s.at(at)
			require.False(t, s.Allow())
			require.False(t, burst.back.Load())
			require.Zero(t, ones.Load())
		}
		for i := range int64(11) {
			s.at(sec + time.Duration(i)*100*ms)
			require.True(t, burst.back.Load())
			require.NoError(t, burst.err)
			require.Equal(t, i, ones.Load())
		}
		cancel()
		stream.Wait()
	})
}

func TestWaitFailsAtOnce(t *testing.T) {
	onStages(t, weir.LeakyBucket(weir.PerSecond(10), 2), func(t *testing.T, s *stage) {
		ctx := t.Context()
		require.NoError(t, s.WaitN(ctx, 0))
		require.ErrorIs(t, s.WaitN(ctx, -1), weir.ErrNever)
		require.ErrorIs(t, s.WaitN(ctx, 2), weir.ErrNever)
		require.NoError(t, s.Wait(ctx))
		waiters := []*waiter{s.join(ctx, 1), s.join(ctx, 1)}
		require.NoError(t, s.WaitN(ctx, 0), "0 waits for nobody")
		require.ErrorIs(t, s.Wait(ctx), weir.ErrQueueFull)
		require.Equal(t, weir.Stats{Allowed: 3, Denied: 2, Waiting: 2}, s.Stats())
		requireTurns(t, s, waiters, []time.Duration{100 * ms, 200 * ms})
	})
}

func TestWaitInShadowDoesNotSleep(t *testing.T) {
	onStages(t, weir.FixedWindow(weir.PerSecond(2)), func(t *testing.T, s *stage) {
		for range 5 {
			w := s.join(t.Context(), 1)
			require.True(t, w.back.Load())
			require.NoError(t, w.err)
		}
		require.Equal(t, weir.Stats{Allowed: 2, Denied: 3, Shadowed: 3}, s.Stats())
		s.at(sec)
		require.Equal(t, 2, s.Tokens())
	}, weir.WithShadow())
}

func TestWaitOnACoarseClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const resolution = 10 * ms
		clock := weir.NewCoarseClock(resolution)
		defer clock.Close()
		l := weir.New(weir.TokenBucket(weir.PerSecond(10).WithBurst(1)), weir.WithClock(clock))
		first := clock.Now()
		for i := range time.Duration(20) {
			require.NoError(t, l.Wait(t.Context()))
			late := clock.Now() - (first + i*100*ms)
			require.GreaterOrEqual(t, late, time.Duration(0))
			require.LessOrEqual(t, late, resolution)
		}
		soon, cancel := context.WithTimeout(t.Context(), 50*ms)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, l.Wait(soon), context.DeadlineExceeded)
		require.Zero(t, time.Since(began), "at once")
	})
}

// However slow the machine is, nobody comes before its turn.
func TestWaitOnRealTime(t *testing.T) {
	l, clients := weir.New(weir.TokenBucket(weir.PerSecond(1000).WithBurst(1))), weir.NewPerClient[int](weir.SlidingWindow(weir.PerSecond(1000)))
	defer clients.Close()
	began := time.Now()
	together(8, func(g int) {
		for range 10 {
			if err := errors.Join(l.Wait(context.Background()), clients.Wait(context.Background(), g%2)); err != nil {
				t.Error(err)
			}
		}
	})
	require.GreaterOrEqual(t, time.Since(began), 79*ms)
	require.Equal(t, weir.Stats{Allowed: 80}, l.Stats())
	require.EqualValues(t, 80, clients.Stats().Allowed)
}
