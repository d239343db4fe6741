package weir_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"github.com/stretchr/testify/require"
)

// Whatever is asked for in whatever order: all is as the model has it, what remains is there and no more, a
// denial says when, and no span admits more than MaxWithin.
func TestMixKeepsEveryPromise(t *testing.T) {
	for name, c := range map[string]struct {
		keys, programs int
		verbs          []string
	}{
		"Limiter":                {0, 60, fewVerbs},
		"Limiter, changed":       {0, 80, allVerbs},
		"one client":             {1, 30, fewVerbs},
		"one client, changed":    {1, 80, allVerbs},
		"a few clients":          {3, 20, fewVerbs},
		"a few clients, changed": {3, 50, allVerbs},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range programs(uint64(c.programs)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					r := newMixRun(t, seed, c.keys)
					for range 40 {
						r.step(r.next(c.verbs...))
					}
					for _, a := range r.accounts {
						r.checkMaxWithin(a)
					}
				})
			}
		})
	}
}

// Reservations that are cancelled before their instants never were: weir goes on with them as the model does
// without.
func TestMixCancelledReservationsNeverWere(t *testing.T) {
	for seed := range programs(120) {
		r := newMixRun(t, seed+1<<30, int(seed%3))
		r.back, r.uncounted = false, true
		for range 40 {
			if r.oneIn(3) {
				r.reserveAndCancel()
			}
			r.run(1, "Take", "Take", "Take", "Peek", "Advance", "Reserve", "Cancel", "Settle", "Charge", "Refund")
		}
	}
}

// reserveAndCancel has weir make a few reservations that have to wait, lets some time go by, and cancels them
// in any order.
func (w *world) reserveAndCancel() {
	k := w.real.keys[w.draw(len(w.real.keys))]
	var made []receipt
	soonest := weir.Never
	for range 1 + w.draw(4) {
		n := w.nextN()
		if n <= 0 || k.Peek(n).Allowed {
			continue
		}
		r := k.Reserve(n, weir.Never)
		soonest, made = min(soonest, r.Delay()), append(made, r)
		w.program = append(w.program, op{verb: fmt.Sprintf("  reserved, to be cancelled, in %d:", r.Delay()), n: n})
	}
	if 0 < soonest && soonest < weir.Never && w.oneIn(2) {
		w.step(op{verb: "Advance", d: time.Duration(w.choose(int64(soonest)))})
	}
	for len(made) > 0 {
		i := w.draw(len(made))
		made[i].Cancel()
		made = slices.Delete(made, i, i+1)
	}
}

// Out of the middle of what a bucket is owed much is given back while most of it is outstanding still: time
// goes in small steps.
func TestMixSettlesInAnyOrder(t *testing.T) {
	for seed := range programs(200) {
		c := randomly(seed + 1<<43)
		p := weir.TokenBucket(weir.Per(1+int(c(12)), pick(c, 10*time.Second, 13*time.Second, 997)).WithBurst(5 + int(c(20))))
		if c.oneIn(4) {
			p = weir.All(p, chooseSmall(c))
		}
		w := newWorld(t, c, func(w *world) {
			if seed%2 == 0 {
				w.addLimiter(p, model.Options{})
			} else {
				w.addClients(p, model.Options{MaxClients: 100}, 1)
			}
		})
		for range 30 {
			w.step(op{verb: "Advance", d: time.Duration(c(int64(w.last.ResetAfter/4) + 2))})
			w.run(1, "Take", "Take", "Reserve", "Reserve", "Reserve", "Settle", "Settle", "Settle", "Settle", "Cancel", "Refund", "Charge")
		}
	}
}

// Who there is no place for is denied, or shares a state, or takes the place of another.
func TestMixOfMoreClientsThanThereMayBe(t *testing.T) {
	for seed := range programs(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := randomly(seed + 1<<41)
			p, o := newPolicy(c), model.Options{
				Shadow:     c.oneIn(8),
				MaxClients: 1 + int(c(3)),
				Overflow:   pick(c, weir.EvictFullest, weir.DenyNew, weir.ShareOverflow),
				StaleAfter: pick(c, 0, 0, time.Second),
			}
			w := newWorld(t, c, func(w *world) { w.addClients(p, o, 5) })
			w.back = c.oneIn(2)
			w.run(40, allVerbs...)
		})
	}
}

// With the system's clock a bucket alone is another state, without a lock.
func TestMixOnTheSystemClock(t *testing.T) {
	for seed := range programs(80) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := randomly(seed + 1<<42)
			p, o := newPolicy(c), model.Options{
				Shadow:     c.oneIn(8),
				MaxClients: pick(c, 0, 2, 100),
				Overflow:   pick(c, weir.EvictFullest, weir.DenyNew, weir.ShareOverflow),
			}
			if c.oneIn(2) {
				p = weir.TokenBucket(chooseLimit(c, true))
			}
			inBubble(t, c, func(w *world) {
				w.addLimiter(p, o)
				w.addClients(p, o, 3)
			}, func(w *world) { w.run(40, allVerbs...) })
		})
	}
}

// Reservations of a limit of decades: what is ahead of now is more than a word of eighths of a
// nanosecond tells apart.
func TestMixDecadesAhead(t *testing.T) {
	clock := weir.NewManualClock()
	limiter := weir.New(weir.TokenBucket(weir.Per(3, 29*year)), weir.WithClock(clock))
	require.True(t, limiter.AllowN(3))
	for range 3 {
		require.True(t, limiter.Reserve(1).OK())
	}
	clock.Advance(29*year - time.Second)
	require.Equal(t, 29*year+time.Second, limiter.Reserve(3).Delay())
	require.Equal(t, 29*year+29*year/3+time.Second, limiter.Peek(1).RetryAfter)
	require.False(t, limiter.Allow())
	require.Zero(t, limiter.Tokens())
}
