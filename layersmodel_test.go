package weir_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// visit is a request: whose it is, and how big. Nobody has a negative number.
type visit struct{ addr, user, size int }

func byAddr(v visit) (int, bool) { return v.addr, v.addr >= 0 }
func byUser(v visit) (int, bool) { return v.user, v.user >= 0 }
func bySize(v visit) int         { return v.size }

// layersTwin is a limiter that stands in layers, and one like it that is only ever asked directly.
type layersTwin struct {
	policy      weir.Policy
	shadow      bool
	keyed       bool
	layer       func(key func(visit) (int, bool)) weir.Layer[visit]
	real, plain func(key int) mixVerbs
	more        weir.Stats // what the layers counted that the plain one did not, below 0 if they did not
}

func newLayersTwin(t *testing.T, p weir.Policy, keyed bool, opts ...weir.Option) *layersTwin {
	opts = append(opts, weir.WithSweepEvery(0))
	twin := &layersTwin{policy: p, keyed: keyed}
	if !keyed {
		real, plain := weir.New(p, opts...), weir.New(p, opts...)
		twin.layer = func(func(visit) (int, bool)) weir.Layer[visit] { return weir.Global[visit](real) }
		twin.real = func(int) mixVerbs { return mixLimiter{real} }
		twin.plain = func(int) mixVerbs { return mixLimiter{plain} }
		return twin
	}
	real, plain := weir.NewPerClient[int](p, opts...), weir.NewPerClient[int](p, opts...)
	t.Cleanup(func() { _, _ = real.Close(), plain.Close() })
	twin.layer = func(key func(visit) (int, bool)) weir.Layer[visit] { return weir.By(real, key) }
	twin.real = func(key int) mixVerbs { return mixClient{real, key} }
	twin.plain = func(key int) mixVerbs { return mixClient{plain, key} }
	return twin
}

func (l *layersTwin) stats() weir.Stats {
	s := l.plain(0).Stats()
	s.Denied += l.more.Denied
	s.Shadowed += l.more.Shadowed
	return s
}

// layersModel says what layers have to answer, one layer after the other.
type layersModel struct {
	parts []modelLayer
}

type modelLayer struct {
	*layersTwin
	key  func(visit) (int, bool)
	cost func(visit) int
}

// modelAsk is a limiter and a key that a request has to pass.
type modelAsk struct {
	modelLayer
	key    int
	n      int
	perN   bool // some layer there costs the n of the call
	unit   int  // the greatest cost of those that have their own
	units  bool
	answer weir.Decision
	denied bool
}

func (m *layersModel) asks(v visit, n int) (asks []*modelAsk) {
	for _, part := range m.parts {
		key, applies := part.key(v)
		if !applies {
			continue
		}
		if !part.keyed {
			key = 0
		}
		var ask *modelAsk
		for _, other := range asks {
			if other.layersTwin == part.layersTwin && other.key == key {
				ask = other
			}
		}
		if ask == nil {
			ask = &modelAsk{modelLayer: part, key: key, n: math.MinInt, unit: math.MinInt}
			asks = append(asks, ask)
		}
		cost := n
		if part.cost == nil {
			ask.perN = true
		} else {
			ask.units, ask.unit = true, max(ask.unit, part.cost(v))
			if n > 0 {
				cost = part.cost(v)
			}
		}
		ask.n = max(ask.n, cost)
	}
	for _, ask := range asks {
		ask.answer = ask.plain(ask.key).Peek(ask.n)
		ask.denied = !ask.answer.Allowed || ask.answer.Shadowed
	}
	return asks
}

// left is the largest n that the layer would admit.
func (a *modelAsk) left() int {
	switch {
	case a.units && (a.unit < 0 && !a.perN || a.unit > a.answer.Remaining):
		return 0
	case a.perN:
		return a.answer.Remaining
	}
	return math.MaxInt
}

func (m *layersModel) decide(v visit, n int, consume bool) weir.Decision {
	asks := m.asks(v, n)
	if len(asks) == 0 && n < 0 {
		return weir.Decision{RetryAfter: weir.Never}
	}
	if len(asks) == 0 {
		return weir.Decision{Allowed: true, Remaining: math.MaxInt}
	}
	var denier, shadow *modelAsk
	var limiting []*modelAsk
	for _, a := range asks {
		switch {
		case a.denied && a.shadow && (shadow == nil || a.answer.RetryAfter > shadow.answer.RetryAfter):
			shadow = a
		case a.denied && !a.shadow && (denier == nil || a.answer.RetryAfter > denier.answer.RetryAfter):
			denier = a
		}
		if !a.shadow {
			limiting = append(limiting, a)
		}
	}
	if len(limiting) == 0 {
		limiting = asks
	}
	if denier != nil { // nothing is taken anywhere
		for _, a := range asks {
			a.answer.Remaining = a.plain(a.key).Peek(0).Remaining
		}
	}
	bound, perN := limiting[0], false
	for _, a := range limiting {
		if perN = perN || a.perN; a.left() < bound.left() {
			bound = a
		}
	}
	remaining := bound.left()
	if !perN && remaining == math.MaxInt { // each has a unit of its own
		for _, a := range limiting {
			if a.answer.Remaining < bound.answer.Remaining {
				bound = a
			}
		}
		remaining = bound.answer.Remaining
	}
	d := bound.answer
	switch {
	case denier != nil:
		d = denier.answer
	case shadow != nil:
		d = shadow.answer
	}
	d.Allowed, d.Shadowed, d.Remaining = denier == nil, denier == nil && shadow != nil, remaining
	if !consume {
		return d
	}
	if denier != nil {
		for _, a := range asks {
			if a.denied {
				before := a.plain(a.key).Stats()
				a.plain(a.key).AllowN(a.n) // each remembers that it denied
				after := a.plain(a.key).Stats()
				if a != denier { // which alone counts it
					a.more.Denied -= after.Denied - before.Denied
					a.more.Shadowed -= after.Shadowed - before.Shadowed
				}
			}
		}
		return d
	}
	for _, a := range asks {
		a.plain(a.key).AllowN(a.n)
	}
	return d
}

// layersRun is a random program on layers and on their model.
type layersRun struct {
	choose
	layers *weir.Layers[visit]
	model  layersModel
	twins  []*layersTwin
	leaves []*plainPolicy
	last   weir.Decision
}

func newLayersRun(t *testing.T, seed uint64, clock weir.Clock) *layersRun {
	r := &layersRun{choose: randomly(seed)}
	for range 3 {
		p := choosePolicy(r.choose, 2)
		if r.oneIn(3) {
			p = weir.TokenBucket(chooseLimit(r.choose, true)) // often one word
		}
		opts := []weir.Option{weir.WithClock(clock)}
		shadow := r.oneIn(5)
		if shadow {
			opts = append(opts, weir.WithShadow())
		}
		twin := newLayersTwin(t, p, !r.oneIn(3), opts...)
		twin.shadow = shadow
		r.twins = append(r.twins, twin)
		r.leaves = append(r.leaves, newPlainPolicy(p).leaves()...)
	}
	var layers []weir.Layer[visit]
	for range 1 + r.choose(5) {
		part := modelLayer{layersTwin: pick(r.choose, r.twins...), key: pick(r.choose, byAddr, byUser)}
		layer := part.layer(part.key)
		if !part.keyed {
			part.key = func(visit) (int, bool) { return 0, true }
		}
		if r.oneIn(4) {
			part.cost = bySize
			layer = layer.WithCost(bySize)
		}
		r.model.parts = append(r.model.parts, part)
		layers = append(layers, layer)
	}
	r.layers = weir.NewLayers(layers...)
	return r
}

// direct does the same to both of a twin, of somebody whose layers say nothing of it.
func (r *layersRun) direct() string {
	twin, key := pick(r.choose, r.twins...), int(r.choose(3))
	o := mixOp{
		verb: pick(r.choose, "Take", "Take", "TakeAs", "Charge", "Refund", "Reserve", "SetPolicy"), key: key,
		n: min(chooseN(r.choose, r.last, r.leaves), 1<<30), policy: choosePolicy(r.choose, 1),
	}
	if o.verb == "SetPolicy" {
		r.leaves = append(r.leaves, newPlainPolicy(o.policy).leaves()...)
	}
	for _, verbs := range []mixVerbs{twin.real(key), twin.plain(key)} {
		w := &mixWorld{keys: []mixVerbs{verbs, verbs, verbs}}
		w.do(o)
		if o.verb == "Reserve" && o.n%2 == 0 {
			w.receipts[0].Cancel()
		}
	}
	return o.String()
}

func (r *layersRun) step(where string) (said string, wrong string) {
	v := visit{int(r.choose(4)) - 1, int(r.choose(4)) - 1, chooseN(r.choose, r.last, r.leaves)}
	if r.oneIn(2) {
		v.size = int(r.choose(5)) - 1
	}
	n := chooseN(r.choose, r.last, r.leaves)
	said = fmt.Sprintf("%+v, %d", v, n)
	want, got := r.model.decide(v, n, false), r.layers.Peek(v, n)
	if want != got {
		return said, fmt.Sprintf("Peek says\n%+v and not\n%+v", got, want)
	}
	r.last = want
	switch r.choose(4) {
	case 0:
		want, got = r.model.decide(v, n, true), r.layers.Take(v, n)
	case 1:
		want = r.model.decide(v, n, true)
		var err error
		if got, err = r.layers.TakeContext(context.Background(), v, n); err != nil {
			return said, err.Error()
		}
	case 2:
		said += " Allow"
		want, got = weir.Decision{Allowed: r.model.decide(v, 1, true).Allowed}, weir.Decision{Allowed: r.layers.Allow(v)}
	default:
		return said + " only Peek", ""
	}
	if want != got {
		return said, fmt.Sprintf("it says\n%+v and not\n%+v", got, want)
	}
	return said, ""
}

func (r *layersRun) run(t *testing.T, now func() int64, moveTo func(int64), backwards bool) {
	var history []string
	const steps = 100
	for step := range steps {
		moveTo(chooseReading(r.choose, now(), r.last, r.leaves, backwards))
		var said, wrong string
		if r.oneIn(4) {
			said = r.direct()
		} else {
			said, wrong = r.step(said)
		}
		history = append(history, fmt.Sprintf("at %d: %s", now(), said))
		for i, twin := range r.twins {
			for key := range 3 {
				if got, want := twin.real(key).Peek(1), twin.plain(key).Peek(1); wrong == "" && got != want {
					wrong = fmt.Sprintf("limiter %d, key %d: it is left with\n%+v and not\n%+v", i, key, got, want)
				}
			}
			if step%10 > 0 { // it looks at all shards
				continue
			}
			got, want := twin.real(0).Stats(), twin.stats()
			if backwards { // what has been seen to come is not undone, and they have been asked at different instants
				got.Waiting, want.Waiting = 0, 0
			}
			if wrong == "" && got != want {
				wrong = fmt.Sprintf("limiter %d counted\n%+v and not\n%+v", i, got, want)
			}
		}
		if wrong != "" {
			for i, twin := range r.twins {
				t.Logf("limiter %d: keyed %v, shadow %v, %v", i, twin.keyed, twin.shadow, twin.policy)
			}
			for _, part := range r.model.parts {
				for i := range r.twins {
					if r.twins[i] == part.layersTwin {
						addr, _ := part.key(visit{addr: 1, user: 2})
						t.Logf("layer of limiter %d, key %d, cost %v", i, addr, part.cost != nil)
					}
				}
			}
			for _, line := range history[max(0, len(history)-12):] {
				t.Log(line)
			}
			t.Fatal(wrong)
		}
	}
}

func TestLayersAnswerAsTheirLimitersDoOneByOne(t *testing.T) {
	for seed := range programs(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			clock := &setClock{now: int64(seed%3) * 1_700_000_000_000_000_000}
			newLayersRun(t, seed, clock).run(t, func() int64 { return clock.now }, func(to int64) { clock.now = to }, seed%2 == 0)
		})
	}
}

func TestLayersAnswerAsTheirLimitersDoOneByOne_SystemClock(t *testing.T) {
	for seed := range programs(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := func() int64 { return time.Now().UnixNano() }
				newLayersRun(t, 1000+seed, weir.SystemClock()).run(t, now, func(to int64) { time.Sleep(time.Duration(to - now())) }, false)
			})
		})
	}
}
