package weir_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// fullAfter returns how long the policy takes to be full again, found by asking.
func fullAfter(k policyKind, clock *steppingClock) time.Duration {
	var longest time.Duration
	var visit func(p weir.Policy)
	visit = func(p weir.Policy) {
		for _, part := range p.Parts() {
			visit(part)
		}
		if len(p.Parts()) == 0 {
			twin := weir.New(p, weir.WithClock(clock))
			drain(twin.Allow)
			longest = max(longest, twin.Peek(0).ResetAfter)
		}
	}
	visit(k.policy)
	return longest
}

func TestSweepEvictsWhatIsFullAndNothingBefore(t *testing.T) {
	// In the combinations every part is spent: all of them count.
	kinds := []policyKind{}
	for _, k := range policyKinds() {
		if k.name != "nested" && k.name != "all" {
			kinds = append(kinds, k)
		}
	}
	kinds = append(kinds, policyKind{
		"all, equal capacities",
		weir.All(weir.SlidingWindow(weir.PerMinute(10)), weir.TokenBucket(weir.PerSecond(10))), 10, 10,
	})
	for _, k := range kinds {
		for _, staleAfter := range []time.Duration{0, 1, time.Minute} {
			t.Run(fmt.Sprint(k.name, " ", staleAfter), func(t *testing.T) {
				clock := newSteppingClock(5*time.Hour + 300*time.Millisecond)
				began := clock.Now()
				clients := newClients[string](t, k.policy, clock, weir.WithStaleAfter(staleAfter))
				require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
				full := fullAfter(k, clock)
				require.Zero(t, clients.Sweep())
				clock.set(began + full + staleAfter - 1)
				require.Zero(t, clients.Sweep())
				require.Equal(t, 1, clients.Len())
				clock.set(began + full + staleAfter)
				require.Equal(t, 1, clients.Sweep())
				require.Zero(t, clients.Len())
				require.Zero(t, clients.Sweep())
				require.Equal(t, uint64(1), clients.Stats().Evicted)
				require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
			})
		}
	}
}

func TestSweepingNeverForgetsADebt(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := newSteppingClock(0)
		swept, kept := newClients[int](t, k.policy, clock), newClients[int](t, k.policy, clock)
		random := rand.New(rand.NewPCG(12, 13))
		evicted := 0
		for step := range programs(1500) {
			clock.advance(time.Duration(random.IntN(40)) * time.Millisecond)
			if random.IntN(100) == 0 {
				clock.advance(time.Duration(random.IntN(90)) * time.Second)
			}
			key, n := random.IntN(10), 1+random.IntN(k.perTake)
			require.Equal(t, kept.Take(key, n), swept.Take(key, n), "step %d", step)
			evicted += swept.Sweep()
		}
		require.Positive(t, evicted)
		require.Equal(t, uint64(evicted), swept.Stats().Evicted)
		require.LessOrEqual(t, swept.Len(), kept.Len())
	})
}

// What was admitted between two readings stays below MaxWithin of the time between them, where an
// admission counts at the newest reading that the client's state or a sweep that forgot it has seen.
func TestNeverOverWhenTheClockStepsBackAcrossSweeps(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for seed := range programs(8) {
			random := rand.New(rand.NewPCG(seed, 14))
			clock := newSteppingClock(time.Duration(random.Int64N(int64(time.Hour))) - 30*time.Minute)
			clients := newClients[string](t, k.policy, clock)
			instant := clock.Now() - year
			var instants []time.Duration
			sums := []int{0} // of what was admitted before each of them
			for range 250 {
				switch random.IntN(12) {
				case 0:
					clock.advance(-time.Duration(random.Int64N(int64(3 * time.Second))))
				case 1:
					clock.advance(time.Duration(random.Int64N(int64(100 * time.Second))))
				case 2:
					clock.set(instant)
				default:
					clock.advance(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
				}
				if random.IntN(3) == 0 && clients.Sweep() > 0 {
					instant = max(instant, clock.Now())
				}
				if n := 1 + random.IntN(k.perTake); clients.AllowN("alice", n) {
					instant = max(instant, clock.Now())
					instants = append(instants, instant)
					sums = append(sums, sums[len(sums)-1]+n)
				}
			}
			for i, from := range instants {
				for j := i; j < len(instants); j++ {
					span := instants[j] - from + 1
					require.LessOrEqual(t, sums[j+1]-sums[i], k.policy.MaxWithin(span), "seed %d, within %v", seed, span)
				}
			}
		}
	})
}

func TestAKeyThatWasSweptStartsNoEarlierThanTheSweep(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := newSteppingClock(0)
		clients := newClients[string](t, k.policy, clock)
		require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
		clock.set(time.Hour)
		require.Equal(t, 1, clients.Sweep())
		clock.set(0)
		require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }), "it was full at that sweep")
		clock.set(time.Hour)
		require.False(t, clients.Allow("alice"), "and spent it at that sweep")
		clock.set(2 * time.Hour)
		require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
	})
}

func TestSweepingFollowsAManualClock(t *testing.T) {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock), weir.WithStaleAfter(90*time.Second))
	defer clients.Close()
	require.True(t, clients.Allow("alice"))
	clock.Advance(time.Minute)
	require.Equal(t, 1, clients.Len(), "not stale yet")
	clock.Advance(time.Minute)
	require.Zero(t, clients.Len(), "full since 1 s, stale since 91 s, swept at 120 s, and within Advance")
	require.Equal(t, uint64(1), clients.Stats().Evicted)

	require.True(t, clients.Allow("bob"))
	clock.Advance(30 * year)
	require.Zero(t, clients.Len())
	clock.Advance(-30 * year)
	require.True(t, clients.Allow("bob"))
	clock.Advance(31 * year)
	require.Zero(t, clients.Len(), "sweeping goes on after a step back")
}

func TestWithoutSweepEveryOnlySweepSweeps(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(1)), clock)
	require.True(t, clients.Allow("alice"))
	clock.Advance(year)
	require.Equal(t, 1, clients.Len())
	require.Equal(t, 1, clients.Sweep())
}

func TestCloseStopsSweepingAndNothingElse(t *testing.T) {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(2)), weir.WithClock(clock))
	require.True(t, clients.Allow("alice"))
	require.NoError(t, clients.Close())
	require.NoError(t, clients.Close())
	clock.Advance(time.Hour)
	require.Equal(t, 1, clients.Len())
	require.True(t, clients.AllowN("bob", 2))
	require.False(t, clients.Allow("bob"))
	clock.Advance(time.Hour)
	require.Equal(t, 2, clients.Len(), "a new client does not start it again")
	require.Equal(t, 2, clients.Sweep())
	require.NoError(t, clients.Close())

	unused := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(2)))
	require.NoError(t, unused.Close())
	together(8, func(int) { _ = unused.Close() })
	requireNoGoroutineOfWeir(t)
}

// hookedClock is a manual clock whose next reading does something else first.
type hookedClock struct {
	*weir.ManualClock
	before func()
}

func (c *hookedClock) Now() time.Duration {
	if f := c.before; f != nil {
		c.before = nil
		f()
	}
	return c.ManualClock.Now()
}

// after sets what the reading after so many others does first.
func (c *hookedClock) after(readings int, f func()) {
	c.before = f
	if readings > 0 {
		c.before = func() { c.after(readings-1, f) }
	}
}

func TestClosingWhileItsSweepIsDue(t *testing.T) {
	clock := &hookedClock{ManualClock: weir.NewManualClock()}
	p := weir.TokenBucket(weir.PerSecond(2))
	first, second := weir.NewPerClient[string](p, weir.WithClock(clock)), weir.NewPerClient[string](p, weir.WithClock(clock.ManualClock))
	defer first.Close()
	require.True(t, first.Allow("alice"))
	require.True(t, second.Allow("alice"))
	clock.before = func() { require.NoError(t, second.Close()) }
	clock.Advance(time.Minute)
	require.Zero(t, first.Len())
	require.Equal(t, 1, second.Len())
}

func TestSweepingBesideTraffic(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := newSteppingClock(0)
		clients := newClients[int](t, k.policy, clock)
		const spent = 20
		for key := range spent {
			require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow(key) }))
		}
		var minted, evicted atomic.Int64
		ctx, cancel := context.WithCancel(context.Background())
		var sweeper sync.WaitGroup
		sweeper.Go(func() {
			for ctx.Err() == nil {
				evicted.Add(int64(clients.Sweep()))
				runtime.Gosched()
			}
		})
		together(4, func(g int) {
			for i := range 5000 {
				if clients.Allow(i % spent) {
					minted.Add(1)
				}
				clients.Allow(spent + g + 4*i)
			}
		})
		cancel()
		sweeper.Wait()
		require.Zero(t, minted.Load(), "a sweep has forgotten a debt")
		require.Equal(t, spent+4*5000, clients.Len()+int(evicted.Load()))
		clock.advance(2 * time.Hour)
		require.Equal(t, clients.Len(), clients.Sweep())
		require.Zero(t, clients.Len())
	})
}

// A client that becomes stale just as it comes back is admitted what it is due, swept at that moment or not.
func TestSweepingRacesWithAComeback(t *testing.T) {
	clock := newSteppingClock(0)
	clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(10)), clock)
	for range 500 {
		var admitted atomic.Int64
		together(4, func(g int) {
			if g == 0 {
				clients.Sweep()
				return
			}
			for range 10 {
				if clients.Allow("alice") {
					admitted.Add(1)
				}
			}
		})
		require.EqualValues(t, 10, admitted.Load())
		clock.advance(time.Second)
	}
}

var overflows = map[string]weir.Overflow{"EvictFullest": weir.EvictFullest, "DenyNew": weir.DenyNew, "ShareOverflow": weir.ShareOverflow}

func TestEvictFullestForgivesTheLeastDebt(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerMinute(10)), clock, weir.WithMaxClients(3, weir.EvictFullest))
	require.True(t, clients.AllowN("spender", 10))
	require.True(t, clients.AllowN("middling", 5))
	require.True(t, clients.AllowN("light", 1))
	require.Zero(t, clients.Stats().Overflowed)
	for i := range 20 {
		require.True(t, clients.AllowN(fmt.Sprint("passer-by ", i), 1))
		require.Equal(t, 3, clients.Len())
	}
	require.Zero(t, clients.Tokens("spender"))
	require.Equal(t, 5, clients.Tokens("middling"))
	require.Equal(t, 10, clients.Tokens("light"), "forgotten first")
	require.Equal(t, weir.Stats{Allowed: 23, Clients: 3, Overflowed: 20}, clients.Stats(), "none was full, so none was evicted as stale")
}

func TestDenyNewKeepsWhoIsThere(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerMinute(10)), clock, weir.WithMaxClients(2, weir.DenyNew))
	require.True(t, clients.AllowN("alice", 6))
	require.True(t, clients.AllowN("bob", 1))
	d := clients.Take("carol", 1)
	require.False(t, d.Allowed)
	require.Zero(t, d.Remaining)
	require.Positive(t, d.RetryAfter)
	require.Less(t, d.RetryAfter, weir.Never)
	require.False(t, clients.Peek("carol", 1).Allowed)
	require.True(t, clients.AllowN("carol", 0))
	require.Equal(t, weir.Never, clients.Take("carol", 11).RetryAfter)
	require.Equal(t, 2, clients.Len())
	require.True(t, clients.AllowN("alice", 4), "who is held is not concerned")
	require.False(t, clients.Allow("alice"))
	require.True(t, clients.AllowN("bob", 9))

	clock.Advance(time.Hour)
	require.Equal(t, 2, clients.Sweep())
	require.True(t, clients.AllowN("carol", 10))
	clients.Reset("carol")
	require.True(t, clients.Allow("dave"))
	require.LessOrEqual(t, clients.Len(), 2)
}

func TestShareOverflowHasOneStateForAllThatDoNotFit(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerMinute(10)), clock, weir.WithMaxClients(2, weir.ShareOverflow))
	require.True(t, clients.AllowN("alice", 10))
	require.True(t, clients.AllowN("bob", 3))
	require.Zero(t, clients.Stats().Overflowed)
	require.Equal(t, 10, clients.Tokens("carol"))
	require.True(t, clients.AllowN("carol", 4))
	require.True(t, clients.AllowN("dave", 6))
	d := clients.Take("erin", 1)
	require.False(t, d.Allowed)
	require.Equal(t, 6*time.Second, d.RetryAfter)
	require.Equal(t, d, clients.Peek("erin", 1))
	require.Equal(t, 2, clients.Len())
	require.Equal(t, uint64(3), clients.Stats().Overflowed)
	require.Equal(t, 7, clients.Tokens("bob"))
	require.False(t, clients.Allow("alice"))
	clock.Advance(6 * time.Second)
	require.True(t, clients.Allow("carol"))
	require.False(t, clients.Allow("dave"))
}

func TestNeverMoreThanMaxClients(t *testing.T) {
	for name, overflow := range overflows {
		for _, most := range []int{1, 2, 3, 7, 64, 1000, 5000} {
			t.Run(fmt.Sprint(name, " ", most), func(t *testing.T) {
				clock := weir.NewManualClock()
				clients := newClients[int](t, weir.SlidingWindow(weir.PerMinute(3)), clock, weir.WithMaxClients(most, overflow))
				for round := range 3 {
					for key := range 5 * most {
						allowed := clients.Allow(key)
						if len := clients.Len(); len > most || key < most && (!allowed || len != key+1) {
							t.Fatalf("client %d of %d: allowed %v, %d held", key, most, allowed, len)
						}
					}
					require.Equal(t, most, clients.Len(), "all places are used")
					require.Equal(t, most, clients.Stats().Clients)
					require.EqualValues(t, 4*most*(round+1), clients.Stats().Overflowed)
					clock.Advance(time.Hour)
					require.Equal(t, most, clients.Sweep())
				}
				require.EqualValues(t, 3*most, clients.Stats().Evicted)
			})
		}
	}
}

func TestNeverMoreThanMaxClientsConcurrently(t *testing.T) {
	for name, overflow := range overflows {
		t.Run(name, func(t *testing.T) {
			const most = 100
			clock := weir.NewManualClock()
			clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(10)), clock, weir.WithMaxClients(most, overflow))
			var over atomic.Int64
			together(8, func(g int) {
				random := rand.New(rand.NewPCG(uint64(g), 15))
				for i := range 5000 {
					clients.AllowN(random.IntN(10*most), 1+random.IntN(10))
					if i%200 == 0 {
						clients.Sweep()
						clock.Advance(50 * time.Millisecond)
					}
					if clients.Len() > most || clients.Stats().Clients > most {
						over.Add(1)
					}
				}
			})
			require.Zero(t, over.Load())
			require.Positive(t, clients.Stats().Overflowed)
		})
	}
}

// A client that is to be kept for longer than a bucket's word can tell two
// instants apart is kept, and its debt never forgotten.
func TestALongStalenessForgetsNoDebt(t *testing.T) {
	for _, years := range []time.Duration{1, 29, 31, 36, 37, 40, 60, 73, 290} {
		for name, p := range map[string]weir.Policy{
			"an hour":  weir.TokenBucket(weir.PerHour(10)),
			"29 years": weir.TokenBucket(weir.Every(29 * 365 * 24 * time.Hour)),
		} {
			clients := weir.NewPerClient[int](p, weir.WithStaleAfter(years*365*24*time.Hour))
			require.True(t, clients.Allow(1))
			left := clients.Tokens(1)
			require.Zero(t, clients.Sweep(), "%s, %d years", name, years)
			require.Equal(t, left, clients.Tokens(1), "%s, %d years", name, years)
		}
	}
	clients := weir.NewPerClient[int](weir.TokenBucket(weir.PerHour(10)), weir.WithStaleAfter(math.MaxInt64))
	require.True(t, clients.Allow(1))
	require.Zero(t, clients.Sweep())
	require.Equal(t, 9, clients.Tokens(1))
}
