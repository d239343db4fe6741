package weir_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestRejectionRate(t *testing.T) {
	for _, c := range []struct {
		stats weir.Stats
		want  float64
	}{
		{weir.Stats{}, 0},
		{weir.Stats{Allowed: 10}, 0},
		{weir.Stats{Denied: 10}, 100},
		{weir.Stats{Allowed: 3, Denied: 1}, 25},
		{weir.Stats{Allowed: 1, Denied: 1, Shadowed: 1}, 50},
		{weir.Stats{Allowed: 999, Denied: 1, Evicted: 500, Overflowed: 7, Clients: 3}, 0.1},
		{weir.Stats{Allowed: math.MaxUint32, Denied: math.MaxUint32}, 50},
	} {
		require.InDelta(t, c.want, c.stats.RejectionRate(), 1e-9, "%+v", c.stats)
	}
}

func TestStatsCountDecisionsNotTokens(t *testing.T) {
	clock := weir.NewManualClock()
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(10)), weir.WithClock(clock))
	require.Equal(t, weir.Stats{}, limiter.Stats())
	limiter.AllowN(7)
	limiter.AllowN(7)
	limiter.Allow()
	limiter.Peek(1)
	limiter.Tokens()
	limiter.Take(0)
	limiter.Take(-1)
	require.Equal(t, weir.Stats{Allowed: 2, Denied: 1}, limiter.Stats())
	require.InDelta(t, 100.0/3, limiter.Stats().RejectionRate(), 1e-9)
}

// A combination is one decision however many parts it has.
func TestStatsCountACombinationOnce(t *testing.T) {
	part := weir.TokenBucket(weir.PerSecond(2))
	for _, p := range []weir.Policy{weir.All(part, part, part), weir.FirstOf(part, weir.TokenBucket(weir.Limit{})), weir.BurstReserve(weir.PerSecond(1), weir.PerSecond(1))} {
		limiter := weir.New(p, weir.WithClock(weir.NewManualClock()))
		for range 5 {
			limiter.Allow()
		}
		require.Equal(t, weir.Stats{Allowed: 2, Denied: 3}, limiter.Stats(), "%v", p)
	}
}

// subject is what a Limiter and a PerClient have in common.
type subject struct {
	take  func(key, n int) bool
	stats func() weir.Stats
}

func subjects(t *testing.T, p weir.Policy, c weir.Clock) map[string]subject {
	limiter, clients := weir.New(p, weir.WithClock(c)), newClients[int](t, p, c)
	return map[string]subject{
		"Limiter":   {func(_, n int) bool { return limiter.AllowN(n) }, limiter.Stats},
		"PerClient": {clients.AllowN, clients.Stats},
	}
}

func TestStatsAreExactUnderConcurrency(t *testing.T) {
	const goroutines, each = 16, 3000
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		for name, s := range subjects(t, k.policy, clock) {
			var allowed, denied atomic.Uint64
			var all sync.WaitGroup
			for g := range goroutines {
				all.Go(func() {
					random := rand.New(rand.NewPCG(uint64(g), 9))
					for i := range each {
						if g == 0 && i%10 == 0 {
							clock.Advance(time.Millisecond)
						}
						n := random.IntN(4) - 1
						switch ok := s.take(random.IntN(30), n); {
						case n <= 0:
						case ok:
							allowed.Add(1)
						default:
							denied.Add(1)
						}
					}
				})
			}
			all.Wait()
			stats := s.stats()
			require.Equal(t, allowed.Load(), stats.Allowed, name)
			require.Equal(t, denied.Load(), stats.Denied, name)
			require.Zero(t, stats.Shadowed, name)
		}
	})
}

func TestStatsNeverDecrease(t *testing.T) {
	const goroutines, each = 8, 10_000
	clock := weir.NewManualClock()
	clients := newClients[int](t, weir.TokenBucket(weir.Per(10, 100*time.Millisecond)), clock, weir.WithMaxClients(50, weir.EvictFullest), weir.WithShadow())
	var busy sync.WaitGroup
	for g := range goroutines {
		busy.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 10))
			for i := range each {
				clients.AllowN(random.IntN(100), 1+random.IntN(3))
				switch {
				case i%500 == 0:
					clients.Sweep()
				case i%50 == 0:
					clients.Reset(random.IntN(100))
				case i%10 == 0:
					clock.Advance(10 * time.Millisecond)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { busy.Wait(); close(done) }()
	var last weir.Stats
	for running := true; running; {
		select {
		case <-done:
			running = false // and look once more
		default:
		}
		s := clients.Stats()
		if s.Allowed < last.Allowed || s.Denied < last.Denied || s.Shadowed < last.Shadowed || s.Evicted < last.Evicted || s.Overflowed < last.Overflowed {
			t.Fatalf("%+v after %+v", s, last)
		}
		if s.Clients < 0 || s.Clients > 50 || s.Allowed+s.Denied > goroutines*each {
			t.Fatalf("%+v", s)
		}
		last = s
	}
	require.Equal(t, uint64(goroutines*each), last.Allowed+last.Denied)
	require.Equal(t, last.Denied, last.Shadowed)
	require.Positive(t, last.Evicted)
	require.Positive(t, last.Overflowed)
}

func TestStatsOutliveTheirClients(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(1)), clock)
	for key := range 1000 {
		require.True(t, clients.Allow(key))
		require.False(t, clients.Allow(key))
	}
	require.Equal(t, weir.Stats{Allowed: 1000, Denied: 1000, Clients: 1000}, clients.Stats())
	clock.Advance(time.Second)
	require.Equal(t, 1000, clients.Sweep())
	require.Equal(t, weir.Stats{Allowed: 1000, Denied: 1000, Evicted: 1000}, clients.Stats())
	require.NoError(t, clients.Close())
	require.Equal(t, weir.Stats{Allowed: 1000, Denied: 1000, Evicted: 1000}, clients.Stats())
}
