package weir

import (
	"context"
	"math"
)

// A Layer is one of several limits that a request of type R has to pass: a
// limiter, what a request's key in it is, and what it costs there. It is an
// immutable value. Make one with Global, By or ByRemote.
type Layer[R any] struct {
	limiter any // as it was given
	cell    *cell
	clients *clients
	core    *core
	key     func(R) (any, bool)    // nil for a Limiter
	hash    func(R) (uint64, bool) // of the key; likewise
	cost    func(R) int            // nil for the n of the call
	tell    func(R, int, Decision) // whoever watches the limiter of a denial
	remote  *remote                // instead of all but key and cost
}

// Global returns the layer of a limiter that all requests share.
func Global[R any](l *Limiter) Layer[R] {
	if l == nil {
		panic("weir: Global of a nil Limiter")
	}
	return Layer[R]{limiter: l, cell: &l.cell, core: &l.core, tell: func(_ R, n int, d Decision) { l.tell(n, d) }}
}

// By returns the layer of a limiter per client. key says who the client of a
// request is; with false the layer does not apply to it.
func By[R any, K comparable](c *PerClient[K], key func(R) (K, bool)) Layer[R] {
	if c == nil || key == nil {
		panic("weir: By needs a PerClient and a key function, and one of them is nil")
	}
	return Layer[R]{
		limiter: c,
		clients: c.clients,
		core:    &c.clients.core,
		key:     func(r R) (any, bool) { return key(r) },
		hash: func(r R) (uint64, bool) {
			k, ok := key(r)
			if !ok {
				return 0, false
			}
			return c.hash(k), true
		},
		tell: func(r R, n int, d Decision) {
			if k, ok := key(r); ok {
				c.tell(k, n, d)
			}
		},
	}
}

// WithCost returns the layer with what a request costs there: tokens, bytes,
// rows. Without it, that is the n of the call. A cost of 0 takes nothing, a
// negative one is denied for ever.
func (l Layer[R]) WithCost(cost func(R) int) Layer[R] {
	l.cost = cost
	return l
}

// Layers are several limits that a request has to pass, each with a key of its
// own, decided together: all of them are charged, or none. It is safe for
// concurrent use.
//
// Each layer is asked before any is charged. If one is used up by others in
// between, what was charged already is given back exactly. Where two layers name
// the same limiter and key it is charged once, by the greater cost. A layer
// counts as Allowed what all of them allowed, and as Denied what it was the one to
// deny. One with WithShadow denies nobody.
type Layers[R any] struct {
	layers   []Layer[R]
	remotes  []Layer[R]
	alone    bool // there is but one, which decides as it does without the others
	shadowed bool // one is in shadow
}

// NewLayers returns the layers. Without any, all is allowed. It panics if one of
// them was not made by Global, By or ByRemote.
func NewLayers[R any](layers ...Layer[R]) *Layers[R] {
	l := &Layers[R]{}
	for _, layer := range layers {
		switch {
		case layer.remote != nil:
			l.remotes = append(l.remotes, layer)
		case layer.core != nil:
			l.layers = append(l.layers, layer)
			l.shadowed = l.shadowed || layer.core.shadow
		default:
			panic("weir: NewLayers with the zero Layer: make one with Global, By or ByRemote")
		}
	}
	l.alone = len(l.layers) == 1 && len(l.remotes) == 0 && l.layers[0].cost == nil
	return l
}

// Allow reports whether one more request is allowed now by all layers, and
// consumes one in each if so, or what it costs there.
func (l *Layers[R]) Allow(r R) bool {
	if len(l.remotes) > 0 {
		return l.Take(r, 1).Allowed
	}
	return l.take(r, 1, nil)
}

// Take consumes n in each layer, or what a request costs there, or nothing
// anywhere. Of the Decision, Policy, Limit, ResetAfter and RetryAfter are those
// of the layer that binds, as in All. Remaining is the largest n that all would
// admit; where every layer has a cost of its own, the least that is left in one.
// If a remote layer fails it denies; to tell that apart, use TakeContext.
func (l *Layers[R]) Take(r R, n int) (d Decision) {
	if len(l.remotes) == 0 {
		l.take(r, n, &d)
		return d
	}
	d, _ = l.TakeContext(context.Background(), r, n)
	return d
}

// Peek returns what Take(r, n) would. It consumes nothing and counts nothing.
func (l *Layers[R]) Peek(r R, n int) Decision {
	var space [fewLayers]asked
	var told [fewLayers]Decision
	all := l.ask(r, n, space[:0])
	answers := all.answers(told[:0])
	if denied := all.look(answers, true); denied >= 0 {
		return all.answer(answers, denied)
	}
	near := len(all)
	all, answers, err := all.call(l.calls(r, n), answers, func(c *call) (Decision, error) {
		return c.remote.peek(context.Background(), c.key, c.n)
	})
	switch {
	case err != nil:
		return Decision{}
	case len(all) == 0:
		var d Decision
		unlimited(n, &d)
		return d
	case all.deniedFar(answers):
		all[:near].untouched(answers)
		return all.answer(answers, len(all)-1)
	}
	return all.answer(answers, -1)
}

// TakeContext is Take for layers that can fail: remote ones, which are charged
// after all others. With an error, which is ctx's if that is done, nothing is
// consumed and the Decision is none. What a remote layer fails to give back when
// another denies stays consumed there, and the Decision is that denial.
func (l *Layers[R]) TakeContext(ctx context.Context, r R, n int) (d Decision, err error) {
	if len(l.remotes) > 0 {
		v, err := l.Decide(ctx, r, n)
		return v.Decision, err
	}
	if err = ctx.Err(); err == nil {
		l.take(r, n, &d)
	}
	return d, err
}

// Keys returns the keys of a request in the layers that apply to it, in their
// order, remote ones last: nil for a Limiter that all requests share.
func (l *Layers[R]) Keys(r R) []any {
	var keys []any
	for _, layers := range [...][]Layer[R]{l.layers, l.remotes} {
		for i := range layers {
			key, applies := any(nil), true
			if layers[i].key != nil {
				key, applies = layers[i].key(r)
			}
			if applies {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Limiters returns the *Limiter or *PerClient of each layer, and of a remote one
// what its Remote says, in the order of Keys.
func (l *Layers[R]) Limiters() []any {
	var limiters []any
	for _, layers := range [...][]Layer[R]{l.layers, l.remotes} {
		for i := range layers {
			limiters = append(limiters, layers[i].limiter)
		}
	}
	return limiters
}

// decide is what the verbs come to that concern any layers. It fills v, and t
// unless that is nil.
func (l *Layers[R]) decide(ctx context.Context, r R, n int, v *Verdict, t *receipt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !l.alone || t != nil {
		return l.decideTogether(ctx, r, n, v, t)
	}
	layer := &l.layers[0]
	p := layer.policy()
	_, applies := layer.take(r, n, &v.Decision)
	if applies && layer.core.shadow {
		v.enforced = &Decision{Allowed: true, Remaining: math.MaxInt}
	} else if applies {
		v.apply(p)
	}
	return nil
}

func (l *Layers[R]) decideTogether(ctx context.Context, r R, n int, v *Verdict, t *receipt) error {
	var space [fewLayers]asked
	var told [fewLayers]Decision
	all := l.ask(r, n, space[:0])
	far := l.calls(r, n)
	answers := all.answers(told[:0])
	denied := all.charge(answers, t != nil || len(l.remotes) > 0)
	all.applied(v)
	for i := range far {
		if far[i].told {
			v.apply(far[i].policy)
		}
	}
	if denied >= 0 || l.shadowed && len(far) == 0 {
		l.tell(r, all, answers, denied)
	}
	switch {
	case denied >= 0:
		v.Decision = all.answer(answers, denied)
	case len(all)+len(far) == 0:
		unlimited(n, &v.Decision)
	case len(far) > 0:
		return all.decideFar(ctx, answers, far, v, t)
	default:
		all.admit(answers, v, t)
	}
	return nil
}

// unlimited decides where no layer applies.
func unlimited(n int, out *Decision) bool {
	d := Decision{Allowed: true, Remaining: math.MaxInt}
	if n < 0 { // no limit has anything to give
		d = Decision{RetryAfter: Never}
	}
	if out != nil {
		*out = d
	}
	return d.Allowed
}

// take is what Layers come to that have no other.
func (l *Layer[R]) take(r R, n int, out *Decision) (ok, applies bool) {
	if l.clients == nil {
		line := l.core.tally.Line()
		ok = l.cell.decide(line, int64(n), true, out)
		count(line, n, ok, l.core.shadow)
	} else {
		hash, applies := l.hash(r)
		if !applies {
			return unlimited(n, out), false
		}
		ok = l.clients.decide(hash, n, true, out)
	}
	if !ok {
		ok = l.core.verdict(false, out)
		l.tell(r, n, known(out))
	}
	return ok, true
}

// tell tells of a denial, and of those in shadow where there is none, those who watch
// the limiters.
func (l *Layers[R]) tell(r R, all together, answers []Decision, denied int) {
	for i := range all {
		a := &all[i]
		if i != denied && (denied >= 0 || a.wait == 0 || !a.core.shadow) {
			continue
		}
		var d Decision
		if answers != nil {
			d = answers[i]
			d.Allowed, d.Shadowed = a.core.shadow, a.core.shadow
		}
		l.layers[a.layer].tell(r, a.n, d)
	}
}

// take is what all verbs come to that concern no remote layer.
func (l *Layers[R]) take(r R, n int, out *Decision) bool {
	if l.alone {
		ok, _ := l.layers[0].take(r, n, out)
		return ok
	}
	var space [fewLayers]asked
	all := l.ask(r, n, space[:0])
	if len(all) == 0 {
		return unlimited(n, out)
	}
	var told [fewLayers]Decision
	var answers []Decision
	if out != nil {
		answers = all.answers(told[:0])
	}
	denied := all.charge(answers, false)
	if denied < 0 {
		all.count()
	}
	if denied >= 0 || l.shadowed {
		l.tell(r, all, answers, denied)
	}
	if out != nil {
		*out = all.answer(answers, denied)
	}
	return denied < 0
}

// ask finds out which layers apply to a request, and where.
func (l *Layers[R]) ask(r R, n int, all together) together {
	for i := range l.layers {
		layer := &l.layers[i]
		hash := uint64(0)
		if layer.hash != nil {
			var applies bool
			if hash, applies = layer.hash(r); !applies {
				continue
			}
		}
		a := all.of(layer.core, hash)
		if a == nil {
			all, a = all.another()
			a.cell, a.clients, a.core, a.hash, a.layer = layer.cell, layer.clients, layer.core, hash, i
		}
		if layer.cost == nil {
			a.counts = true
		} else if cost := layer.cost(r); !a.costs || cost > a.cost {
			a.costs, a.cost = true, cost
		}
		a.n = a.costOf(n)
	}
	return all
}

func (l *Layer[R]) policy() Policy {
	if l.clients == nil {
		return Policy{l.cell.held.Load().policy}
	}
	return Policy{l.clients.decider.Load().policy}
}
