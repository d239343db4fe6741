package weir_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// bound is a layer of an hourly bucket with so many left, that costs something of its own unless that is -9.
type bound struct {
	name   string
	left   int // of 100
	cost   int
	shadow bool
}

func (b bound) layer(clock weir.Clock, window bool) weir.Layer[visit] {
	opts := []weir.Option{weir.WithClock(clock)}
	if b.shadow {
		opts = append(opts, weir.WithShadow())
	}
	p := weir.TokenBucket(weir.PerHour(100))
	if window && !b.shadow { // which would deny for as long, whatever it owes
		p = weir.SlidingWindow(weir.PerHour(100))
	}
	if b.left == math.MaxInt {
		p = weir.TokenBucket(weir.Unlimited())
	}
	l := weir.New(p.Named(b.name), opts...)
	if b.left < 100 {
		l.Charge(100 - b.left)
	}
	if b.cost == -9 {
		return weir.Global[visit](l)
	}
	return weir.Global[visit](l).WithCost(func(visit) int { return b.cost })
}

func TestLayersSayHowManyMoreCallsAreLeft(t *testing.T) {
	const plain = -9
	for name, c := range map[string]struct {
		layers    []bound
		n         int
		policy    string
		allowed   bool
		remaining int
	}{
		"who admits is charged nothing": {[]bound{{"a", 10, plain, false}, {"b", 1, 1, false}}, 20, "a", false, 10},
		"nor before who denies":         {[]bound{{"b", 1, 1, false}, {"a", 10, plain, false}}, 20, "a", false, 10},
		"nor by n":                      {[]bound{{"a", 10, plain, false}, {"b", 25, plain, false}}, 20, "a", false, 10},
		"what costs nothing sets none":  {[]bound{{"a", 10, plain, false}, {"b", 1, 0, false}}, 2, "a", true, 8},
		"the first of equals":           {[]bound{{"a", 10, 2, false}, {"b", 10, 2, false}}, 1, "a", true, 8},
		"without a limit":               {[]bound{{"a", math.MaxInt, plain, false}, {"b", 50, 5, false}}, 1, "a", true, math.MaxInt},
		"without a limit, behind":       {[]bound{{"b", 50, 5, false}, {"a", math.MaxInt, plain, false}}, 1, "b", true, math.MaxInt},
		"shadows: the longest first":    {[]bound{{"a", -8, plain, true}, {"b", -5, plain, true}, {"c", 9, plain, false}}, 1, "a", true, 8},
		"shadows: the longest last":     {[]bound{{"b", -5, plain, true}, {"a", -8, plain, true}, {"c", 9, plain, false}}, 1, "a", true, 8},
		"shadows: as long":              {[]bound{{"a", -8, plain, true}, {"b", -8, plain, true}, {"c", 9, plain, false}}, 1, "a", true, 8},
		"who denies before a shadow":    {[]bound{{"a", 0, plain, false}, {"b", -5, plain, true}}, 1, "a", false, 0},
		"who denies behind a shadow":    {[]bound{{"b", -5, plain, true}, {"a", 0, plain, false}}, 1, "a", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onClocks(t, func(t *testing.T, clock bench) {
				for i := range 1 << len(c.layers) {
					var layers []weir.Layer[visit]
					shadows := false
					for j, b := range c.layers {
						layers = append(layers, b.layer(clock, i>>j&1 == 1))
						shadows = shadows || b.shadow
					}
					all := weir.NewLayers(layers...)
					peeked := all.Peek(someone, c.n)
					d := all.Take(someone, c.n)
					require.Equal(t, peeked, d)
					require.Equal(t, c.allowed, d.Allowed)
					require.Equal(t, c.remaining, d.Remaining)
					if c.remaining != math.MaxInt {
						require.Equal(t, c.policy, d.Policy)
					}
					require.Equal(t, shadows && c.allowed, d.Shadowed)
				}
			})
		})
	}
}

// A negative cost is no more than the n of a call that names the same limiter.
func TestTheSameLimiterByANegativeCost(t *testing.T) {
	clock := weir.NewManualClock()
	l := weir.New(weir.TokenBucket(weir.PerHour(100)), weir.WithClock(clock))
	layers := weir.NewLayers(weir.Global[visit](l), weir.Global[visit](l).WithCost(func(visit) int { return -1 }))
	require.Equal(t, 97, layers.Take(someone, 3).Remaining)
}

func TestLayersOfDifferentClocks(t *testing.T) {
	first, second := weir.NewManualClock(), weir.NewManualClock()
	a, b := weir.New(weir.FixedWindow(weir.PerHour(5)), weir.WithClock(first)), weir.New(weir.FixedWindow(weir.PerHour(5)), weir.WithClock(second))
	layers := weir.NewLayers(weir.Global[visit](a), weir.Global[visit](b))
	require.True(t, layers.Take(someone, 5).Allowed)
	second.Advance(30 * time.Minute)
	require.Equal(t, time.Hour, layers.Take(someone, 1).RetryAfter)
	first.Advance(time.Hour)
	require.Equal(t, 30*time.Minute, layers.Take(someone, 1).RetryAfter)
}

// What Enforced says is left is what of calls is left, also where they have a cost.
func TestWhatIsEnforcedIsForCalls(t *testing.T) {
	clock := weir.NewManualClock()
	layers := weir.NewLayers(bound{"a", 4, 3, false}.layer(clock, false), bound{"b", -5, -9, true}.layer(clock, false))
	v, err := layers.Decide(t.Context(), someone, 1)
	require.NoError(t, err)
	require.True(t, v.Shadowed)
	require.Equal(t, "a", v.Enforced().Policy)
	require.Zero(t, v.Enforced().Remaining, "1 is not enough for another call")
}

func TestOneLayerAloneTellsItsPolicy(t *testing.T) {
	p := weir.TokenBucket(weir.PerHour(10)).Named("p")
	limiter, clients := weir.New(p), weir.NewPerClient[int](p)
	quiet := weir.NewPerClient[int](p, weir.WithShadow())
	for _, c := range []struct {
		layer weir.Layer[visit]
		visit visit
		tells bool
	}{
		{weir.Global[visit](limiter), someone, true}, {weir.By(clients, byAddr), someone, true}, {weir.By(clients, byAddr), someoneOf(-1, -1), false},
		{weir.By(quiet, byAddr), someone, false}, {weir.By(quiet, byAddr), someoneOf(-1, -1), false},
	} {
		v, err := weir.NewLayers(c.layer).Decide(t.Context(), c.visit, 1)
		require.NoError(t, err)
		require.True(t, v.Allowed)
		policies := v.AppendPolicies(nil)
		require.Len(t, policies, map[bool]int{true: 1}[c.tells])
		if c.tells {
			require.True(t, policies[0].Equal(p))
		}
	}
	v, err := weir.NewLayers(weir.By(quiet, byAddr)).Decide(t.Context(), someoneOf(-1, -1), -1)
	require.NoError(t, err)
	require.False(t, v.Enforced().Allowed, "less than nothing")
	require.Equal(t, 7, weir.NewLayers(weir.By(clients, byUser).WithCost(bySize)).Take(someone, 1).Remaining, "one with a cost")
	require.Equal(t, weir.Decision{Allowed: true, Remaining: math.MaxInt}, weir.NewLayers[visit]().Take(someone, 0))
}

func TestLayersOfRemoteOnesAlone(t *testing.T) {
	clock := weir.NewManualClock()
	far := newFarAway(2, "far", clock)
	layers := weir.NewLayers(far.layer())
	require.True(t, layers.Allow(someone))
	require.True(t, layers.Allow(someone))
	require.False(t, layers.Allow(someone))
	far.Reset()
	h, err := layers.Hold(t.Context(), someone, 1)
	require.NoError(t, err)
	require.NoError(t, h.Settle(t.Context(), 2))
	require.Zero(t, far.Tokens())
	require.NoError(t, h.Settle(t.Context(), 0))
	require.Zero(t, far.Tokens(), "only the first call counts")
	far.fails = errors.New("no answer")
	require.Zero(t, layers.Peek(someone, 1))
}

// Of a remote layer that has no limit as many calls are left, whatever others cost.
func TestARemoteLayerCountsCalls(t *testing.T) {
	clock := weir.NewManualClock()
	endless := weir.ByRemote(remoteOf(func(context.Context, int, int) (weir.Decision, error) {
		return weir.Decision{Allowed: true, Remaining: math.MaxInt}, nil
	}), byAddr)
	layers := weir.NewLayers(bound{"a", 50, 5, false}.layer(clock, false), endless)
	require.Equal(t, math.MaxInt, layers.Take(someone, 1).Remaining)
}

// Nobody behind a remote layer that denies is asked, and what a near one is in shadow for is no denial.
func TestRemoteLayersAreAskedUntilOneDenies(t *testing.T) {
	clock := weir.NewManualClock()
	first, second := newFarAway(5, "first", clock), newFarAway(0, "second", clock)
	third := newFarAway(5, "third", clock)
	third.meantime = func() { t.Error("asked") }
	layers := weir.NewLayers(first.layer(), second.layer(), third.layer())
	require.Equal(t, "second", layers.Peek(someone, 1).Policy)
	require.Equal(t, "second", layers.Take(someone, 1).Policy)
	require.Equal(t, 5, first.Tokens())

	third.no = true
	layers = weir.NewLayers(bound{"a", 5, -9, false}.layer(clock, false), bound{"b", 0, -9, true}.layer(clock, false), third.layer())
	require.True(t, layers.Peek(someone, 1).Shadowed)
	require.True(t, layers.Take(someone, 1).Shadowed)
}

// An error says also what could not be given back.
func TestAStoreThatFailsAndOneThatCannotBeGivenBack(t *testing.T) {
	lost, broken := errors.New("lost"), errors.New("broken")
	first := newStore(weir.Decision{Allowed: true, Remaining: 9}, func(context.Context, int) error { return lost })
	second := weir.ByRemote(remoteOf(func(context.Context, int, int) (weir.Decision, error) { return weir.Decision{}, broken }), byAddr)
	_, err := weir.NewLayers(first, second).TakeContext(t.Context(), someone, 1)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, lost)
}

// A store is asked to take and to give back no more than there is to settle.
func TestAHoldSettlesAStoreByTheDifference(t *testing.T) {
	for actual, want := range map[int][]int{-2: {4, -4}, 0: {4, -4}, 3: {4, -1}, 4: {4}, 5: {4, 1}, 9: {4, 5}} {
		var asked []int
		store := remoteOf(func(_ context.Context, _, n int) (weir.Decision, error) {
			asked = append(asked, n)
			return weir.Decision{Allowed: true, RetryAfter: 5}, nil // which nobody who is allowed has to wait for
		})
		store.Refund = func(_ context.Context, _, n int) error {
			asked = append(asked, -n)
			return nil
		}
		h, err := weir.NewLayers(weir.ByRemote(store, byAddr)).Hold(t.Context(), someone, 4)
		require.NoError(t, err)
		require.False(t, h.Shadowed)
		require.NoError(t, h.Settle(t.Context(), actual))
		require.Equal(t, want, asked, "%d", actual)
	}
}

// What a remote layer denies is given back to a key that reservations are pending for, or that has its own policy.
func TestRemoteLayersGiveBackToAKeyOfItsOwnPolicy(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		clients := newClients[int](t, weir.TokenBucket(weir.PerHour(10)), clock)
		none := newFarAway(0, "none", clock)
		clients.TakeAs(1, 2, weir.All(weir.TokenBucket(weir.PerHour(10)), weir.FixedWindow(weir.PerDay(50))))
		before := clients.Peek(1, 1)
		require.False(t, weir.NewLayers(weir.By(clients, byAddr), none.layer()).Allow(someone))
		require.Equal(t, before, clients.Peek(1, 1))
	})
}

// A Peek that finds a denial leaves nothing to be remembered.
func TestPeekOfLayersChangesNothing(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[int](t, weir.TokenBucket(weir.PerHour(2)), clock)
	layers := weir.NewLayers(weir.By(clients, byAddr), weir.Global[visit](weir.New(weir.SlidingWindow(weir.PerHour(9)), weir.WithClock(clock))))
	for key := range 2 {
		require.True(t, clients.TakeAs(key, 50, weir.TokenBucket(weir.Per(100, 24*time.Hour))).Allowed)
	}
	require.False(t, layers.Peek(someoneOf(1, 1), 1).Allowed)
	clock.Advance(20 * time.Minute)
	require.Equal(t, clients.Peek(0, 1), clients.Peek(1, 1))
}
