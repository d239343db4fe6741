package weir_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// yieldingClock lets others go first each time that it is read: between asking the layers and charging them.
type yieldingClock struct{ weir.Clock }

func (c yieldingClock) Now() time.Duration {
	now := c.Clock.Now()
	runtime.Gosched()
	return now
}

// layersLoad is three layers that are charged by many, and what each of their keys was said to have been.
type layersLoad struct {
	*weir.Layers[visit]
	limiter      *weir.Limiter
	addrs, users *weir.PerClient[int]
	whole        atomic.Int64
	byAddr       [loadKeys]atomic.Int64
	byUser       [loadKeys]atomic.Int64
	allowed      atomic.Uint64
	denied       atomic.Uint64
}

const (
	loadKeys       = 24
	loadGoroutines = 16
	loadEach       = 500
)

func newLayersLoad(t *testing.T, whole, addr, user weir.Policy, clock weir.Clock, order int) *layersLoad {
	l := &layersLoad{
		limiter: weir.New(whole, weir.WithClock(clock)),
		addrs:   newClients[int](t, addr, clock),
		users:   newClients[int](t, user, yieldingClock{clock}),
	}
	global, addrs, users := weir.Global[visit](l.limiter), weir.By(l.addrs, byAddr), weir.By(l.users, byUser)
	l.Layers = weir.NewLayers([][]weir.Layer[visit]{
		{global, addrs, users}, {users, addrs, global}, {addrs, users, global, addrs, global},
	}[order]...)
	return l
}

// ask makes one request of a random client, and keeps what it was told.
func (l *layersLoad) ask(random *rand.Rand) {
	v, n := visit{addr: random.IntN(loadKeys), user: random.IntN(loadKeys)}, 1+random.IntN(2)
	var ok bool
	switch random.IntN(3) {
	case 0:
		n, ok = 1, l.Allow(v)
	case 1:
		ok = l.Take(v, n).Allowed
	default:
		d, err := l.TakeContext(context.Background(), v, n)
		ok = err == nil && d.Allowed
	}
	l.keep(v, n, ok)
}

func (l *layersLoad) keep(v visit, n int, ok bool) {
	if !ok {
		l.denied.Add(1)
		return
	}
	l.allowed.Add(1)
	l.whole.Add(int64(n))
	l.byAddr[v.addr].Add(int64(n))
	l.byUser[v.user].Add(int64(n))
}

// requireCharged says that what was admitted is what was charged, everywhere. Nothing came back meanwhile.
func (l *layersLoad) requireCharged(t *testing.T, whole, addr, user int) {
	t.Helper()
	require.Equal(t, whole-int(l.whole.Load()), l.limiter.Tokens())
	for key := range loadKeys {
		require.Equal(t, addr-int(l.byAddr[key].Load()), l.addrs.Tokens(key), "address %d", key)
		require.Equal(t, user-int(l.byUser[key].Load()), l.users.Tokens(key), "user %d", key)
	}
	stats := [3]weir.Stats{l.limiter.Stats(), l.addrs.Stats(), l.users.Stats()}
	denied := uint64(0)
	for _, s := range stats {
		require.Equal(t, l.allowed.Load(), s.Allowed)
		denied += s.Denied
	}
	require.Equal(t, l.denied.Load(), denied, "each denial by one layer")
}

type loadMix struct {
	name              string
	whole, addr, user weir.Policy
}

// loadMixes are of policies that nothing comes back to within a test.
func loadMixes(whole, addr, user int) []loadMix {
	bucket := func(n int) weir.Policy { return weir.TokenBucket(weir.PerDay(1).WithBurst(n)) }
	log := func(n int) weir.Policy { return weir.SlidingWindow(weir.PerDay(n)) }
	two := func(n int) weir.Policy { return weir.All(bucket(n), log(n)) }
	nested := func(n int) weir.Policy { return weir.All(bucket(n), weir.FirstOf(log(n), bucket(n)), log(2*n)) }
	return []loadMix{
		{"buckets", bucket(whole), bucket(addr), bucket(user)},
		{"logs", log(whole), log(addr), log(user)},
		{"mixed", log(whole), bucket(addr), two(user)},
		{"nested", nested(whole), two(addr), nested(user)},
		{"nested in the middle", bucket(whole), nested(addr), bucket(user)},
	}
}

func TestLayersUnderLoadChargeEachOnce(t *testing.T) {
	for name, clock := range map[string]weir.Clock{
		"SystemClock": weir.SystemClock(), "yielding": yieldingClock{weir.SystemClock()}, "ManualClock": weir.NewManualClock(),
	} {
		// Few are left for all, or few for each.
		for _, size := range [][3]int{{100, 30, 20}, {2000, 20, 30}, {5000, 100, 1}} {
			for _, mix := range loadMixes(size[0], size[1], size[2]) {
				t.Run(name+" "+mix.name, func(t *testing.T) {
					for order := range 3 {
						l := newLayersLoad(t, mix.whole, mix.addr, mix.user, clock, order)
						inTime(t, func() {
							together(loadGoroutines, func(g int) {
								random := rand.New(rand.NewPCG(uint64(g), uint64(order)))
								for range loadEach / 5 {
									l.ask(random)
								}
							})
						})
						l.requireCharged(t, size[0], size[1], size[2])
					}
				})
			}
		}
	}
}

// Who gets the last one of a layer, and not one of the next, gives it back: as often as two meet.
func TestLayersThatRaceForTheLastOne(t *testing.T) {
	for _, mix := range loadMixes(2, 1, 1) {
		t.Run(mix.name, func(t *testing.T) {
			for round := range 60 {
				l := newLayersLoad(t, mix.whole, mix.addr, mix.user, weir.SystemClock(), round%3)
				inTime(t, func() {
					together(loadGoroutines, func(g int) {
						for i := range loadKeys {
							v := visit{addr: (g + i) % 2, user: (g/2 + i) % 2}
							l.keep(v, 1, l.Allow(v))
						}
					})
				})
				l.requireCharged(t, 2, 1, 1)
				require.NotZero(t, l.allowed.Load(), "somebody has to get one")
			}
		})
	}
}

// All verbs of the limiters go on beside the layers, and tokens do come back.
func TestLayersUnderLoadAreNeverOver(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		l := newLayersLoad(t, weir.TokenBucket(weir.PerSecond(1000)), k.policy, weir.TokenBucket(weir.PerSecond(50)), clock, 0)
		other := k.policy.Named("renamed")
		var beside [loadKeys]atomic.Int64
		inTime(t, func() {
			together(loadGoroutines/2, func(g int) {
				random := rand.New(rand.NewPCG(uint64(g), 7))
				for i := range loadEach {
					key := random.IntN(loadKeys)
					switch {
					case g > 2 || i%4 > 0:
						l.ask(random)
					case g == 0:
						clock.Advance(time.Duration(random.IntN(5)) * ms)
						l.addrs.Sweep()
					case g == 1:
						if l.addrs.Allow(key) {
							beside[key].Add(1)
						}
						l.users.ReserveWithin(key, 1, sec).Cancel()
					case i%40 == 0:
						if l.addrs.SetPolicy(other) != nil || l.addrs.SetPolicy(k.policy) != nil {
							t.Error("a policy is refused")
						}
					}
				}
			})
		})
		most := k.policy.MaxWithin(clock.Now() + 1)
		for key := range loadKeys {
			require.LessOrEqual(t, int(l.byAddr[key].Load()+beside[key].Load()), most)
		}
		require.Equal(t, l.allowed.Load(), l.limiter.Stats().Allowed)
		clock.Advance(time.Hour)
		for key := range loadKeys {
			require.Equal(t, k.perTake, l.addrs.Tokens(key))
			require.Equal(t, 50, l.users.Tokens(key))
		}
		require.Zero(t, l.users.Stats().Waiting)
		l.addrs.Sweep()
		require.Zero(t, l.addrs.Len())
	})
}

// Each limiter at several places, and two that take them in opposite order: whoever locked one after the other
// would wait for ever.
func TestLayersInOppositeOrderDoNotWaitForEachOther(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := yieldingClock{weir.NewManualClock()}
		a, b := weir.New(k.policy, weir.WithClock(clock)), newClients[int](t, k.policy, clock)
		layerA, addr, user := weir.Global[visit](a), weir.By(b, byAddr), weir.By(b, byUser)
		one := weir.NewLayers(layerA, layerA, addr, user, addr)
		two := weir.NewLayers(user, addr, addr, layerA, user, layerA)
		var admitted atomic.Int64
		inTime(t, func() {
			together(loadGoroutines, func(g int) {
				layers := one
				if g%2 == 0 {
					layers = two
				}
				for i := range 40 {
					if layers.Allow(visit{addr: 1 + (g+i)%2, user: 1 + (g/2)%2}) {
						admitted.Add(1)
					}
				}
			})
		})
		require.LessOrEqual(t, admitted.Load(), int64(k.atOnce))
		require.EqualValues(t, admitted.Load(), a.Stats().Allowed)
		require.EqualValues(t, loadGoroutines*40, a.Stats().Denied+b.Stats().Denied+a.Stats().Allowed)
		if left := a.Tokens(); left > 0 {
			require.True(t, one.Take(visit{addr: 8, user: 9}, left).Allowed, "it can be had")
		}
	})
}

// A remote layer that denies or fails has all that was taken before it given back, whoever comes meanwhile.
func TestLayersUnderLoadWithARemoteOne(t *testing.T) {
	for name, clock := range map[string]weir.Clock{"SystemClock": weir.SystemClock(), "yielding": yieldingClock{weir.SystemClock()}} {
		for _, mix := range loadMixes(300, 40, 40) {
			t.Run(name+" "+mix.name, func(t *testing.T) {
				l := newLayersLoad(t, mix.whole, mix.addr, mix.user, clock, 0)
				var asked atomic.Int64
				far := weir.ByRemote(remoteOf(func(context.Context, visit, int) (weir.Decision, error) {
					switch runtime.Gosched(); asked.Add(1) % 4 {
					case 0:
						return weir.Decision{Allowed: true, Remaining: 1}, nil
					case 1:
						return weir.Decision{}, errors.New("it does not answer")
					}
					return weir.Decision{RetryAfter: sec}, nil
				}), func(v visit) (visit, bool) { return v, v.addr%5 != 0 })
				l.Layers = weir.NewLayers(far, weir.Global[visit](l.limiter), weir.By(l.users, byUser), weir.By(l.addrs, byAddr))
				inTime(t, func() {
					together(loadGoroutines, func(g int) {
						random := rand.New(rand.NewPCG(uint64(g), 9))
						for range loadEach / 5 {
							l.ask(random)
						}
					})
				})
				require.Equal(t, 300-int(l.whole.Load()), l.limiter.Tokens())
				for key := range loadKeys {
					require.Equal(t, 40-int(l.byAddr[key].Load()), l.addrs.Tokens(key))
					require.Equal(t, 40-int(l.byUser[key].Load()), l.users.Tokens(key))
				}
				require.Equal(t, l.allowed.Load(), l.addrs.Stats().Allowed)
			})
		}
	}
}

// What is left of the layer with the least is said of the moment of the charge, so no two are told the same.
func TestLayersUnderLoadSayWhatEachLeaves(t *testing.T) {
	for _, mix := range loadMixes(3000, 9000, 9000) { // the first has the least
		t.Run(mix.name, func(t *testing.T) {
			l := newLayersLoad(t, mix.whole, mix.addr, mix.user, weir.SystemClock(), 0)
			var told [3001]atomic.Int64
			together(loadGoroutines, func(int) {
				for range 100 {
					told[l.Take(visit{}, 1).Remaining].Add(1)
				}
			})
			for left := range told {
				require.LessOrEqual(t, told[left].Load(), int64(1), "%d left", left)
			}
		})
	}
}
