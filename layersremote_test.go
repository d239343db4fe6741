package weir_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// farAway is a store of somebody else's: a limiter here, that may fail, and has time for mischief before it answers.
type farAway struct {
	*weir.Limiter
	fails    error
	no       bool // it does not apply
	meantime func()
	ctxErr   error // of the context of the last refund, then
}

func (f *farAway) layer() weir.Layer[visit] {
	answer := func(ask func(int) weir.Decision) func(context.Context, visit, int) (weir.Decision, error) {
		return func(_ context.Context, _ visit, n int) (weir.Decision, error) {
			if f.meantime != nil {
				f.meantime()
			}
			if f.fails != nil {
				return weir.Decision{Allowed: true, Remaining: 5}, f.fails
			}
			return ask(n), nil
		}
	}
	remote := weir.Remote[visit]{Take: answer(f.Take), Peek: answer(f.Peek), Refund: func(ctx context.Context, _ visit, n int) error {
		f.ctxErr = ctx.Err()
		f.Limiter.Refund(n)
		return nil
	}}
	return weir.ByRemote(remote, func(v visit) (visit, bool) { return v, !f.no })
}

func newFarAway(perHour int, name string, clock weir.Clock) *farAway {
	return &farAway{Limiter: weir.New(weir.TokenBucket(weir.PerHour(perHour)).Named(name), weir.WithClock(clock))}
}

func TestRemoteLayersAreChargedLastAndGiveBack(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		onClocks(t, func(t *testing.T, clock bench) {
			near, whole := newClients[int](t, k.policy, clock), weir.New(weir.TokenBucket(weir.PerHour(1000)), weir.WithClock(clock))
			first, second := newFarAway(100, "first", clock), newFarAway(100, "second", clock)
			layers := weir.NewLayers(first.layer(), weir.By(near, byAddr), second.layer(), weir.Global[visit](whole))
			require.Equal(t, near.Peek(1, 1), layers.Take(someone, 1), "the least is left here")
			require.Equal(t, []int{99, 99, 999}, []int{first.Tokens(), second.Tokens(), whole.Tokens()})
			near.Reset(1)
			used, before := near.Peek(1, 0), near.Stats()
			same := func(why string) {
				t.Helper()
				require.Equal(t, used, near.Peek(1, 0), why)
				require.Equal(t, before, near.Stats(), why)
				require.Equal(t, 999, whole.Tokens(), why)
				require.Equal(t, uint64(1), whole.Stats().Allowed, why)
				require.Equal(t, 99, first.Tokens(), why)
			}

			require.True(t, second.AllowN(99))
			peeked := layers.Peek(someone, 1)
			d, err := layers.TakeContext(t.Context(), someone, 1)
			require.NoError(t, err)
			require.Equal(t, peeked, d)
			require.Equal(t, weir.Decision{RetryAfter: 36 * sec, Policy: "second", Limit: 100, ResetAfter: time.Hour}, d)
			before.Clients = near.Len() // it may be held, full
			same("the second denies")
			require.NoError(t, first.ctxErr)

			second.fails = errors.New("no answer")
			ctx, cancel := context.WithCancel(t.Context())
			second.meantime = cancel
			d, err = layers.TakeContext(ctx, someone, 1)
			require.ErrorIs(t, err, second.fails)
			require.Zero(t, d)
			require.NoError(t, first.ctxErr, "it is to give back all the same")
			same("the second fails")
			require.False(t, layers.Take(someone, 1).Allowed, "an error is no permission")
			require.False(t, layers.Allow(someone))
			same("the second still fails")

			_, err = layers.TakeContext(ctx, someone, 1)
			require.ErrorIs(t, err, context.Canceled)
			same("nobody was asked")
			second.no = true
			second.fails = nil
			require.True(t, layers.Allow(someone), "it does not apply")
			require.Equal(t, []int{98, 0, 998}, []int{first.Tokens(), second.Tokens(), whole.Tokens()})
			second.meantime = func() { t.Error("asked although one before has denied") }
			drain(func() bool { return near.Allow(1) })
			require.Equal(t, near.Peek(1, 1).RetryAfter, layers.Take(someone, 1).RetryAfter)
		})
	})
}

func TestLayersWithoutRemoteOnesObeyTheContext(t *testing.T) {
	limiter := weir.New(weir.TokenBucket(weir.PerHour(5)))
	layers := weir.NewLayers(weir.Global[visit](limiter))
	d, err := layers.TakeContext(t.Context(), someone, 2)
	require.NoError(t, err)
	require.Equal(t, 3, d.Remaining)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, err = layers.TakeContext(ctx, someone, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, d)
	require.Equal(t, 3, limiter.Tokens())
	require.Equal(t, [3]uint64{1, 0, 0}, counted(limiter.Stats()))
}

// Of local and remote ones the same binds as of local ones alone.
func TestRemoteLayersBindAsOthersDo(t *testing.T) {
	clock := weir.NewManualClock()
	bucket := func(perHour int, opts ...weir.Option) *weir.Limiter {
		return weir.New(weir.TokenBucket(weir.PerHour(perHour)).Named(fmt.Sprint("near ", perHour)), append(opts, weir.WithClock(clock))...)
	}
	both := func(t *testing.T, near weir.Layer[visit], far weir.Layer[visit], v visit, n int) weir.Decision {
		layers := weir.NewLayers(far, near)
		peeked := layers.Peek(v, n)
		d, err := layers.TakeContext(t.Context(), v, n)
		require.NoError(t, err)
		require.Equal(t, peeked, d)
		return d
	}
	for _, test := range []struct {
		name      string
		near, far int
		n         int
		remaining int
		policy    string
	}{
		{"the least is near", 10, 20, 4, 6, "near 10"},
		{"the least is far", 20, 10, 4, 6, "far"},
		{"equal", 10, 10, 4, 6, "near 10"},
		{"never here", 10, 20, 15, 10, "near 10"},
		{"never there", 20, 10, 15, 10, "far"},
		{"nothing to ask for", 10, 20, 0, 10, "near 10"},
		{"less than nothing", 10, 20, -1, 10, "near 10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := both(t, weir.Global[visit](bucket(test.near)), newFarAway(test.far, "far", clock).layer(), someone, test.n)
			require.Equal(t, test.remaining, d.Remaining)
			require.Equal(t, test.policy, d.Policy)
		})
	}
	t.Run("both deny", func(t *testing.T) {
		near, far := bucket(20), newFarAway(10, "far", clock)
		near.AllowN(20)
		far.AllowN(10)
		require.Equal(t, weir.Decision{RetryAfter: 3 * time.Minute, Policy: "near 20", Limit: 20, ResetAfter: time.Hour},
			both(t, weir.Global[visit](near), far.layer(), someone, 1), "the other is not even asked")
	})
	t.Run("with a cost of its own", func(t *testing.T) {
		far := newFarAway(40, "far", clock)
		d := both(t, weir.Global[visit](bucket(30)), far.layer().WithCost(bySize), visit{size: 20}, 1)
		require.Equal(t, 29, d.Remaining, "20 more of the other unit are there for one more")
		require.Equal(t, "near 30", d.Policy)
		require.Equal(t, 20, far.Tokens())
		require.Zero(t, both(t, weir.Global[visit](bucket(30)), far.layer().WithCost(bySize), visit{size: 15}, 1).Remaining)
	})
	t.Run("in the shadow", func(t *testing.T) {
		trial := bucket(7, weir.WithShadow())
		trial.AllowN(7)
		d := both(t, weir.Global[visit](trial), newFarAway(40, "far", clock).layer(), someone, 1)
		require.True(t, d.Shadowed)
		require.Equal(t, "near 7", d.Policy)
		require.Equal(t, 39, d.Remaining)
		require.Positive(t, d.RetryAfter)
	})
	t.Run("nothing else applies", func(t *testing.T) {
		nobody := weir.By(newClients[int](t, weir.SlidingWindow(weir.PerHour(1)), clock), func(visit) (int, bool) { return 0, false })
		require.Equal(t, 4, both(t, nobody, newFarAway(5, "far", clock).layer(), someone, 1).Remaining)
		gone := newFarAway(5, "far", clock)
		gone.no = true
		require.False(t, both(t, nobody, gone.layer(), someone, -1).Allowed)
		require.True(t, both(t, nobody, gone.layer(), someone, 1).Allowed)
	})
}

// What is given back is what the model's receipt gives back, whatever happens between.
func TestRemoteLayersGiveBackExactly(t *testing.T) {
	for seed := range programs(50) {
		c := randomly(seed + 5000)
		p, keys := newPolicy(c), pick(c, 0, 1, 1)
		var near weir.Layer[visit]
		w := newWorld(t, c, func(w *world) { near, _ = w.addLayerOf(p, false, keys)(func(visit) (int, bool) { return 0, true }) })
		far := &farAway{Limiter: weir.New(weir.TokenBucket(weir.Limit{}))} // it always denies
		layers := weir.NewLayers(near, far.layer())
		real, model := w.real.keys[0], w.model.keys[0]
		for range 25 {
			n := w.nextN()
			var program []op
			for range c(4) {
				program = append(program, w.next("Take", "Take", "Charge", "Refund", "Reserve", "Advance", "SetPolicy", "TakeAs"))
			}
			run := func(s *side) {
				for _, o := range program {
					if o.verb == "Advance" {
						w.move(w.now() + int64(o.d))
					} else {
						s.do(o)
					}
				}
			}
			w.program = append(append(w.program, op{verb: "take and give back, and meanwhile:", n: n}), program...)
			began := w.now()
			far.meantime = func() { run(&w.real) }
			admitted := model.Peek(n).Allowed
			layers.Take(visit{}, n)
			if w.move(began); admitted {
				receipt := model.Reserve(n, 0)
				run(&w.model)
				receipt.Settle(0)
			} else {
				model.Take(n) // which remembers that it denied
			}
			w.same("afterwards", real.Peek(1), model.Peek(1))
			w.step(op{verb: "Advance", d: min(w.nextStep(), 24*time.Hour)})
			w.step(op{verb: "Take", n: 1})
		}
	}
}

// remoteOf is a store that gives nothing back, and is decided by take alone.
func remoteOf[K comparable](take func(context.Context, K, int) (weir.Decision, error)) weir.Remote[K] {
	if take == nil {
		take = func(context.Context, K, int) (weir.Decision, error) { return weir.Decision{}, nil }
	}
	return weir.Remote[K]{Take: take, Peek: take, Refund: func(context.Context, K, int) error { return nil }}
}

// heldUp is a remote layer that keeps who asks waiting until it is told what to answer.
type heldUp struct{ asked, answer chan bool }

// Several are charged here and wait for the store, in whatever order it then answers them.
func TestRemoteLayersGiveBackInAnyOrder(t *testing.T) {
	for _, mix := range loadMixes(40, 40, 40) {
		onClocks(t, func(t *testing.T, clock bench) {
			for seed := range programs(60) {
				c := randomly(seed + 6000)
				whole, one := weir.New(mix.whole, weir.WithClock(clock)), newClients[int](t, mix.addr, clock)
				layers := weir.NewLayers(weir.Global[heldUp](whole), weir.By(one, func(heldUp) (int, bool) { return 0, true }),
					weir.ByRemote(remoteOf(func(_ context.Context, h heldUp, _ int) (weir.Decision, error) {
						h.asked <- true
						return weir.Decision{Allowed: <-h.answer}, nil
					}), func(h heldUp) (heldUp, bool) { return h, true }))
				var waiting []heldUp
				admitted, history := 0, ""
				settle := func(i int, yes bool) {
					h := waiting[i]
					history += fmt.Sprintf("answer %d of %d: %v; ", i, len(waiting), yes)
					waiting = append(waiting[:i:i], waiting[i+1:]...)
					h.answer <- yes
					if <-h.asked; yes {
						admitted++
					}
				}
				for range 30 {
					switch c(4) {
					case 0, 1:
						h := heldUp{make(chan bool), make(chan bool)}
						history += "take; "
						go func() {
							layers.Take(h, 1)
							h.asked <- false
						}()
						if <-h.asked {
							waiting = append(waiting, h)
						}
					case 2:
						if n := len(waiting); n > 0 {
							settle(int(c(int64(n))), c.oneIn(3))
						}
					case 3:
						history += "1 ms; "
						clock.advance(ms)
					}
				}
				for len(waiting) > 0 {
					settle(int(c(int64(len(waiting)))), c.oneIn(3))
				}
				require.Equal(t, [2]int{40 - admitted, 40 - admitted}, [2]int{whole.Tokens(), one.Tokens(0)}, "%s, seed %d: %s", mix.name, seed, history)
			}
		})
	}
}

// A store that panics leaves nothing charged.
func TestARemoteLayerThatPanicsTakesNothing(t *testing.T) {
	clock := weir.NewManualClock()
	near := weir.New(weir.SlidingWindow(weir.PerHour(10)), weir.WithClock(clock))
	first := newFarAway(10, "first", clock)
	second := newFarAway(10, "second", clock)
	second.meantime = func() { panic("the store") }
	layers := weir.NewLayers(first.layer(), second.layer(), weir.Global[visit](near))
	require.PanicsWithValue(t, "the store", func() { layers.Take(someone, 3) })
	require.Equal(t, []int{10, 10, 10}, []int{near.Tokens(), first.Tokens(), second.Tokens()})
	require.Equal(t, [3]uint64{}, counted(near.Stats()))
	second.meantime = nil
	require.True(t, layers.Allow(someone))
}

func newStore(d weir.Decision, refund func(context.Context, int) error) weir.Layer[visit] {
	store := remoteOf(func(context.Context, int, int) (weir.Decision, error) { return d, nil })
	store.Refund = func(ctx context.Context, _ int, n int) error { return refund(ctx, n) }
	return weir.ByRemote(store, byAddr)
}

// A denial stays one, though a store cannot be given back what it took.
func TestARefundThatFailsIsNoError(t *testing.T) {
	lost := func(context.Context, int) error { return errors.New("lost") }
	layers := weir.NewLayers(newStore(weir.Decision{Allowed: true, Remaining: 9}, lost), newStore(weir.Decision{RetryAfter: sec, Policy: "b"}, lost))
	d, err := layers.TakeContext(t.Context(), someone, 1)
	require.NoError(t, err)
	require.Equal(t, weir.Decision{RetryAfter: sec, Policy: "b"}, d)
}

// A store that does not answer holds nobody up for longer than a second when something is given back.
func TestARefundThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		}
		layers := weir.NewLayers(newStore(weir.Decision{Allowed: true}, hangs), newStore(weir.Decision{RetryAfter: sec}, hangs))
		began := time.Now()
		d, err := layers.TakeContext(t.Context(), someone, 1)
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Equal(t, time.Second, time.Since(began))

		layers = weir.NewLayers(newStore(weir.Decision{Allowed: true}, hangs))
		h, err := layers.Hold(t.Context(), someone, 1)
		require.NoError(t, err)
		require.ErrorIs(t, h.Settle(context.WithoutCancel(t.Context()), 0), context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// A store in shadow has taken nothing of what it would have denied.
func TestARemoteLayerInShadowIsGivenNothingBack(t *testing.T) {
	shadow := weir.Decision{Allowed: true, Shadowed: true, RetryAfter: time.Minute, Policy: "tried"}
	given := func(context.Context, int) error {
		t.Error("given back")
		return nil
	}
	clock := weir.NewManualClock()
	near := weir.New(weir.TokenBucket(weir.PerHour(5)).Named("near"), weir.WithClock(clock))
	layers := weir.NewLayers(newStore(shadow, given), weir.Global[visit](near))
	h, err := layers.Hold(t.Context(), someone, 1)
	require.NoError(t, err)
	require.True(t, h.Shadowed)
	require.Equal(t, "near", h.Enforced().Policy)
	require.NoError(t, h.Settle(t.Context(), 0))
	require.Equal(t, 5, near.Tokens())

	shadow.RetryAfter = 0 // which it does not say
	h, err = weir.NewLayers(newStore(shadow, given)).Hold(t.Context(), someone, 1)
	require.NoError(t, err)
	require.NoError(t, h.Settle(t.Context(), 7))
}

// What a fallback has let through was not taken where it would be given back.
func TestARemoteLayerThatFellBackIsGivenNothingBack(t *testing.T) {
	given := 0
	refund := func(_ context.Context, n int) error {
		given += n
		return nil
	}
	for _, fallback := range []bool{false, true} {
		given = 0
		open := weir.Decision{Allowed: true, Remaining: 9, Policy: "far", Limit: 10, Fallback: fallback}
		d, err := weir.NewLayers(newStore(open, refund), newStore(weir.Decision{RetryAfter: time.Second}, refund)).TakeContext(t.Context(), someone, 2)
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.False(t, d.Fallback)
		require.Equal(t, map[bool]int{false: 2, true: 0}[fallback], given)
		h, err := weir.NewLayers(newStore(open, refund)).Hold(t.Context(), someone, 3)
		require.NoError(t, err)
		require.Equal(t, open, h.Decision)
		require.NoError(t, h.Settle(t.Context(), 0))
		require.Equal(t, map[bool]int{false: 5, true: 0}[fallback], given)
	}
}

// The functions of a user that panic do so before anything is taken.
func TestAKeyThatPanicsTakesNothing(t *testing.T) {
	near := weir.New(weir.TokenBucket(weir.PerHour(5)), weir.WithClock(weir.NewManualClock()))
	store := remoteOf[int](nil)
	boom := func() int { panic("boom") }
	store.Policy = func() weir.Policy { panic("boom") }
	for _, layer := range []weir.Layer[visit]{
		weir.ByRemote(store, byAddr),
		weir.ByRemote(remoteOf[int](nil), func(visit) (int, bool) { return boom(), true }),
		weir.ByRemote(remoteOf[int](nil), byAddr).WithCost(func(visit) int { return boom() }),
	} {
		layers := weir.NewLayers(weir.Global[visit](near), layer)
		require.PanicsWithValue(t, "boom", func() { layers.Take(someone, 1) })
		require.Equal(t, 5, near.Tokens())
	}
}

func TestLayersOfNilArePanics(t *testing.T) {
	require.Equal(t, "weir: Global of a nil Limiter", panicText(t, func() { weir.Global[visit](nil) }))
	require.Contains(t, panicText(t, func() { weir.By(nil, byAddr) }), "one of them is nil")
	require.Contains(t, panicText(t, func() {
		weir.By[visit](weir.NewPerClient[int](weir.TokenBucket(weir.PerHour(1))), nil)
	}), "one of them is nil")
	require.Contains(t, panicText(t, func() { weir.ByRemote(weir.Remote[int]{}, byAddr) }), "one of them is nil")
}
