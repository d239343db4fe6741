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
