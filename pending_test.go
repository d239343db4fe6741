package weir_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestACancelledTurnIsNobodyElses(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(10))
		five, ten := s.Reserve(5), s.Reserve(10)
		require.Equal(t, []time.Duration{5 * sec, 15 * sec}, []time.Duration{five.Delay(), ten.Delay()})
		five.Cancel()
		require.Equal(t, 16*sec, s.Peek(1).RetryAfter)
		for _, at := range []time.Duration{5 * sec, 10 * sec, 15*sec - 1, 15 * sec, 16*sec - 1} {
			s.at(at)
			require.False(t, s.Allow(), "%v", at)
			require.Equal(t, 15*sec-min(15*sec, at), ten.Delay())
		}
		s.at(16 * sec)
		require.True(t, s.Allow())
		require.False(t, s.Allow())
	})
	for _, p := range windowKinds(weir.Per(2, 10*sec)) {
		onStages(t, p, func(t *testing.T, s *stage) {
			require.True(t, s.AllowN(2))
			retry := s.Peek(1).RetryAfter
			r := s.Reserve(1)
			require.Equal(t, retry, r.Delay())
			r.Cancel()
			require.False(t, s.Allow())
			requireRetry(t, s, 1, retry)
		})
	}
}

func TestNobodyPassesThoseWhoWait(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(6))
		require.Equal(t, 6*sec, s.Reserve(10).Delay())
		s.at(5 * sec)
		require.False(t, s.Allow(), "9 are there, and spoken for")
		requireRetry(t, s, 1, 2*sec)
	})
	onStages(t, weir.SlidingWindow(weir.Per(5, 10*sec)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(2))
		s.at(4 * sec)
		require.True(t, s.AllowN(2))
		require.Equal(t, 6*sec, s.Reserve(2).Delay())
		require.False(t, s.Allow(), "6 of 5")
		s.at(10 * sec)
		require.True(t, s.Allow(), "room for both")
		require.Equal(t, 4*sec, s.Peek(1).RetryAfter)
	})
	for _, p := range []weir.Policy{weir.FixedWindow(weir.Per(5, 10*sec)), weir.SlidingCounter(weir.Per(5, 10*sec))} {
		onStages(t, p, func(t *testing.T, s *stage) {
			require.True(t, s.AllowN(2))
			r := s.Reserve(5)
			require.Positive(t, r.Delay())
			require.False(t, s.Allow(), "what is reserved is in a later window: none of this one's")
			r.Cancel()
			require.True(t, s.AllowN(3))
			require.False(t, s.Allow())
		})
	}
}

func TestReserveWithin(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		l := alice{newClients[string](t, k.policy, clock)}
		require.Zero(t, l.ReserveWithin(1, 0).Delay())
		drain(l.Allow)
		before := l.Peek(1)
		for _, most := range []time.Duration{0, 1, before.RetryAfter - 1} {
			r := l.ReserveWithin(1, most)
			require.False(t, r.OK())
			require.Equal(t, weir.Never, r.Delay())
			if k.name != "leaky bucket" { // which has no queue at all
				require.ErrorIs(t, r.Err(), weir.ErrTooLong)
			}
			r.Cancel()
			r.Settle(0)
			r.Settle(100)
			require.Equal(t, before, l.Peek(1), "it took nothing")
		}
		if k.name == "leaky bucket" {
			require.ErrorIs(t, l.ReserveWithin(1, weir.Never).Err(), weir.ErrQueueFull)
			return
		}
		require.Equal(t, before.RetryAfter, l.ReserveWithin(1, before.RetryAfter).Delay())
		require.True(t, l.ReserveWithin(1, weir.Never).OK())
		require.ErrorIs(t, l.ReserveWithin(k.perTake+1, weir.Never).Err(), weir.ErrNever)
	})
}

func TestReserveNoFurtherThanThirtyYears(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.Every(12*year)), func(t *testing.T, s *stage) {
		require.Zero(t, s.Reserve(1).Delay())
		require.Equal(t, 12*year, s.Reserve(1).Delay())
		require.Equal(t, 24*year, s.Reserve(1).Delay())
		for range 3 {
			r := s.Reserve(1)
			require.False(t, r.OK())
			require.ErrorIs(t, r.Err(), weir.ErrTooLong)
			require.ErrorIs(t, s.Wait(context.Background()), weir.ErrTooLong)
		}
		s.at(12 * year)
		require.Equal(t, 24*year, s.Reserve(1).Delay())
	})
}

func TestReserveOfNothingAndOfTooMuch(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		l := alice{newClients[string](t, k.policy, weir.NewManualClock())}
		for range 2 {
			before := l.Peek(1)
			for _, n := range []int{-1, -5, math.MinInt, k.perTake + 1, math.MaxInt/2 + 1, math.MaxInt} {
				r := l.Reserve(n)
				require.False(t, r.OK(), "%d", n)
				require.ErrorIs(t, r.Err(), weir.ErrNever, "%d", n)
				require.Equal(t, weir.Never, r.Delay(), "%d", n)
				r.Cancel()
				r.Settle(math.MinInt)
			}
			none := l.Reserve(0)
			require.True(t, none.OK())
			require.NoError(t, none.Err())
			require.Zero(t, none.Delay())
			none.Cancel()
			none.Settle(0)
			require.Equal(t, before, l.Peek(1))
			drain(l.Allow)
		}
		require.EqualValues(t, 2*3+2, l.Stats().Denied)
		require.EqualValues(t, k.atOnce, l.Stats().Allowed)
	})
}

func TestReserveOfNothingHoldsNobody(t *testing.T) {
	clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(2)), weir.NewManualClock())
	for _, n := range []int{0, -1, 3, math.MaxInt} {
		clients.Reserve("alice", n)
		require.Zero(t, clients.Len(), "%d", n)
	}
}

func TestTheZeroReservation(t *testing.T) {
	var r weir.Reservation
	r.Cancel()
	r.Settle(1)
	require.False(t, r.OK())
	require.Error(t, r.Err())
	require.Equal(t, weir.Never, r.Delay())
}

func TestStatsOfReservations(t *testing.T) {
	onStages(t, weir.LeakyBucket(weir.PerSecond(10), 2), func(t *testing.T, s *stage) {
		s.Reserve(1).Cancel()
		require.Equal(t, weir.Stats{Allowed: 1}, s.Stats())
		r := s.Reserve(1)
		s.Reserve(1)
		require.Equal(t, weir.Stats{Allowed: 3, Waiting: 2}, s.Stats())
		s.Reserve(1)                 // the queue is full
		s.Reserve(2)                 // never
		s.ReserveWithin(1, 250*ms)   // too long, and full
		s.Reserve(0)                 // not counted,
		s.Reserve(-1).Settle(0)      // nor this,
		s.Peek(1)                    // nor this,
		s.ReserveWithin(-1, 250*sec) // nor this
		require.Equal(t, weir.Stats{Allowed: 3, Denied: 3, Waiting: 2}, s.Stats())
		r.Cancel()
		require.Equal(t, weir.Stats{Allowed: 3, Denied: 3, Waiting: 1}, s.Stats(), "it was allowed, cancelled or not")
		s.at(200*ms - 1)
		require.Equal(t, 1, s.Stats().Waiting)
		s.at(200 * ms)
		require.Zero(t, s.Stats().Waiting)
		s.Charge(1)
		s.Refund(1)
		require.Equal(t, weir.Stats{Allowed: 3, Denied: 3}, s.Stats())
	})
}

func TestReserveInShadow(t *testing.T) {
	for _, k := range policyKinds() {
		onStages(t, k.policy, func(t *testing.T, s *stage) {
			for range k.atOnce {
				require.True(t, s.Reserve(1).OK())
			}
			before := s.Peek(1)
			require.True(t, before.Shadowed)
			for i, n := range []int{1, 1, k.perTake, k.perTake + 1, math.MaxInt} {
				r := s.Reserve(n)
				require.True(t, r.OK())
				require.NoError(t, r.Err())
				require.Zero(t, r.Delay())
				r.Cancel()
				require.NoError(t, s.WaitN(context.Background(), n))
				require.True(t, s.ReserveWithin(n, 0).OK())
				require.Equal(t, before, s.Peek(1), "it took nothing")
				denied := uint64(3 * (i + 1))
				require.Equal(t, weir.Stats{Allowed: uint64(k.atOnce), Denied: denied, Shadowed: denied}, s.Stats())
			}
		}, weir.WithShadow())
	}
}

func TestAReservationHoldsItsClient(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), clock)
	require.True(t, clients.Reserve("alice", 10).OK())
	require.Equal(t, 1, clients.Len())
	five, ten := clients.Reserve("alice", 5), clients.Reserve("alice", 10)
	require.Equal(t, 15*sec, ten.Delay())
	five.Cancel()
	for range 14 {
		clock.Advance(sec)
		require.Zero(t, clients.Sweep(), "from 10 s on the bucket itself is full")
	}
	require.Equal(t, 1, clients.Len())
	require.Equal(t, 1, clients.Stats().Waiting)
	clock.Advance(sec)
	require.Zero(t, clients.Sweep())
	require.Equal(t, sec, clients.Take("alice", 1).RetryAfter)
	clock.Advance(10*sec - 1)
	require.Zero(t, clients.Sweep())
	clock.Advance(1)
	require.Equal(t, 1, clients.Sweep())
	require.Equal(t, weir.Stats{Allowed: 3, Denied: 1, Evicted: 1}, clients.Stats())

	clients.Reserve("bob", 10)
	clients.Reserve("bob", 10).Cancel()
	clock.Advance(10 * sec)
	require.Equal(t, 1, clients.Sweep(), "a cancelled one holds nobody")
}

// A timer that sweeps does no other than Sweep.
func TestATimerSweepsNobodyWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, p := range map[string]weir.Policy{"bucket": weir.TokenBucket(weir.PerMinute(1)), "log": weir.SlidingWindow(weir.PerMinute(1))} {
			clients := weir.NewPerClient[string](p)
			var waits []weir.Reservation
			for range 10 {
				waits = append(waits, clients.Reserve("alice", 1))
			}
			for _, r := range waits[1:9] {
				r.Cancel()
			}
			time.Sleep(9*time.Minute - 1)
			require.Equal(t, 1, clients.Len(), name)
			require.EqualValues(t, 1, waits[9].Delay(), name)
			require.False(t, clients.Allow("alice"), name)
			time.Sleep(time.Minute)
			require.False(t, clients.Allow("alice"), name)
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			require.Zero(t, clients.Len(), name)
			require.NoError(t, clients.Close())
		}
	})
}

func TestReserveWhenThereIsNoPlace(t *testing.T) {
	p := weir.TokenBucket(weir.PerMinute(10))
	t.Run("DenyNew", func(t *testing.T) {
		clock := weir.NewManualClock()
		clients := newClients[string](t, p, clock, weir.WithMaxClients(1, weir.DenyNew))
		require.True(t, clients.Reserve("alice", 10).OK())
		for range 2 {
			r := clients.Reserve("bob", 1)
			require.False(t, r.OK())
			require.ErrorIs(t, r.Err(), weir.ErrQueueFull)
			require.Equal(t, weir.Never, r.Delay())
			require.ErrorIs(t, clients.Wait(context.Background(), "bob"), weir.ErrQueueFull)
		}
		require.ErrorIs(t, clients.Reserve("bob", 11).Err(), weir.ErrNever)
		require.True(t, clients.Reserve("bob", 0).OK())
		require.Equal(t, 30*sec, clients.Reserve("alice", 5).Delay(), "who is held is not concerned")
		stats := clients.Stats()
		require.Equal(t, []uint64{2, 5}, []uint64{stats.Allowed, stats.Denied})
		require.GreaterOrEqual(t, stats.Overflowed, uint64(4))
		clock.Advance(89 * sec)
		require.ErrorIs(t, clients.Reserve("bob", 1).Err(), weir.ErrQueueFull)
		clock.Advance(sec)
		require.True(t, clients.Reserve("bob", 1).OK())
		require.Equal(t, 1, clients.Len())
	})
	t.Run("EvictFullest", func(t *testing.T) {
		clock := weir.NewManualClock()
		clients := newClients[string](t, p, clock, weir.WithMaxClients(2, weir.EvictFullest))
		require.True(t, clients.AllowN("alice", 10))
		waits := clients.Reserve("alice", 10)
		require.Equal(t, 60*sec, waits.Delay())
		for i := range 20 {
			require.Zero(t, clients.Reserve(fmt.Sprint("passer-by ", i), 1).Delay())
			require.Equal(t, 2, clients.Len())
		}
		require.Equal(t, 66*sec, clients.Take("alice", 1).RetryAfter, "most in debt, last to go")
		require.Equal(t, 60*sec, waits.Delay())
		require.Equal(t, 1, clients.Stats().Waiting)
		waits.Cancel()
		require.Equal(t, 6*sec, clients.Take("alice", 1).RetryAfter)
	})
	t.Run("ShareOverflow", func(t *testing.T) {
		clock := weir.NewManualClock()
		clients := newClients[string](t, p, clock, weir.WithMaxClients(1, weir.ShareOverflow))
		require.True(t, clients.AllowN("alice", 1))
		require.Zero(t, clients.Reserve("bob", 10).Delay())
		r := clients.Reserve("carol", 5)
		require.Equal(t, 30*sec, r.Delay())
		require.Equal(t, 36*sec, clients.Take("dave", 1).RetryAfter)
		require.Equal(t, 1, clients.Stats().Waiting)
		require.Equal(t, 1, clients.Len())
		require.Equal(t, 9, clients.Tokens("alice"))
		clock.Advance(5 * sec)
		r.Cancel()
		require.Equal(t, sec, clients.Take("dave", 1).RetryAfter)
		clock.Advance(sec)
		require.True(t, clients.Allow("bob"))
		require.False(t, clients.Allow("carol"))
	})
}

func TestReservationsAllocateNothing(t *testing.T) {
	for _, k := range policyKinds() {
		for name, made := range map[string]func(opts ...weir.Option) metered{
			"Limiter": func(opts ...weir.Option) metered { return weir.New(k.policy, opts...) },
			"PerClient": func(opts ...weir.Option) metered {
				return alice{weir.NewPerClient[string](k.policy, append(opts, weir.WithSweepEvery(0))...)}
			},
		} {
			t.Run(k.name+" "+name, func(t *testing.T) {
				// One whose turn may come, one that is spent, and one for which others wait.
				now, spent, awaited := made(), made(weir.WithClock(weir.NewManualClock())), made(weir.WithClock(weir.NewManualClock()))
				drain(spent.Allow)
				drain(awaited.Allow)
				awaited.Reserve(1)
				awaited.Reserve(1)
				for where, l := range map[string]metered{"now": now, "spent": spent, "awaited": awaited} {
					for verb, f := range map[string]func(){
						"Reserve and Settle": func() { l.Reserve(1).Settle(0) },
						"Reserve and Cancel": func() { l.Reserve(1).Cancel() },
						"ReserveWithin":      func() { l.ReserveWithin(1, 0).Cancel() },
						"Reserve too much":   func() { l.Reserve(1 << 20) },
						"Charge and Refund":  func() { l.Charge(1); l.Refund(1) },
						"Peek after Cancel":  func() { l.Reserve(1).Cancel(); l.Peek(1) },
						"Take after Cancel":  func() { l.Reserve(1).Cancel(); l.Take(1) },
					} {
						f()
						if allocs := testing.AllocsPerRun(100, f); allocs > 0 {
							t.Errorf("%s allocates %v, %s", verb, allocs, where)
						}
					}
				}
			})
		}
	}
}
