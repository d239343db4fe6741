package weir_test

import (
	"context"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// meddler is a clock with others who do something whenever it is read.
type meddler struct {
	weir.Clock
	next []func()
}

func (m *meddler) Now() time.Duration {
	if len(m.next) > 0 {
		do := m.next[0]
		m.next = m.next[1:]
		do()
	}
	return m.Clock.Now()
}

// layerVerbs are the ways to ask Layers for one. Each fills in what its answer says.
var layerVerbs = map[string]func(*weir.Layers[visit]) weir.Decision{
	"Allow": func(l *weir.Layers[visit]) weir.Decision { return weir.Decision{Allowed: l.Allow(someone)} },
	"Take":  func(l *weir.Layers[visit]) weir.Decision { return l.Take(someone, 1) },
	"Decide": func(l *weir.Layers[visit]) weir.Decision {
		v, err := l.Decide(context.Background(), someone, 1)
		must(err)
		return v.Decision
	},
	"Hold": func(l *weir.Layers[visit]) weir.Decision {
		h, err := l.Hold(context.Background(), someone, 1)
		must(err)
		return h.Decision
	},
}

// meddled is two places of the same kind, which are asked before a third, whose clock has others meddle.
type meddled struct {
	clock  *meddler
	a, b   verbs
	third  *weir.Limiter
	layers *weir.Layers[visit]
}

// newMeddled makes them Limiters or PerClients, perhaps such that their states are accounts.
func newMeddled(t *testing.T, p weir.Policy, clock weir.Clock, keyed, apart bool) *meddled {
	m := &meddled{clock: &meddler{Clock: clock}}
	place := func() (verbs, weir.Layer[visit]) {
		if !keyed {
			l := weir.New(p, weir.WithClock(clock))
			return realLimiter{l}, weir.Global[visit](l)
		}
		c := newClients[int](t, p, clock)
		return client{&realClients{PerClient: c}, 1}, weir.By(c, byAddr)
	}
	var first, second weir.Layer[visit]
	m.a, first = place()
	m.b, second = place()
	if apart {
		m.a.TakeAs(1, weir.All(p, weir.TokenBucket(weir.PerDay(50))))
		m.b.TakeAs(1, weir.All(p, weir.TokenBucket(weir.PerDay(50))))
		m.a.Refund(1)
		m.b.Refund(1)
	}
	m.third = weir.New(weir.SlidingWindow(weir.PerHour(1000)), weir.WithClock(m.clock))
	m.layers = weir.NewLayers(first, second, weir.Global[visit](m.third))
	return m
}

func forEachMeddled(t *testing.T, test func(t *testing.T, k policyKind, ask func(*weir.Layers[visit]) weir.Decision, m *meddled)) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for verb, ask := range layerVerbs {
			for place, name := range []string{"limiters", "clients", "accounts"} {
				t.Run(verb+" "+name, func(t *testing.T) {
					onClocks(t, func(t *testing.T, clock bench) {
						test(t, k, ask, newMeddled(t, k.policy, clock, place > 0, place > 1))
					})
				})
			}
		}
	})
}

// What others use up after it was looked at is denied, and nothing stays charged elsewhere.
func TestLayersThatOthersUseUpMeanwhileGiveBack(t *testing.T) {
	forEachMeddled(t, func(t *testing.T, k policyKind, ask func(*weir.Layers[visit]) weir.Decision, m *meddled) {
		before, counted := m.a.Peek(1), m.a.Stats()
		m.clock.next = []func(){func() { drain(func() bool { return m.b.AllowN(1) }) }}
		require.False(t, ask(m.layers).Allowed)
		require.Equal(t, before, m.a.Peek(1))
		counted.Clients = m.a.Stats().Clients // it may be held, full
		require.Equal(t, counted, m.a.Stats())
		require.Equal(t, 1000, m.third.Tokens())
		require.Zero(t, m.b.Peek(0).Remaining)
		require.False(t, m.b.AllowN(1))
	})
}

// What others leave is enough, and the answer says what is left then.
func TestLayersSayWhatOthersHaveLeft(t *testing.T) {
	forEachMeddled(t, func(t *testing.T, k policyKind, ask func(*weir.Layers[visit]) weir.Decision, m *meddled) {
		if k.perTake < 3 || k.perTake < k.atOnce {
			return
		}
		m.clock.next = []func(){func() { m.b.AllowN(1) }}
		d := ask(m.layers)
		require.True(t, d.Allowed)
		if left := m.b.Peek(0); d.Limit != 0 {
			require.Equal(t, left, d)
		}
		require.Equal(t, [2]int{k.perTake - 1, k.perTake - 2}, [2]int{m.a.Peek(0).Remaining, m.b.Peek(0).Remaining})
	})
}

// What was given back is not given back again when the next attempt fails before it gets there.
func TestLayersGiveBackButOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for verb, ask := range layerVerbs {
			t.Run(verb, func(t *testing.T) {
				onClocks(t, func(t *testing.T, clock bench) {
					around := &meddler{Clock: clock}
					ends := weir.New(weir.SlidingWindow(weir.PerHour(1000)), weir.WithClock(around))
					last := weir.New(weir.SlidingWindow(weir.PerHour(1000)), weir.WithClock(around))
					a, b := weir.New(k.policy, weir.WithClock(clock)), weir.New(weir.SlidingWindow(weir.PerHour(9)), weir.WithClock(clock))
					layers := weir.NewLayers(weir.Global[visit](ends), weir.Global[visit](a), weir.Global[visit](b), weir.Global[visit](last))
					use := func() { b.AllowN(9) }
					around.next = []func(){func() {}, use}
					if verb != "Hold" { // which reads the clock to charge, too
						around.next = append(around.next, b.Reset, func() { drain(a.Allow) })
					}
					require.False(t, ask(layers).Allowed)
					if verb == "Hold" {
						require.Equal(t, k.perTake, a.Tokens())
						return
					}
					require.Zero(t, a.Tokens())
					require.Equal(t, 9, b.Tokens())
				})
			})
		}
	})
}

// Waits of a nanosecond are waits: for who denies, for who would in shadow, and when others use something up.
func TestLayersThatDenyForANanosecond(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.TokenBucket(weir.Per(3, 3)), weir.FixedWindow(weir.Per(3, 1)), weir.SlidingWindow(weir.Per(3, 1)),
		weir.All(weir.TokenBucket(weir.Per(3, 3)), weir.FixedWindow(weir.PerHour(100))),
	} {
		for verb, ask := range layerVerbs {
			t.Run(p.String()+" "+verb, func(t *testing.T) {
				onClocks(t, func(t *testing.T, clock bench) {
					m := newMeddled(t, p, clock, true, false)
					m.clock.next = []func(){func() { m.b.AllowN(3) }}
					require.False(t, ask(m.layers).Allowed)
					require.EqualValues(t, 1, m.layers.Peek(someone, 1).RetryAfter)
					require.False(t, ask(m.layers).Allowed)
					require.Equal(t, 3, m.a.Peek(0).Remaining)
				})
				onClocks(t, func(t *testing.T, clock bench) {
					quiet := weir.New(p, weir.WithClock(clock), weir.WithShadow())
					other := weir.New(weir.SlidingWindow(weir.PerHour(9)), weir.WithClock(clock))
					layers := weir.NewLayers(weir.Global[visit](other), weir.Global[visit](quiet))
					require.True(t, quiet.AllowN(3))
					d := ask(layers)
					require.True(t, d.Allowed)
					require.Equal(t, [3]uint64{1, 1, 1}, counted(quiet.Stats()))
					require.Equal(t, verb != "Allow", d.Shadowed)
					require.EqualValues(t, 1, quiet.Peek(1).RetryAfter, "it has charged nothing")
					h, err := layers.Hold(t.Context(), someone, 1)
					require.NoError(t, err)
					require.NoError(t, h.Settle(t.Context(), 5))
					require.EqualValues(t, 1, quiet.Peek(1).RetryAfter)
					require.Equal(t, 3, other.Tokens())
				})
			})
		}
	}
}

// A Limiter that reservations are pending for is asked behind them.
func TestLayersBehindAReservationOfALimiter(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for verb, ask := range layerVerbs {
			t.Run(verb, func(t *testing.T) {
				onClocks(t, func(t *testing.T, clock bench) {
					l, other := weir.New(k.policy, weir.WithClock(clock)), weir.New(weir.SlidingWindow(weir.PerHour(9)), weir.WithClock(clock))
					layers := weir.NewLayers(weir.Global[visit](l), weir.Global[visit](other))
					drain(l.Allow)
					l.Reserve(1) // none where there is no queue
					want := l.Peek(1)
					require.Equal(t, want, layers.Peek(someone, 1))
					d := ask(layers)
					require.False(t, d.Allowed)
					require.Contains(t, []time.Duration{0, want.RetryAfter}, d.RetryAfter)
					clock.advance(want.RetryAfter - 1)
					require.False(t, ask(layers).Allowed)
					clock.advance(1)
					left := l.Tokens()
					require.True(t, ask(layers).Allowed)
					require.Equal(t, left-1, l.Tokens())
				})
			})
		}
	})
}

// What takes nothing of a key does not make it fresher: it is forgotten when it would have been.
func TestLayersThatTakeNothingLeaveAKeyAsStale(t *testing.T) {
	for _, p := range []weir.Policy{weir.TokenBucket(weir.PerSecond(5)), weir.SlidingWindow(weir.PerSecond(5))} {
		onClocks(t, func(t *testing.T, clock bench) {
			clients := newClients[int](t, p, clock, weir.WithStaleAfter(time.Hour))
			other := weir.New(weir.SlidingWindow(weir.PerHour(9)), weir.WithClock(clock))
			layers := weir.NewLayers(weir.By(clients, byAddr).WithCost(func(visit) int { return 0 }), weir.Global[visit](other))
			require.True(t, clients.Allow(1))
			clock.advance(50 * time.Minute)
			for _, ask := range layerVerbs {
				require.True(t, ask(layers).Allowed)
			}
			require.Equal(t, 1, clients.Len())
			clock.advance(11 * time.Minute)
			require.Equal(t, 1, clients.Sweep())
		})
	}
}

// What a Hold took can be given back for as long as it is used, whatever is swept meanwhile.
func TestAHoldOutlivesSweeps(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		clients := newClients[int](t, weir.TokenBucket(weir.PerHour(10)), clock)
		layers := weir.NewLayers(weir.By(clients, byAddr))
		h, err := layers.Hold(t.Context(), someone, 10)
		require.NoError(t, err)
		clock.advance(12 * time.Minute)
		clients.Sweep()
		require.NoError(t, h.Settle(t.Context(), 0))
		require.Equal(t, 10, clients.Tokens(1))
	})
}
