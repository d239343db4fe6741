package weir_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// newClients makes a PerClient that sweeps only when told to.
func newClients[K comparable](t *testing.T, p weir.Policy, c weir.Clock, opts ...weir.Option) *weir.PerClient[K] {
	t.Helper()
	clients := weir.NewPerClient[K](p, append([]weir.Option{weir.WithClock(c), weir.WithSweepEvery(0)}, opts...)...)
	t.Cleanup(func() { require.NoError(t, clients.Close()) })
	return clients
}

func TestPerClientGivesEachKeyALimitOfItsOwn(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		clients := newClients[string](t, k.policy, clock)
		require.True(t, clients.Policy().Equal(k.policy))
		for i, key := range []string{"alice", "bob", "", "a rather long key, longer than any word of a hash is"} {
			require.Equal(t, k.perTake, clients.Tokens(key))
			require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow(key) }), key)
			require.Zero(t, clients.Tokens(key))
			require.Equal(t, i+1, clients.Len())
		}
		clock.Advance(time.Hour)
		require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
		require.Equal(t, k.perTake, clients.Tokens("bob"))
	})
}

// A PerClient decides for each of its keys what a Limiter decides that only that key asks.
func TestPerClientDecidesLikeALimiterPerKey(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		const keys = 20
		clock := newSteppingClock(-3 * time.Hour)
		clients := newClients[int](t, k.policy, clock)
		var limiters [keys]*weir.Limiter
		for i := range limiters {
			limiters[i] = weir.New(k.policy, weir.WithClock(clock))
		}
		random := rand.New(rand.NewPCG(7, 8))
		for range 3000 {
			clock.advance(time.Duration(random.IntN(20)) * time.Millisecond)
			key, n := random.IntN(keys), random.IntN(k.perTake+3)-1
			switch random.IntN(8) {
			case 0:
				require.Equal(t, limiters[key].Peek(n), clients.Peek(key, n))
			case 1:
				require.Equal(t, limiters[key].Tokens(), clients.Tokens(key))
			case 2:
				require.Equal(t, limiters[key].AllowN(n), clients.AllowN(key, n))
			case 3:
				require.Equal(t, limiters[key].Allow(), clients.Allow(key))
			case 4:
				if random.IntN(10) == 0 {
					limiters[key].Reset()
					clients.Reset(key)
				}
			default:
				require.Equal(t, limiters[key].Take(n), clients.Take(key, n))
			}
		}
		var allowed, denied uint64
		for _, l := range limiters {
			allowed += l.Stats().Allowed
			denied += l.Stats().Denied
		}
		require.Equal(t, allowed, clients.Stats().Allowed)
		require.Equal(t, denied, clients.Stats().Denied)
	})
}

func TestAskingCreatesNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clients := newClients[string](t, k.policy, weir.NewManualClock())
		limiter := weir.New(k.policy, weir.WithClock(weir.NewManualClock()))
		for _, n := range []int{-1, 0, 1, k.perTake, k.perTake + 1, math.MaxInt} {
			require.Equal(t, limiter.Peek(n), clients.Peek("alice", n))
		}
		require.Equal(t, k.perTake, clients.Tokens("alice"))
		require.False(t, clients.AllowN("alice", k.perTake+1))
		require.False(t, clients.AllowN("alice", math.MaxInt))
		require.False(t, clients.Take("alice", -1).Allowed)
		require.True(t, clients.AllowN("alice", 0))
		clients.Reset("alice")
		require.Zero(t, clients.Len())
		require.Equal(t, weir.Stats{Denied: 2}, clients.Stats())
		require.True(t, clients.Allow("alice"))
		require.Equal(t, 1, clients.Len())
		require.Equal(t, 1, clients.Stats().Clients)
	})
}

func TestADenialOfAnUnknownKeyCreatesNothing(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket(weir.Limit{}),
		weir.FixedWindow(weir.PerSecond(0)),
		weir.All(weir.TokenBucket(weir.PerSecond(5)), weir.SlidingWindow(weir.Limit{})),
	} {
		clients := newClients[int](t, p, weir.NewManualClock())
		for key := range 100 {
			require.False(t, clients.Allow(key))
		}
		require.Zero(t, clients.Len())
		require.Equal(t, uint64(100), clients.Stats().Denied)
	}
}

func TestResetConcernsOneKey(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clients := newClients[string](t, k.policy, weir.NewManualClock())
		fresh := clients.Peek("carol", 1)
		for _, key := range []string{"alice", "bob"} {
			drain(func() bool { return clients.Allow(key) })
		}
		clients.Reset("alice")
		require.Equal(t, fresh, clients.Peek("alice", 1))
		require.Zero(t, clients.Tokens("bob"))
		require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
	})
}

func TestTwoPerClientsAreIndependent(t *testing.T) {
	p, clock := weir.TokenBucket(weir.PerSecond(3)), weir.NewManualClock()
	logins, messages := newClients[string](t, p, clock), newClients[string](t, p, clock)
	require.True(t, logins.AllowN("alice", 3))
	require.False(t, logins.Allow("alice"))
	require.Equal(t, 3, messages.Tokens("alice"))
	require.True(t, messages.AllowN("alice", 3))
	require.Zero(t, messages.Stats().Denied)
}

func TestShadowPerClient(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.FixedWindow(weir.PerSecond(2)), clock, weir.WithShadow())
	for range 5 {
		require.True(t, clients.Allow("alice"))
	}
	d := clients.Take("alice", 1)
	require.True(t, d.Allowed)
	require.True(t, d.Shadowed)
	require.Equal(t, time.Second, d.RetryAfter)
	require.Equal(t, d, clients.Peek("alice", 1))
	require.Equal(t, weir.Stats{Allowed: 2, Denied: 4, Shadowed: 4, Clients: 1}, clients.Stats())
	clock.Advance(time.Second)
	require.Equal(t, 2, clients.Tokens("alice"), "what was let through was not charged")
	require.True(t, clients.AllowN("bob", 3))
	require.Equal(t, 1, clients.Len(), "a shadowed denial creates nothing either")
}

// session is a key of several fields, of which some hold pointers.
type session struct {
	user   string
	from   netip.Addr
	device uint16
}

// testKeys asks about keys that differ in one place only, as maps tell them apart.
func testKeys[K comparable](t *testing.T, keys ...K) {
	t.Helper()
	clients := newClients[K](t, weir.TokenBucket(weir.PerHour(2)), weir.NewManualClock())
	for i, key := range keys {
		require.True(t, clients.AllowN(key, 2), "%v", key)
		require.False(t, clients.Allow(key), "%v", key)
		require.Equal(t, i+1, clients.Len(), "%v", key)
	}
	for _, key := range keys {
		require.False(t, clients.Allow(key), "%v", key)
	}
}

func TestKeysOfEveryComparableType(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	t.Run("string", func(t *testing.T) { testKeys(t, "", "a", "b", "ab", "a:b", "\x00", "\x00\x00") })
	t.Run("uint64", func(t *testing.T) { testKeys(t, 0, 1, 1<<32, uint64(math.MaxUint64)) })
	t.Run("int8", func(t *testing.T) { testKeys(t, int8(-128), 0, 127) })
	t.Run("bool", func(t *testing.T) { testKeys(t, false, true) })
	t.Run("float64", func(t *testing.T) { testKeys(t, 0.0, 1, math.Inf(1)) })
	t.Run("empty struct", func(t *testing.T) { testKeys(t, struct{}{}) })
	t.Run("array", func(t *testing.T) { testKeys(t, [4]byte{}, [4]byte{1}, [4]byte{0, 0, 0, 1}) })
	t.Run("addr", func(t *testing.T) {
		testKeys(t, netip.Addr{}, v4, v6, v6.WithZone("eth0"), netip.AddrFrom16(v4.As16()))
	})
	t.Run("prefix", func(t *testing.T) { testKeys(t, netip.PrefixFrom(v6, 64), netip.PrefixFrom(v6, 56)) })
	t.Run("struct", func(t *testing.T) {
		testKeys(t, session{}, session{"a", v4, 0}, session{"a", v4, 1}, session{"a", v6, 0}, session{"b", v4, 0})
	})
	t.Run("joined", func(t *testing.T) { testKeys(t, [2]string{"a:b", "c"}, [2]string{"a", "b:c"}) })
	t.Run("any", func(t *testing.T) { testKeys[any](t, "1", 1, uint8(1), 1.0, nil, session{}) })
	t.Run("pointer", func(t *testing.T) { testKeys(t, new(int), new(int), nil) })
}

func TestEqualKeysAreOneKey(t *testing.T) {
	clients := newClients[session](t, weir.TokenBucket(weir.PerHour(10)), weir.NewManualClock())
	for i := range 10 {
		user := fmt.Sprintf("user %d", 7)
		require.True(t, clients.Allow(session{user, netip.MustParseAddr("2001:db8::1%eth0"), 3}), "%d", i)
	}
	require.False(t, clients.Allow(session{"user 7", netip.MustParseAddr("2001:db8::1%eth0"), 3}))
	require.Equal(t, 1, clients.Len())

	zeros := newClients[float64](t, weir.TokenBucket(weir.PerHour(1)), weir.NewManualClock())
	require.True(t, zeros.Allow(0))
	require.False(t, zeros.Allow(math.Copysign(0, -1)), "0 == -0")
}

func TestManyKeys(t *testing.T) {
	const keys = 100_000
	clients := newClients[uint64](t, weir.TokenBucket(weir.PerHour(2)), weir.NewManualClock())
	for _, remaining := range []int{1, 0} {
		for key := range uint64(keys) {
			d := clients.Take(key, 1)
			if !d.Allowed || d.Remaining != remaining {
				t.Fatalf("key %d: %+v where %d should remain", key, d, remaining)
			}
		}
		require.Equal(t, keys, clients.Len())
	}
	for key := range uint64(keys) {
		if clients.Allow(key) {
			t.Fatalf("key %d has forgotten what it spent", key)
		}
	}
}

// requireNoAllocation asks for a key that is known, allowed and denied.
func requireNoAllocation[K comparable](t *testing.T, p weir.Policy, key K) {
	t.Helper()
	clients := weir.NewPerClient[K](p)
	defer clients.Close()
	clients.Allow(key)
	for verb, f := range map[string]func(){
		"Allow":  func() { clients.Allow(key) },
		"AllowN": func() { clients.AllowN(key, 2) },
		"Take":   func() { clients.Take(key, 1) },
		"Peek":   func() { clients.Peek(key, 1) },
		"Tokens": func() { clients.Tokens(key) },
	} {
		require.Zero(t, testing.AllocsPerRun(100, f), "%s of a %T", verb, key)
	}
}

func TestPerClientAllocatesNothingForAKnownKey(t *testing.T) {
	busy := weir.PerSecond(1_000_000)
	kinds := append(policyKinds(),
		policyKind{name: "allowed token bucket", policy: weir.TokenBucket(busy)},
		policyKind{name: "allowed fixed window", policy: weir.FixedWindow(busy)},
		policyKind{name: "allowed sliding window", policy: weir.SlidingWindow(weir.PerSecond(1000))},
		policyKind{name: "allowed sliding counter", policy: weir.SlidingCounter(busy)},
		policyKind{name: "allowed all", policy: weir.All(weir.TokenBucket(busy), weir.FixedWindow(busy))},
	)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			address := netip.MustParseAddr("2001:db8::1")
			requireNoAllocation(t, k.policy, "alice")
			requireNoAllocation(t, k.policy, address)
			requireNoAllocation(t, k.policy, uint64(7))
			requireNoAllocation(t, k.policy, session{"alice", address, 3})
		})
	}
}

func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestMemoryIsGivenBack(t *testing.T) {
	for name, p := range map[string]weir.Policy{
		"token bucket":   weir.TokenBucket(weir.PerSecond(10)),
		"sliding window": weir.SlidingWindow(weir.PerSecond(10)),
	} {
		t.Run(name, func(t *testing.T) {
			clock := weir.NewManualClock()
			clients := weir.NewPerClient[uint64](p, weir.WithClock(clock))
			defer clients.Close()
			base := heapBytes()
			for round := range uint64(3) {
				for key := range uint64(100_000) {
					clients.AllowN(key+round<<32, 3)
				}
				peak := heapBytes() - base
				require.Greater(t, peak, 100_000*8)
				clock.Advance(2 * time.Minute)
				require.Zero(t, clients.Len())
				require.Less(t, heapBytes()-base, peak/10, "round %d", round)
			}
		})
	}
}

func TestMemoryOfClientsThatWereResetIsGivenBack(t *testing.T) {
	const keys = 50_000
	forEachKind(t, func(t *testing.T, k policyKind) {
		clients := newClients[int](t, k.policy, weir.NewManualClock())
		base := heapBytes()
		for key := range keys {
			clients.Allow(key)
		}
		peak := heapBytes() - base
		require.Greater(t, peak, keys*8)
		for key := range keys {
			clients.Reset(key)
		}
		require.Zero(t, clients.Len())
		require.Zero(t, clients.Sweep())
		require.Less(t, heapBytes()-base, peak/8)
	})
}

func TestAPerClientThatNobodyRefersToIsCollected(t *testing.T) {
	manual := weir.NewManualClock()
	for name, clock := range map[string]weir.Clock{"system": weir.SystemClock(), "manual": manual, "foreign": newSteppingClock(0)} {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, closed %v", name, closed), func(t *testing.T) {
				var collected atomic.Bool
				base := heapBytes()
				gone := func() weak.Pointer[weir.PerClient[string]] {
					clients := weir.NewPerClient[string](weir.SlidingWindow(weir.PerHour(10)), weir.WithClock(clock))
					for i := range 20_000 {
						clients.Allow(fmt.Sprint(i))
					}
					require.Greater(t, heapBytes()-base, 20_000*16)
					if closed {
						_ = clients.Close()
					}
					runtime.AddCleanup(clients, func(flag *atomic.Bool) { flag.Store(true) }, &collected)
					return weak.Make(clients)
				}()
				require.Eventually(t, func() bool {
					kept := heapBytes() - base
					return gone.Value() == nil && collected.Load() && kept < 20_000*4
				}, 20*time.Second, time.Millisecond)
				manual.Advance(time.Hour) // its sweep finds it gone
				require.Zero(t, goroutinesOfWeir())
			})
		}
	}
	runtime.KeepAlive(manual)
}
