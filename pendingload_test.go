package weir_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestNeverOverWhileManyReserveAndCancel(t *testing.T) {
	const goroutines, each = 4, 400
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		clients := newClients[string](t, k.policy, clock)
		l := alice{clients}
		var admitted, decided atomic.Int64
		var kept [goroutines][]weir.Reservation
		shared := make(chan weir.Reservation, 16) // cancelled by whoever comes first, or twice
		together(goroutines, func(g int) {
			random := rand.New(rand.NewPCG(uint64(g), 50))
			for i := range each {
				if g == 0 && i%5 == 0 {
					clock.Advance(time.Duration(random.IntN(20)) * ms)
				}
				n := 1 + random.IntN(min(3, k.perTake))
				decided.Add(1)
				switch random.IntN(4) {
				case 0, 1:
					if l.AllowN(n) {
						admitted.Add(int64(n))
					}
				case 2:
					if r := l.ReserveWithin(n, 500*ms); r.OK() {
						admitted.Add(int64(n))
						kept[g] = append(kept[g], r)
					}
				case 3:
					r := l.Reserve(n)
					select {
					case shared <- r:
					default:
					}
					r.Cancel()
					select {
					case other := <-shared:
						other.Cancel()
						other.Settle(0)
					default:
					}
				}
			}
		})
		last := time.Duration(0)
		for _, receipts := range kept {
			for _, r := range receipts {
				last = max(last, r.Delay())
			}
		}
		require.LessOrEqual(t, admitted.Load(), int64(k.policy.MaxWithin(clock.Now()+last+1)))
		stats := clients.Stats()
		require.EqualValues(t, decided.Load(), stats.Allowed+stats.Denied)
		clock.Advance(time.Hour)
		require.Zero(t, clients.Stats().Waiting)
		require.Equal(t, 1, clients.Sweep())
		require.Equal(t, k.atOnce, drain(l.Allow))
	})
}

// Whatever is done to the receipts at once, each is for one give-back.
func TestOneReceiptManySettlers(t *testing.T) {
	for _, p := range perTenSeconds() {
		l := weir.New(p, weir.WithClock(weir.NewManualClock()))
		for range 200 {
			five := l.Reserve(5)
			spent := l.Reserve(5)
			together(4, func(int) {
				five.Settle(1)
				five.Cancel()
				l.Peek(1)
			})
			require.Equal(t, 4, l.Tokens())
			spent.Settle(0)
			l.Refund(1)
			require.Equal(t, 10, l.Tokens())
		}
	}
}

func TestSetPolicyWhileWaitersComeAndGo(t *testing.T) {
	slow, fast := weir.TokenBucket(weir.PerSecond(10).WithBurst(5)), weir.TokenBucket(weir.PerSecond(100).WithBurst(5))
	onStages(t, slow, func(t *testing.T, s *stage) {
		var admitted, gone atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var coming sync.WaitGroup
		for g := range 8 {
			coming.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 51))
				for ctx.Err() == nil {
					soon, done := context.WithTimeout(ctx, time.Duration(random.IntN(500))*ms)
					switch err := s.WaitN(soon, 1+random.IntN(2)); {
					case err == nil:
						admitted.Add(1)
					case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
						gone.Add(1)
						time.Sleep(ms)
					default:
						t.Error(err)
					}
					done()
				}
			})
		}
		for i := range 100 {
			s.at(s.now + 37*ms)
			time.Sleep(37 * ms) // for the deadlines, where the clock is another one
			if i%2 == 0 {
				require.NoError(t, s.SetPolicy(fast))
			} else {
				require.NoError(t, s.SetPolicy(slow))
			}
		}
		cancel()
		coming.Wait()
		require.Zero(t, s.Stats().Waiting)
		require.Positive(t, gone.Load())
		require.Greater(t, admitted.Load(), int64(50))
		require.LessOrEqual(t, admitted.Load(), int64(5+100*2*37*100/1000))
	})
}

func TestResetLaysOutAnew(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(1)), func(t *testing.T, s *stage) {
		require.True(t, s.Allow())
		waiters := []*waiter{s.join(t.Context(), 1), s.join(t.Context(), 1), s.join(t.Context(), 1)}
		last := s.Reserve(1)
		s.at(500 * ms)
		s.Reset()
		synctest.Wait()
		require.Equal(t, 3*sec, last.Delay())
		last.Cancel()
		requireTurns(t, s, waiters, []time.Duration{500 * ms, 1500 * ms, 2500 * ms})
	})
}

func TestReservationsWhenTheClockStepsBack(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := newSteppingClock(20 * time.Hour)
		l := alice{newClients[string](t, k.policy, clock)}
		require.Equal(t, k.atOnce, drain(l.Allow))
		if k.name == "leaky bucket" {
			return // it has no queue
		}
		r, cancelled := l.Reserve(1), l.Reserve(1)
		instant := clock.Now() + r.Delay()
		retry := l.Peek(1).RetryAfter
		clock.advance(-8 * time.Hour)
		require.Equal(t, instant, clock.Now()+r.Delay())
		require.Equal(t, retry+8*time.Hour, l.Peek(1).RetryAfter, "the clock has to catch up")
		require.Equal(t, 2, l.Stats().Waiting)
		cancelled.Cancel()
		require.Equal(t, instant, clock.Now()+r.Delay())
		clock.set(instant)
		require.False(t, l.AllowN(k.perTake))
		before := l.Peek(1)
		clock.advance(-8 * time.Hour)
		r.Cancel()
		clock.set(instant)
		require.Equal(t, before, l.Peek(1), "its instant had come")
	})
}

// Goroutines take, reserve, cancel and settle at one instant: what they had in the end and what is left
// are the capacity. If the policy changes meanwhile, receipts may give back less, never more.
func TestMixUnderLoadKeepsCount(t *testing.T) {
	const keys, rounds = 10, 600
	for _, changes := range []bool{false, true} {
		for i, p := range lawTwenties() {
			clock := weir.NewManualClock()
			clock.Advance(20 * time.Hour)
			clients := newClients[int](t, p, clock)
			var had [keys]atomic.Int64
			var changed atomic.Int64
			stop := make(chan struct{})
			var reloads sync.WaitGroup
			if changes {
				reloads.Go(func() { lawReload(t, clients.SetPolicy, lawTwenties(), true, &changed, stop) })
			}
			together(8, func(g int) {
				random := rand.New(rand.NewPCG(uint64(g), uint64(i)))
				for range rounds {
					key, n := random.IntN(keys), 1+random.IntN(4)
					switch verb := random.IntN(4); {
					case verb == 0 && changes:
						if clients.TakeAs(key, n, weir.SlidingWindow(weir.PerDay(20))).Allowed {
							had[key].Add(int64(n))
						}
					case verb <= 1:
						if clients.AllowN(key, n) {
							had[key].Add(int64(n))
						}
					default:
						r := clients.Reserve(key, n)
						if !r.OK() || r.Delay() > 0 {
							r.Cancel()
							break
						}
						actual := random.IntN(n + 1)
						r.Settle(actual)
						had[key].Add(int64(actual))
					}
				}
			})
			close(stop)
			reloads.Wait()
			for key := range keys {
				if left := 20 - int(had[key].Load()); changes {
					require.LessOrEqual(t, clients.Tokens(key), left, "%v", p)
				} else {
					require.Equal(t, left, clients.Tokens(key), "%v", p)
				}
			}
			require.Zero(t, clients.Stats().Waiting)
		}
	}
}
