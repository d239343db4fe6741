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

// bench is a clock with what it takes to move it on.
type bench struct {
	weir.Clock
	advance func(time.Duration)
}

// onClocks runs a test on a ManualClock, and on the system clock: with that a token bucket's state is kept in
// another way. Either begins at a multiple of a day.
func onClocks(t *testing.T, test func(t *testing.T, clock bench)) {
	t.Run("ManualClock", func(t *testing.T) {
		clock := weir.NewManualClock()
		test(t, bench{clock, clock.Advance})
	})
	t.Run("SystemClock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, bench{weir.SystemClock(), time.Sleep}) })
	})
}

// counted is what a limiter has decided.
func counted(s weir.Stats) [3]uint64 { return [3]uint64{s.Allowed, s.Denied, s.Shadowed} }

var someone = visit{addr: 1, user: 2, size: 3}

// Wherever the layer stands that runs out first, it alone denies, and none loses anything by it.
func TestLayersTakeFromAllOrFromNone(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			for place := range 3 {
				narrow := newClients[int](t, k.policy, clock)
				bucket := weir.New(weir.TokenBucket(weir.PerHour(1000)), weir.WithClock(clock))
				windows := newClients[int](t, weir.SlidingWindow(weir.PerHour(1000)), clock)
				layers := []weir.Layer[visit]{weir.Global[visit](bucket), weir.By(windows, byUser)}
				layers = append(layers[:place:place], append([]weir.Layer[visit]{weir.By(narrow, byAddr)}, layers[place:]...)...)
				all := weir.NewLayers(layers...)

				require.Equal(t, k.perTake, all.Peek(someone, 0).Remaining)
				require.Zero(t, narrow.Len()+windows.Len(), "nobody is held for having been looked at")
				require.Equal(t, k.atOnce, drain(func() bool { return all.Allow(someone) }))
				denied := all.Take(someone, 1)
				require.Equal(t, narrow.Peek(1, 1), denied)
				require.False(t, denied.Allowed)

				require.Equal(t, 1000-k.atOnce, bucket.Tokens())
				require.Equal(t, 1000-k.atOnce, windows.Tokens(2))
				require.Equal(t, 1000, windows.Tokens(3))
				n := uint64(k.atOnce)
				require.Equal(t, [3]uint64{n, 0, 0}, counted(bucket.Stats()))
				require.Equal(t, [3]uint64{n, 0, 0}, counted(windows.Stats()))
				require.Equal(t, [3]uint64{n, 2, 0}, counted(narrow.Stats()))

				require.True(t, all.Allow(visit{addr: 9, user: 2}), "another address")
				require.True(t, all.Allow(visit{addr: -1, user: -1}), "only the first layer applies")
				require.Equal(t, 1000-k.atOnce-1, windows.Tokens(2))
				require.Equal(t, 1000-k.atOnce-2, bucket.Tokens())
			}
		})
	})
}

func TestLayersDenyUntilExactlyTheirRetryAfter(t *testing.T) {
	forEachKind(t, func(t *testing.T, first policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			for _, second := range policyKinds() {
				a, b := newClients[int](t, first.policy, clock), newClients[int](t, second.policy, clock)
				layers := weir.NewLayers(weir.By(a, byAddr), weir.By(b, byUser))
				drain(func() bool { return a.Allow(1) })
				clock.advance(30 * ms)
				drain(func() bool { return b.Allow(2) })
				for range 4 {
					d := layers.Take(someone, 1)
					require.Equal(t, max(a.Peek(1, 1).RetryAfter, b.Peek(2, 1).RetryAfter), d.RetryAfter)
					require.Equal(t, d, layers.Peek(someone, 1))
					clock.advance(d.RetryAfter - 1)
					require.EqualValues(t, 1, layers.Peek(someone, 1).RetryAfter)
					require.False(t, layers.Allow(someone))
					clock.advance(1)
					require.True(t, layers.Allow(someone), "%v and %v", first.policy, second.policy)
					drain(func() bool { return layers.Allow(someone) })
				}
			}
		})
	})
}

func TestLayersSayWhatBinds(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		slow := weir.New(weir.TokenBucket(weir.PerMinute(6).WithBurst(8)).Named("slow"), weir.WithClock(clock))
		fast := newClients[int](t, weir.TokenBucket(weir.PerSecond(1).WithBurst(6)).Named("fast"), clock)
		same := weir.New(weir.FixedWindow(weir.PerDay(6)).Named("same"), weir.WithClock(clock))
		layers := weir.NewLayers(weir.Global[visit](slow), weir.By(fast, byUser), weir.Global[visit](same))

		d := layers.Take(someone, 4)
		require.Equal(t, weir.Decision{Allowed: true, Remaining: 2, Policy: "fast", Limit: 6, ResetAfter: 4 * sec}, d, "the first of those with 2 left")
		clock.advance(sec)
		d = layers.Take(visit{addr: 1, user: 3}, 2)
		require.Equal(t, weir.Decision{Allowed: true, Policy: "same", Limit: 6, ResetAfter: 24*time.Hour - sec}, d)
		d = layers.Take(someone, 4)
		require.Equal(t, weir.Decision{RetryAfter: 24*time.Hour - sec, Policy: "same", Limit: 6, ResetAfter: 24*time.Hour - sec}, d)
		clock.advance(24*time.Hour - sec)
		require.True(t, layers.Take(someone, 6).Allowed)
		d = layers.Take(someone, 3)
		require.Equal(t, weir.Decision{RetryAfter: 24 * time.Hour, Policy: "same", Limit: 6, ResetAfter: 24 * time.Hour}, d)
		d = layers.Take(someone, 8)
		require.Equal(t, weir.Never, d.RetryAfter)
		require.Equal(t, "fast", d.Policy, "the first of those who never would")
	})
}

// What a denied request would have left is not what is left.
func TestLayersThatDenySayWhatIsStillThere(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			wide := newClients[int](t, k.policy, clock)
			narrow := weir.New(weir.TokenBucket(weir.PerHour(1000).WithBurst(k.perTake)), weir.WithClock(clock))
			require.True(t, narrow.AllowN((k.perTake+1)/2))
			layers := weir.NewLayers(weir.By(wide, byAddr), weir.Global[visit](narrow))
			d := layers.Take(someone, k.perTake)
			require.False(t, d.Allowed)
			require.Equal(t, k.perTake/2, d.Remaining)
			require.Equal(t, d, layers.Peek(someone, k.perTake))
			if d.Remaining > 0 {
				require.True(t, layers.Take(someone, d.Remaining).Allowed)
			}
		})
	})
}

func TestLayersWithNothingToAskFor(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		spent, fresh := weir.New(weir.SlidingWindow(weir.PerHour(2)), weir.WithClock(clock)), newClients[int](t, weir.TokenBucket(weir.PerHour(2)), clock)
		layers := weir.NewLayers(weir.Global[visit](spent), weir.By(fresh, byAddr))
		require.True(t, spent.AllowN(2))
		before := spent.Stats()
		d := layers.Take(someone, 0)
		require.True(t, d.Allowed)
		require.Zero(t, d.RetryAfter)
		require.Zero(t, d.Remaining)
		for _, n := range ints(-1, math.MinInt64, math.MinInt32) {
			d = layers.Take(someone, n)
			require.False(t, d.Allowed)
			require.Equal(t, weir.Never, d.RetryAfter)
			require.Equal(t, d, layers.Peek(someone, n))
		}
		require.Equal(t, before, spent.Stats(), "neither is counted")
		require.Zero(t, fresh.Stats())

		none := weir.NewLayers[visit]()
		nobody := visit{addr: -1, user: -1}
		for _, layers := range []*weir.Layers[visit]{none, weir.NewLayers(weir.By(fresh, byAddr))} {
			require.True(t, layers.Allow(nobody))
			require.Equal(t, weir.Decision{Allowed: true, Remaining: math.MaxInt}, layers.Take(nobody, math.MaxInt))
			require.Equal(t, weir.Decision{RetryAfter: weir.Never}, layers.Take(nobody, -1))
			require.Equal(t, weir.Decision{RetryAfter: weir.Never}, layers.Peek(nobody, -1))
		}
		require.Zero(t, fresh.Stats())
	})
	require.Equal(t, "weir: NewLayers with the zero Layer: make one with Global, By or ByRemote", panicText(t, func() {
		weir.NewLayers(weir.Layer[visit]{})
	}))
}

func TestLayersWithCostsOfTheirOwn(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		calls := newClients[int](t, weir.FixedWindow(weir.PerMinute(60)).Named("calls"), clock)
		bytes := newClients[int](t, weir.TokenBucket(weir.PerMinute(600)).Named("bytes"), clock)
		layers := weir.NewLayers(weir.By(calls, byUser), weir.By(bytes, byUser).WithCost(bySize))
		of := func(size int) visit { return visit{user: 2, size: size} }

		d := layers.Take(of(150), 2)
		require.Equal(t, weir.Decision{Allowed: true, Remaining: 58, Policy: "calls", Limit: 60, ResetAfter: time.Minute}, d)
		require.Equal(t, 450, bytes.Tokens(2), "the cost is the request's, whatever n")
		d = layers.Take(of(300), 1)
		require.Equal(t, weir.Decision{Allowed: true, Policy: "bytes", Limit: 600, ResetAfter: 45 * sec}, d, "not another one of those")
		d = layers.Take(of(200), 1)
		require.Equal(t, weir.Decision{RetryAfter: 5 * sec, Policy: "bytes", Limit: 600, ResetAfter: 45 * sec}, d)
		require.Equal(t, 57, layers.Peek(of(150), 0).Remaining)
		require.Equal(t, 0, layers.Peek(of(151), 0).Remaining)
		require.Equal(t, 150, bytes.Tokens(2))
		require.Equal(t, 57, calls.Tokens(2))

		require.True(t, layers.Allow(of(0)), "a cost of nothing takes nothing")
		require.Equal(t, 150, bytes.Tokens(2))
		require.Equal(t, [3]uint64{2, 1, 0}, counted(bytes.Stats()))
		require.Equal(t, [3]uint64{3, 0, 0}, counted(calls.Stats()))
		d = layers.Take(of(-1), 1)
		require.Equal(t, weir.Decision{RetryAfter: weir.Never, Policy: "bytes", Limit: 600, ResetAfter: 45 * sec}, d)
		require.Equal(t, weir.Never, layers.Take(of(601), 1).RetryAfter)
		require.True(t, bytes.AllowN(2, 150))
		require.True(t, layers.Allow(of(0)), "even of nothing")
		require.True(t, layers.Take(of(500), 0).Allowed)

		own := weir.NewLayers(weir.By(calls, byUser).WithCost(func(visit) int { return 1 }), weir.By(bytes, byUser).WithCost(bySize))
		require.Equal(t, 59, own.Take(visit{user: 5, size: 10}, 1).Remaining, "the least, each in its own unit")
		require.True(t, bytes.AllowN(5, 540))
		require.Equal(t, 30, own.Take(visit{user: 5, size: 20}, 1).Remaining)
		require.Equal(t, 0, own.Take(visit{user: 5, size: 16}, 1).Remaining, "not another one")
	})
}

// The same limiter and key is one place, however many layers lead there.
func TestLayersChargeTheSameKeyOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			clients := newClients[int](t, k.policy, clock)
			limiter := weir.New(k.policy, weir.WithClock(clock))
			layers := weir.NewLayers(weir.By(clients, byAddr), weir.Global[visit](limiter), weir.By(clients, byUser),
				weir.By(clients, byAddr), weir.Global[visit](limiter))
			same, other := visit{addr: 5, user: 5}, visit{addr: 5, user: 6}
			require.Equal(t, k.atOnce, drain(func() bool { return layers.Allow(same) }))
			require.Zero(t, limiter.Tokens())
			limiter.Reset()
			require.False(t, layers.Allow(other), "5 is used up")
			require.Equal(t, k.perTake, clients.Tokens(6))
			require.Equal(t, [3]uint64{uint64(k.atOnce), 2, 0}, counted(clients.Stats()))
			require.Equal(t, [3]uint64{uint64(k.atOnce), 0, 0}, counted(limiter.Stats()), "the first of two has denied")
			require.True(t, layers.Allow(visit{addr: 7, user: 8}))
			require.Equal(t, k.atOnce-1, drain(func() bool { return clients.Allow(7) }))
			require.Equal(t, k.atOnce-1, drain(func() bool { return clients.Allow(8) }))
		})
	})
	twice := weir.New(weir.TokenBucket(weir.PerHour(100)))
	layers := weir.NewLayers(weir.Global[visit](twice), weir.Global[visit](twice).WithCost(bySize), weir.Global[visit](twice).WithCost(func(visit) int { return 7 }))
	require.Equal(t, 93, layers.Take(visit{size: 5}, 2).Remaining, "the greatest cost")
	require.Equal(t, 73, layers.Take(visit{size: 20}, 8).Remaining)
	require.Equal(t, 43, layers.Take(visit{size: 20}, 30).Remaining)
}

func TestLayersInTheShadow(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		trial := newClients[int](t, weir.TokenBucket(weir.PerMinute(2)).Named("trial"), clock, weir.WithShadow())
		later := newClients[int](t, weir.SlidingWindow(weir.PerHour(1)).Named("later"), clock, weir.WithShadow())
		real := weir.New(weir.FixedWindow(weir.PerMinute(4)).Named("real"), weir.WithClock(clock))
		layers := weir.NewLayers(weir.By(trial, byAddr), weir.Global[visit](real), weir.By(later, byUser))
		left := func(n int) weir.Decision {
			return weir.Decision{Allowed: true, Remaining: n, Policy: "real", Limit: 4, ResetAfter: time.Minute}
		}
		require.Equal(t, left(3), layers.Take(visit{addr: 1, user: 1}, 1), "those in the shadow set nothing")
		require.Equal(t, left(2), layers.Take(visit{addr: 1, user: 2}, 1))
		want := weir.Decision{
			Allowed: true, Remaining: 1, RetryAfter: 30 * sec, Policy: "trial", Limit: 2, ResetAfter: time.Minute, Shadowed: true,
		}
		require.Equal(t, want, layers.Peek(visit{addr: 1, user: 3}, 1))
		require.Equal(t, want, layers.Take(visit{addr: 1, user: 3}, 1))
		require.Zero(t, trial.Tokens(1), "it takes nothing that it would deny")
		want = weir.Decision{
			Allowed: true, RetryAfter: time.Hour, Policy: "later", Limit: 1, ResetAfter: time.Hour, Shadowed: true,
		}
		require.Equal(t, want, layers.Take(someoneOf(1, 1), 1), "the one that would deny for longest")
		require.False(t, layers.Take(someoneOf(1, 1), 1).Shadowed, "denied for real")
		require.Equal(t, [3]uint64{4, 1, 0}, counted(real.Stats()))
		require.Equal(t, [3]uint64{2, 2, 2}, counted(trial.Stats()))
		require.Equal(t, [3]uint64{3, 1, 1}, counted(later.Stats()))

		only := weir.NewLayers(weir.By(later, byUser), weir.By(trial, byAddr))
		require.Equal(t, 1, only.Peek(someoneOf(7, 7), 0).Remaining, "nobody else sets it")
		costs := weir.NewLayers(weir.By(later, byUser), weir.Global[visit](weir.New(weir.TokenBucket(weir.PerHour(50)))).WithCost(bySize))
		require.Equal(t, 47, costs.Take(visit{user: 1, size: 3}, 1).Remaining, "what is left of what can deny")
	})
}

func someoneOf(addr, user int) visit { return visit{addr: addr, user: user} }

func TestLayersWhereClientsDoNotFit(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			for name, overflow := range overflows {
				few := newClients[int](t, k.policy, clock, weir.WithMaxClients(1, overflow))
				limit := weir.New(weir.TokenBucket(weir.PerHour(1000)), weir.WithClock(clock))
				layers := weir.NewLayers(weir.Global[visit](limit), weir.By(few, byAddr))
				admitted := 0
				inTime(t, func() {
					for addr := range 20 {
						d := layers.Peek(someoneOf(addr, 0), 1)
						require.Equal(t, d, layers.Take(someoneOf(addr, 0), 1), name)
						if d.Allowed {
							admitted++
						}
					}
				})
				switch name {
				case "DenyNew":
					require.Equal(t, 1, admitted)
				case "EvictFullest":
					require.Equal(t, 20, admitted)
				default:
					require.Equal(t, 1+min(19, k.atOnce), admitted)
				}
				require.Equal(t, 1000-admitted, limit.Tokens(), name)
				require.Equal(t, [3]uint64{uint64(admitted), 0, 0}, counted(limit.Stats()))
				require.EqualValues(t, 20-admitted, few.Stats().Denied)
				require.GreaterOrEqual(t, few.Stats().Overflowed, uint64(admitted-1), name)
			}
		})
	})
}

func TestLayersBehindReservationsAndUnderOtherPolicies(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			a, b := newClients[int](t, k.policy, clock), newClients[int](t, k.policy, clock)
			layers := weir.NewLayers(weir.By(a, byAddr), weir.By(b, byUser))
			drain(func() bool { return layers.Allow(someone) })
			reserved := a.Reserve(1, 1) // none where there is no queue
			d := layers.Take(someone, 1)
			require.False(t, d.Allowed)
			require.Equal(t, max(a.Peek(1, 1).RetryAfter, b.Peek(2, 1).RetryAfter), d.RetryAfter)
			clock.advance(d.RetryAfter - 1)
			require.False(t, layers.Allow(someone))
			clock.advance(1)
			require.True(t, layers.Allow(someone))
			reserved.Cancel()

			clock.advance(time.Hour)
			plan := weir.All(weir.TokenBucket(weir.PerHour(3)), weir.FixedWindow(weir.PerDay(100)))
			require.True(t, b.AllowAs(2, plan))
			twin := newClients[int](t, k.policy, clock)
			require.True(t, twin.AllowAs(2, plan))
			require.Equal(t, min(k.perTake, twin.Tokens(2)), layers.Peek(someone, 0).Remaining)
			n := drain(func() bool { return layers.Allow(someone) })
			require.Equal(t, n, drain(func() bool { return twin.Allow(2) }), "brought back to the policy of all")
			require.Equal(t, twin.Peek(2, 1), b.Peek(2, 1))
		})
	})
}

func TestLayersFollowSetPolicy(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		clients := newClients[int](t, weir.TokenBucket(weir.PerHour(5)), clock)
		limiter := weir.New(weir.TokenBucket(weir.PerHour(100)), weir.WithClock(clock))
		layers := weir.NewLayers(weir.By(clients, byAddr), weir.Global[visit](limiter))
		require.True(t, layers.Take(someone, 5).Allowed)
		left := 95
		for _, p := range []weir.Policy{
			weir.SlidingWindow(weir.PerHour(8)), weir.TokenBucket(weir.PerHour(10)), weir.All(weir.FixedWindow(weir.PerHour(12)), weir.TokenBucket(weir.PerDay(12))),
		} {
			require.NoError(t, clients.SetPolicy(p))
			require.NoError(t, limiter.SetPolicy(pick(randomly(uint64(left)), weir.TokenBucket(weir.PerHour(100)), weir.FixedWindow(weir.PerHour(100)))))
			n := layers.Peek(someone, 0).Remaining
			require.Positive(t, n)
			require.False(t, layers.Take(someone, n+1).Allowed)
			require.True(t, layers.Take(someone, n).Allowed)
			left -= n
			require.Equal(t, left, limiter.Tokens(), "%v", p)
		}
		require.Equal(t, 88, left)
	})
}

func TestLayersAllocateNothing(t *testing.T) {
	busy := weir.PerSecond(1_000_000)
	for _, k := range append(policyKinds(),
		policyKind{name: "allowed token bucket", policy: weir.TokenBucket(busy)},
		policyKind{name: "allowed window", policy: weir.FixedWindow(busy)},
		policyKind{name: "allowed log", policy: weir.SlidingWindow(weir.PerSecond(1000))},
		policyKind{name: "allowed all of two", policy: weir.All(weir.TokenBucket(busy), weir.SlidingCounter(busy))},
		policyKind{name: "allowed all of three", policy: weir.All(weir.TokenBucket(busy), weir.SlidingCounter(busy), weir.FixedWindow(busy))},
	) {
		var layers []weir.Layer[visit]
		for many := 1; many <= 4; many++ {
			key := byAddr
			if many%2 == 0 {
				key = byUser
			}
			clients := newClients[int](t, k.policy, weir.SystemClock())
			clients.Allow(someone.addr) // a key that is known
			clients.Allow(someone.user)
			layers = append(layers, weir.By(clients, key))
			for verb, f := range map[string]func(*weir.Layers[visit]){
				"Allow":       func(l *weir.Layers[visit]) { l.Allow(someone) },
				"Take":        func(l *weir.Layers[visit]) { l.Take(someone, 1) },
				"Peek":        func(l *weir.Layers[visit]) { l.Peek(someone, 1) },
				"TakeContext": func(l *weir.Layers[visit]) { _, _ = l.TakeContext(context.Background(), someone, 1) },
			} {
				all := weir.NewLayers(layers...)
				all.Allow(someone)
				require.Zero(t, testing.AllocsPerRun(50, func() { f(all) }), fmt.Sprint(k.name, " ", many, " ", verb))
			}
		}
	}
}

func TestLayersNameTheirLimiters(t *testing.T) {
	type store struct{}
	whole, clients := weir.New(weir.TokenBucket(weir.PerSecond(1))), weir.NewPerClient[int](weir.TokenBucket(weir.PerSecond(1)))
	decide := func(context.Context, int, int) (weir.Decision, error) { return weir.Decision{}, nil }
	far := weir.ByRemote(weir.Remote[int]{
		Take: decide, Peek: decide,
		Refund:  func(context.Context, int, int) error { return nil },
		Limiter: store{},
	}, func(i int) (int, bool) { return i, true })
	layers := weir.NewLayers(far, weir.By(clients, func(i int) (int, bool) { return i, false }), weir.Global[int](whole))
	require.Equal(t, []any{clients, whole, store{}}, layers.Limiters(), "remote ones last, and whether they apply or not")
	require.Empty(t, weir.NewLayers[int]().Limiters())
}
