package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// holdWorld is some layers of every kind: one by a cost of its own, and one in shadow that denies most.
type holdWorld struct {
	clients *weir.PerClient[int]
	sizes   *weir.PerClient[int]
	whole   *weir.Limiter
	shadow  *weir.Limiter
	layers  *weir.Layers[visit]
}

func newHoldWorld(t *testing.T, p weir.Policy, clock weir.Clock) holdWorld {
	w := holdWorld{
		clients: newClients[int](t, p, clock),
		sizes:   newClients[int](t, weir.TokenBucket(weir.PerHour(1000)), clock),
		whole:   weir.New(weir.SlidingWindow(weir.PerHour(1000)), weir.WithClock(clock)),
		shadow:  weir.New(weir.TokenBucket(weir.PerHour(1)), weir.WithClock(clock), weir.WithShadow()),
	}
	w.layers = weir.NewLayers(weir.By(w.clients, byAddr), weir.By(w.sizes, byUser).WithCost(bySize),
		weir.Global[visit](w.whole), weir.Global[visit](w.shadow))
	return w
}

func (w holdWorld) peek() []weir.Decision {
	return []weir.Decision{w.clients.Peek(1, 1), w.sizes.Peek(2, 1), w.whole.Peek(1), w.shadow.Peek(1)}
}

// What was held and settled at one instant is what a Take of the actual cost takes.
func TestAHoldSettlesToWhatTheCallWouldHaveTaken(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			for _, n := range []int{0, 1, k.perTake} {
				for _, actual := range []int{0, 1, k.perTake / 2, k.perTake} {
					if k.atOnce > k.perTake && actual != n && actual != 0 {
						continue // the part that pays n would not be the one that pays this
					}
					held, taken := newHoldWorld(t, k.policy, clock), newHoldWorld(t, k.policy, clock)
					held.shadow.Charge(1)
					taken.shadow.Charge(1)
					h, err := held.layers.Hold(t.Context(), someone, n)
					require.NoError(t, err)
					require.Equal(t, taken.layers.Peek(someone, n).Allowed, h.Allowed)
					require.NoError(t, h.Settle(t.Context(), actual))
					taken.layers.Take(someone, actual)
					require.Equal(t, taken.peek()[:3], held.peek()[:3], "%d settled to %d", n, actual)
					if n > 0 {
						require.Equal(t, taken.peek()[3], held.peek()[3], "it was in debt and did not charge")
					}
					copied := h
					require.NoError(t, copied.Settle(t.Context(), 0))
					require.Equal(t, taken.peek()[:3], held.peek()[:3], "only the first call counts")
				}
			}
		})
	})
}

// A hold is a Reservation in each layer, also when time and others go between.
func TestAHoldSettlesAsReservationsDo(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			held, reserved := newHoldWorld(t, k.policy, clock), newHoldWorld(t, k.policy, clock)
			h, err := held.layers.Hold(t.Context(), someone, 1)
			require.NoError(t, err)
			require.True(t, h.Allowed)
			one, three, all := reserved.clients.Reserve(1, 1), reserved.sizes.Reserve(2, 3), reserved.whole.Reserve(1)
			reserved.shadow.Allow()

			clock.advance(3 * time.Second)
			held.layers.Allow(someone)
			reserved.layers.Allow(someone)
			require.Equal(t, reserved.peek(), held.peek())
			require.NoError(t, h.Settle(t.Context(), 0))
			one.Settle(0)
			three.Settle(0)
			all.Settle(0)
			reserved.shadow.Refund(1) // as it is said to
			require.Equal(t, reserved.peek()[:3], held.peek()[:3])
		})
	})
}

func TestAHoldThatIsDeniedHoldsNothing(t *testing.T) {
	clock := weir.NewManualClock()
	w := newHoldWorld(t, weir.TokenBucket(weir.PerHour(2)), clock)
	require.True(t, w.layers.Take(someone, 2).Allowed)
	before := w.peek()
	h, err := w.layers.Hold(t.Context(), someone, 1)
	require.NoError(t, err)
	require.False(t, h.Allowed)
	require.Equal(t, 30*time.Minute, h.RetryAfter)
	require.NoError(t, h.Settle(t.Context(), 7))
	require.Equal(t, before, w.peek())

	require.NoError(t, weir.Hold{}.Settle(t.Context(), 7))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h, err = w.layers.Hold(ctx, someoneOf(5, 5), 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, h)
	require.Equal(t, before, w.peek())
}

// Many hold and settle to nothing, from many goroutines, each twice: nothing is used in the end, and at no
// time were more admitted than there were.
func TestHoldsUnderLoadKeepCount(t *testing.T) {
	clock := weir.NewManualClock()
	w := newHoldWorld(t, weir.SlidingWindow(weir.PerHour(5)), clock)
	before := w.peek()[:3]
	var wg sync.WaitGroup
	var mu sync.Mutex
	under, most := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 200 {
				h, _ := w.layers.Hold(context.Background(), someone, 1)
				if !h.Allowed {
					continue
				}
				mu.Lock()
				under++
				most = max(most, under)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				under--
				mu.Unlock()
				var both sync.WaitGroup
				both.Go(func() { _ = h.Settle(context.Background(), 0) })
				_ = h.Settle(context.Background(), 0)
				both.Wait()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most, 5)
	require.Equal(t, before, w.peek()[:3])
}

func TestAHoldSettlesRemoteLayers(t *testing.T) {
	clock := weir.NewManualClock()
	near := weir.New(weir.TokenBucket(weir.PerHour(10)), weir.WithClock(clock))
	first, second := newFarAway(10, "first", clock), newFarAway(10, "second", clock)
	layers := weir.NewLayers(weir.Global[visit](near), first.layer(), second.layer().WithCost(bySize))
	left := func() []int { return []int{near.Tokens(), first.Tokens(), second.Tokens()} }
	for _, c := range []struct {
		n, actual int
		left      []int
	}{{2, 2, []int{8, 8, 7}}, {2, 1, []int{9, 9, 7}}, {2, 0, []int{10, 10, 10}}, {2, 5, []int{5, 5, 7}},
		{0, 0, []int{10, 10, 10}}, {0, 4, []int{6, 6, 7}}, {2, 12, []int{-2, 8, 7}}, {2, -3, []int{10, 10, 10}}} {
		t.Run(fmt.Sprint(c.n, " to ", c.actual), func(t *testing.T) {
			near.Reset()
			first.Reset()
			second.Reset()
			h, err := layers.Hold(t.Context(), someone, c.n)
			require.NoError(t, err)
			require.NoError(t, h.Settle(t.Context(), c.actual))
			if c.left[0] < 0 { // it is owed
				require.Equal(t, time.Duration(1-c.left[0])*6*time.Minute, near.Peek(1).RetryAfter)
				c.left[0] = 0
			}
			require.Equal(t, c.left, left())
		})
	}

	near.Reset()
	h, err := layers.Hold(t.Context(), someone, 2)
	require.NoError(t, err)
	first.fails = errors.New("no answer")
	require.ErrorIs(t, h.Settle(t.Context(), 4), first.fails)
	require.Equal(t, 6, near.Tokens(), "the others are settled all the same")
}

func TestAVerdictTellsThePoliciesThatApply(t *testing.T) {
	named := func(name string) weir.Policy { return weir.TokenBucket(weir.PerHour(10)).Named(name) }
	whole, quiet := weir.New(named("whole")), weir.New(named("quiet"), weir.WithShadow())
	addrs, users := weir.NewPerClient[int](named("addr")), weir.NewPerClient[int](named("user"))
	itself := func(v visit) (visit, bool) { return v, true }
	far := remoteOf(func(context.Context, visit, int) (weir.Decision, error) {
		return weir.Decision{Allowed: true, Remaining: 100}, nil
	})
	told := far
	told.Policy = func() weir.Policy { return named("far") }
	layers := weir.NewLayers(weir.ByRemote(far, itself), weir.Global[visit](whole), weir.Global[visit](quiet),
		weir.By(addrs, byAddr), weir.By(users, byUser), weir.ByRemote(told, itself))

	names := func(r visit) (names []string) {
		v, err := layers.Decide(t.Context(), r, 1)
		require.NoError(t, err)
		for _, p := range v.AppendPolicies(nil) {
			names = append(names, p.Name())
		}
		return names
	}
	require.Equal(t, []string{"whole", "addr", "user", "far"}, names(someone))
	require.Equal(t, []string{"whole", "user", "far"}, names(someoneOf(-1, 2)))
	require.NoError(t, whole.SetPolicy(named("everybody")))
	require.Equal(t, []string{"everybody", "addr", "far"}, names(someoneOf(1, -1)))
	require.True(t, whole.AllowN(whole.Tokens()))
	require.Equal(t, []string{"everybody", "addr", "user", "far"}, names(someone), "also if one denies before")

	var six []weir.Layer[visit]
	for i := range 6 {
		six = append(six, weir.Global[visit](weir.New(named(fmt.Sprint(i)))))
	}
	layers = weir.NewLayers(six...)
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, names(someone))
	v, err := layers.Decide(t.Context(), someone, 1)
	require.NoError(t, err)
	again, err := layers.Decide(t.Context(), someone, 1)
	require.NoError(t, err)
	require.Equal(t, 7, again.Remaining)
	require.True(t, v.AppendPolicies(nil)[3] == again.AppendPolicies(nil)[3], "identical")
}

func TestLayersTellTheKeys(t *testing.T) {
	p := weir.TokenBucket(weir.PerHour(1))
	layers := weir.NewLayers(weir.By(weir.NewPerClient[int](p), byAddr), weir.Global[visit](weir.New(p)), weir.By(weir.NewPerClient[int](p), byUser),
		weir.ByRemote(remoteOf[string](nil), func(v visit) (string, bool) { return fmt.Sprint(v.size), v.size > 0 }))
	require.Equal(t, []any{1, nil, 2, "3"}, layers.Keys(someone))
	require.Equal(t, []any{nil, 2}, layers.Keys(someoneOf(-1, 2)))
}

func TestDecideAllocatesNothing(t *testing.T) {
	clock := weir.NewManualClock()
	w := newHoldWorld(t, weir.TokenBucket(weir.PerHour(1_000_000)), clock)
	require.NoError(t, w.shadow.SetPolicy(weir.TokenBucket(weir.PerHour(1_000_000))))
	ctx := t.Context()
	var policies [4]weir.Policy
	require.Zero(t, testing.AllocsPerRun(100, func() {
		v, err := w.layers.Decide(ctx, someone, 1)
		if err != nil || len(v.AppendPolicies(policies[:0])) != 3 {
			t.Error(v, err)
		}
	}))
}

// What clients are told is what was decided without the layers in shadow.
func TestAVerdictTellsWhatIsEnforced(t *testing.T) {
	clock := weir.NewManualClock()
	limiter := func(name string, perHour int, opts ...weir.Option) weir.Layer[visit] {
		return weir.Global[visit](weir.New(weir.TokenBucket(weir.PerHour(perHour)).Named(name), append(opts, weir.WithClock(clock))...))
	}
	decide := func(n int, layers ...weir.Layer[visit]) weir.Verdict {
		v, err := weir.NewLayers(layers...).Decide(t.Context(), someone, n)
		require.NoError(t, err)
		return v
	}
	unlimited := weir.Decision{Allowed: true, Remaining: math.MaxInt}
	real, quiet := limiter("real", 5), limiter("quiet", 1, weir.WithShadow())

	v := decide(1, real, quiet)
	require.Equal(t, "real", v.Policy)
	require.Equal(t, v.Decision, v.Enforced())
	v = decide(2, real, quiet)
	require.True(t, v.Shadowed)
	require.Equal(t, "quiet", v.Policy)
	require.Equal(t, weir.Decision{Allowed: true, Remaining: 2, Policy: "real", Limit: 5, ResetAfter: 36 * time.Minute}, v.Enforced())
	v = decide(3, real, quiet)
	require.False(t, v.Allowed)
	require.Equal(t, "real", v.Enforced().Policy)

	for _, layers := range [][]weir.Layer[visit]{{limiter("one", 1, weir.WithShadow())}, {limiter("two", 1, weir.WithShadow()), quiet}} {
		for range 2 {
			v = decide(1, layers...)
			require.NotEmpty(t, v.Policy)
			require.Equal(t, unlimited, v.Enforced())
			require.Empty(t, v.AppendPolicies(nil))
		}
	}
	far := newFarAway(2, "far", clock).layer()
	v = decide(1, quiet, far)
	require.Equal(t, "quiet", v.Policy)
	require.Equal(t, "far", v.Enforced().Policy)
	require.Equal(t, 1, v.Enforced().Remaining)
}
