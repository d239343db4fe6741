package model

import (
	"math"

	"github.com/goweir/weir"
)

// A Layer is the model of weir.Layer.
type Layer[R any] struct {
	limiter *Limiter
	ask     func(R) (asked, bool) // of a PerClient
	cost    func(R) int
}

// Global is weir's.
func Global[R any](l *Limiter) Layer[R] { return Layer[R]{limiter: l} }

// By is weir's.
func By[R any, K comparable](c *PerClient[K], key func(R) (K, bool)) Layer[R] {
	return Layer[R]{ask: func(r R) (asked, bool) {
		k, applies := key(r)
		return asked{
			of:     [2]any{c, k},
			peek:   func(n int) weir.Decision { return c.Peek(k, n) },
			take:   func(n int) { c.Take(k, n) },
			deny:   func(n int) { count(&c.counted, n, false, false) },
			note:   func(n int) { c.remember(k, n) },
			shadow: c.Shadow,
		}, applies
	}}
}

// WithCost is weir's.
func (l Layer[R]) WithCost(cost func(R) int) Layer[R] {
	l.cost = cost
	return l
}

// An asked is a limiter and a key that a request has to pass, and how.
type asked struct {
	of     any // names it
	peek   func(n int) weir.Decision
	take   func(n int)
	deny   func(n int) // counts a denial
	note   func(n int) // has the key remember it
	shadow bool        // it decides, and has no say

	counts bool // it costs the n of the call, or
	costs  bool // this, whichever is more
	cost   int

	n      int // what it costs
	answer weir.Decision
}

func (l *Layer[R]) asked(r R) (asked, bool) {
	if l.limiter == nil {
		return l.ask(r)
	}
	m := l.limiter
	return asked{
		of:     m,
		peek:   m.Peek,
		take:   func(n int) { m.Take(n) },
		deny:   func(n int) { count(&m.counted, n, false, false) },
		note:   func(int) {}, // a Limiter has one policy
		shadow: m.Shadow,
	}, true
}

// denies reports whether it would deny.
func (a *asked) denies() bool { return !a.answer.Allowed || a.answer.Shadowed }

// left is the largest n of a call that it would admit where so many are left.
func (a *asked) left() int {
	switch {
	case a.costs && (a.cost > a.answer.Remaining || a.cost < 0 && !a.counts):
		return 0
	case a.counts:
		return a.answer.Remaining
	}
	return math.MaxInt
}

// Layers is the model of weir.Layers, of layers that are not remote.
type Layers[R any] struct{ layers []Layer[R] }

// NewLayers is weir's.
func NewLayers[R any](layers ...Layer[R]) *Layers[R] { return &Layers[R]{layers} }

// Take is weir's.
func (l *Layers[R]) Take(r R, n int) weir.Decision {
	all := l.ask(r, n)
	d := answer(all, n)
	if d.Allowed {
		for _, a := range all {
			a.take(a.n)
		}
	} else if denier := longestWait(all, false); denier != nil {
		denier.deny(denier.n)
		for _, a := range all {
			if a.denies() { // so that it is admitted when it was said to be
				a.note(a.n)
			}
		}
	}
	return d
}

// Peek is weir's.
func (l *Layers[R]) Peek(r R, n int) weir.Decision { return answer(l.ask(r, n), n) }

// ask asks all that apply to a request. Those that name the same limiter and key are
// one, and cost the greater of what they do.
func (l *Layers[R]) ask(r R, n int) (all []*asked) {
	for _, layer := range l.layers {
		one, applies := layer.asked(r)
		if !applies {
			continue
		}
		a := &one
		for _, other := range all {
			if other.of == a.of {
				a = other
			}
		}
		if a == &one {
			all = append(all, a)
		}
		if layer.cost == nil {
			a.counts = true
		} else if cost := layer.cost(r); !a.costs || cost > a.cost {
			a.costs, a.cost = true, cost
		}
	}
	for _, a := range all {
		switch {
		case n <= 0 || !a.costs:
			a.n = n
		case a.counts:
			a.n = max(n, a.cost)
		default:
			a.n = a.cost
		}
		a.answer = a.peek(a.n)
	}
	return all
}

// longestWait is the one that denies for the longest, of those in shadow or of the
// others, and of several the first; nil if none denies.
func longestWait(all []*asked, shadow bool) (longest *asked) {
	for _, a := range all {
		if a.shadow == shadow && a.denies() && (longest == nil || a.answer.RetryAfter > longest.answer.RetryAfter) {
			longest = a
		}
	}
	return longest
}

// answer is what all answer together to a call of n.
func answer(all []*asked, n int) weir.Decision {
	if len(all) == 0 && n < 0 {
		return weir.Decision{RetryAfter: weir.Never}
	}
	if len(all) == 0 {
		return weir.Decision{Allowed: true, Remaining: math.MaxInt}
	}
	denier, shadowed := longestWait(all, false), longestWait(all, true)
	if denier != nil { // nothing is taken anywhere
		for _, a := range all {
			a.answer.Remaining = a.peek(0).Remaining
		}
	}
	binding, remaining := scarcest(all)
	switch {
	case denier != nil:
		binding = denier
	case shadowed != nil:
		binding = shadowed
	}
	d := binding.answer
	d.Allowed, d.Shadowed, d.Remaining = denier == nil, denier == nil && shadowed != nil, remaining
	return d
}

// scarcest is the one with the least left for calls, and how many that are; where
// all have costs of their own and none stands in the way of any call, the least
// that is left in one. Those in shadow have no say, unless there is nobody else.
func scarcest(all []*asked) (scarcest *asked, remaining int) {
	var limiting []*asked
	for _, a := range all {
		if !a.shadow {
			limiting = append(limiting, a)
		}
	}
	if limiting == nil {
		limiting = all
	}
	counts := false
	for _, a := range limiting {
		counts = counts || a.counts
		if scarcest == nil || a.left() < scarcest.left() {
			scarcest = a
		}
	}
	if remaining = scarcest.left(); counts || remaining < math.MaxInt {
		return scarcest, remaining
	}
	for _, a := range limiting {
		if a.answer.Remaining < scarcest.answer.Remaining {
			scarcest = a
		}
	}
	return scarcest, scarcest.answer.Remaining
}
