package weir_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// Whoever has drawn on the state that is shared gets none of its own on top: that would be a second burst.
func TestShareOverflowGivesNoSecondBurst(t *testing.T) {
	clock := weir.NewManualClock()
	p := weir.TokenBucket(weir.PerSecond(1).WithBurst(5))
	clients := newClients[string](t, p, clock, weir.WithMaxClients(1, weir.ShareOverflow))
	bob := func() bool { return clients.Allow("bob") }
	require.True(t, clients.Allow("alice"))
	require.Equal(t, 5, drain(bob))
	clock.Advance(time.Second)
	require.Equal(t, 1, drain(bob), "alice is full by now, which is of no use to bob")
	require.Equal(t, 6, p.MaxWithin(time.Second+1))
	clients.Sweep()
	require.Zero(t, clients.Len())
	require.Zero(t, drain(bob), "nor is a place that is free")
	clock.Advance(4 * time.Second)
	require.Equal(t, 4, drain(bob))
}

func TestShareOverflowGivesAPlaceOnlyWhileTheSharedStateIsFull(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for name, vacate := range map[string]func(clients *weir.PerClient[string]){
			"reset": func(clients *weir.PerClient[string]) { clients.Reset("alice") },
			"stays": func(*weir.PerClient[string]) {},
		} {
			clock := weir.NewManualClock()
			clients := newClients[string](t, k.policy, clock, weir.WithMaxClients(1, weir.ShareOverflow))
			require.True(t, clients.Allow("alice"))
			require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("bob") }))
			vacate(clients)
			before := clients.Len()
			for _, key := range []string{"bob", "carol"} {
				require.False(t, clients.Allow(key), name)
				require.False(t, clients.Peek(key, 1).Allowed, name)
				require.Zero(t, clients.Tokens(key), name)
			}
			require.Equal(t, before, clients.Len())
			clock.Advance(time.Hour)
			require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("carol") }))
			require.Equal(t, 1, clients.Len())
			clients.Reset("carol")
			require.Zero(t, clients.Len(), "the place was carol's")
			require.True(t, clients.Allow("bob"), "the shared state is full")
		}
	})
}

// No key that was not reset is ever admitted more than MaxWithin, whether it has a place of its own,
// shares one, or goes from one to the other.
func TestNoKeyIsOverItsLimitWhateverItsPlace(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for _, overflow := range []weir.Overflow{weir.ShareOverflow, weir.DenyNew} {
			for seed := range uint64(12) {
				random := rand.New(rand.NewPCG(seed, 17))
				clock := newSteppingClock(0)
				clients := newClients[int](t, k.policy, clock, weir.WithMaxClients(1+int(seed%3), overflow))
				instants, sums := map[int][]time.Duration{}, map[int][]int{}
				for range 250 {
					clock.advance(time.Duration(random.Int64N(int64(200*time.Millisecond) << (2 * random.IntN(4)))))
					key, n := random.IntN(5), 1+random.IntN(k.perTake)
					switch random.IntN(12) {
					case 0:
						clients.Sweep()
					case 1:
						clients.Reset(key)
						instants[key], sums[key] = nil, nil
					}
					if clients.AllowN(key, n) {
						now := clock.Now()
						for i, from := range instants[key] {
							sums[key][i] += n
							require.LessOrEqual(t, sums[key][i], k.policy.MaxWithin(now-from+1), "seed %d, overflow %d", seed, overflow)
						}
						instants[key], sums[key] = append(instants[key], now), append(sums[key], n)
					}
				}
			}
		}
	})
}

// A place that becomes free while many ask for one key gives that key nothing twice.
func TestShareOverflowGivesNoSecondBurstWhileAPlaceBecomesFree(t *testing.T) {
	for _, p := range []weir.Policy{weir.TokenBucket(weir.PerHour(5)), weir.SlidingWindow(weir.PerHour(5))} {
		for name, clock := range map[string]weir.Clock{"manual": weir.NewManualClock(), "system": weir.SystemClock()} {
			for round := range 300 {
				clients := newClients[string](t, p, clock, weir.WithMaxClients(1, weir.ShareOverflow))
				require.True(t, clients.Allow("alice"))
				var admitted atomic.Int64
				together(16, func(g int) {
					if g == 0 {
						clients.Reset("alice")
						return
					}
					if clients.Allow("bob") {
						admitted.Add(1)
					}
				})
				require.LessOrEqual(t, admitted.Load(), int64(5), "%s, %v, round %d", name, p, round)
			}
		}
	}
}

// The same, with the place becoming free at each of the readings of one decision.
func TestShareOverflowGivesNoSecondBurstAtAnyReading(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for reading := range 4 {
			clock := &hookedClock{ManualClock: weir.NewManualClock()}
			clients := newClients[string](t, k.policy, clock, weir.WithMaxClients(1, weir.ShareOverflow))
			require.True(t, clients.Allow("alice"))
			admitted := 0
			bob := func() bool {
				if !clients.Allow("bob") {
					return false
				}
				admitted++
				return true
			}
			clock.after(reading, func() {
				clients.Reset("alice")
				drain(bob)
			})
			drain(bob)
			require.Equal(t, k.atOnce, admitted, "at reading %d", reading)
		}
	})
}

// Whoever lost its place is decided no earlier than at the reading when it did, by the shared state too.
func TestShareOverflowAdmitsNothingExtraWhenTheClockStepsBack(t *testing.T) {
	for name, verb := range map[string]func(*weir.PerClient[string]) bool{
		"allow":   func(clients *weir.PerClient[string]) bool { return clients.Allow("alice") },
		"reserve": func(clients *weir.PerClient[string]) bool { return clients.ReserveWithin("alice", 1, 0).OK() },
	} {
		forEachKind(t, func(t *testing.T, k policyKind) {
			clock := newSteppingClock(100 * time.Hour)
			clients := newClients[string](t, k.policy, clock, weir.WithMaxClients(1, weir.ShareOverflow))
			alice := func() bool { return verb(clients) }
			require.Equal(t, k.atOnce, drain(alice))
			clock.set(101 * time.Hour)
			require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("bob") }), "in alice's place, as she is full")
			clock.set(100 * time.Hour)
			again := drain(alice)
			clock.set(101 * time.Hour)
			require.LessOrEqual(t, again+drain(alice), k.atOnce, name)
		})
	}
}

// The same beside a receipt in the shared state, with which something was given back.
func TestShareOverflowAdmitsNothingExtraBesideAReceipt(t *testing.T) {
	clock := newSteppingClock(0)
	clients := newClients[string](t, weir.TokenBucket(weir.PerHour(10)), clock, weir.WithMaxClients(1, weir.ShareOverflow))
	alice := func() bool { return clients.Allow("alice") }
	require.Equal(t, 10, drain(alice))
	first := clients.Reserve("bob", 3)
	require.Zero(t, clients.Reserve("bob", 3).Delay())
	first.Settle(0)
	clock.set(time.Hour)
	require.Equal(t, 1, clients.Sweep())
	clock.set(0)
	require.Equal(t, 10, drain(alice))
	clock.set(time.Hour)
	require.False(t, alice())
}

// What the shared log has forgotten stays forgotten when somebody's eviction
// moves its newest reading.
func TestTheSharedLogIsNotMisreadAfterASweep(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.SlidingWindow(weir.PerSecond(5)), clock, weir.WithMaxClients(1, weir.ShareOverflow))
	bob := func() bool { return clients.Allow("bob") }
	require.True(t, clients.Allow("alice"))
	require.Equal(t, 5, drain(bob))
	clock.Advance(1 << 37) // a stamp has 37 bits for its instant
	require.Equal(t, 1, clients.Sweep())
	require.True(t, clients.Allow("carol"))
	require.Equal(t, 5, drain(bob))
}
