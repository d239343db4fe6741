package weir

import (
	"context"
	"errors"
	"time"
)

// A Remote is a limiter per client that keeps its states elsewhere, in a store
// that several programs share, say: what a package for such a store gives to
// ByRemote. The functions but Policy are required, and must be safe for concurrent use.
type Remote[K comparable] struct {
	// Take consumes n of a key's, not below 0, or with an error nothing. It is called
	// once all other layers have admitted the request. Of a Decision in shadow, or of a
	// fallback, nothing is taken to be consumed.
	Take func(ctx context.Context, key K, n int) (Decision, error)
	// Peek says what Take would.
	Peek func(ctx context.Context, key K, n int) (Decision, error)
	// Refund gives back n of what Take took: a layer after it has denied the request,
	// or it turned out to cost less. Its context is done after a second, and not
	// when the request's is.
	Refund func(ctx context.Context, key K, n int) error
	// Policy returns the policy in force, the same value while that does not change,
	// for a Verdict. It may be nil.
	Policy func() Policy
	// Limiter is what Layers.Limiters returns for the layer. It may be nil.
	Limiter any
}

// refundWithin bounds how long a request waits for what is given back.
const refundWithin = time.Second

// ByRemote returns the layer of a limiter per client that is decided elsewhere. key
// says who the client of a request is; with false the layer does not apply to it.
// Two of these are two layers, also if they have the same store and key. What one has
// taken for a request that another denies is given back by Refund, which does not know
// what part of a FirstOf has paid. It panics if a function is nil that is required.
func ByRemote[R any, K comparable](c Remote[K], key func(R) (K, bool)) Layer[R] {
	if c.Take == nil || c.Peek == nil || c.Refund == nil || key == nil {
		panic("weir: ByRemote needs Take, Peek, Refund and a key function, and one of them is nil")
	}
	return Layer[R]{
		limiter: c.Limiter,
		key:     func(r R) (any, bool) { return key(r) },
		remote: &remote{
			take:   func(ctx context.Context, key any, n int) (Decision, error) { return c.Take(ctx, key.(K), n) },
			peek:   func(ctx context.Context, key any, n int) (Decision, error) { return c.Peek(ctx, key.(K), n) },
			refund: func(ctx context.Context, key any, n int) error { return c.Refund(ctx, key.(K), n) },
			policy: c.Policy,
		},
	}
}

// remote is a Remote without its type of key.
type remote struct {
	take, peek func(ctx context.Context, key any, n int) (Decision, error)
	refund     func(ctx context.Context, key any, n int) error
	policy     func() Policy
}

// A call is a key of a remote layer that a request has to pass.
type call struct {
	remote *remote
	key    any
	price
	n      int // what is to be taken
	policy Policy
	told   bool // there is one

	free bool // it was let through, and nothing was taken
}

// calls finds out which remote layers apply to a request.
func (l *Layers[R]) calls(r R, n int) (far []call) {
	for i := range l.remotes {
		layer := &l.remotes[i]
		key, applies := layer.key(r)
		if !applies {
			continue
		}
		c := call{remote: layer.remote, key: key, price: price{counts: true}}
		if layer.cost != nil {
			c.price = price{cost: layer.cost(r)}
		}
		c.n = c.costOf(n)
		if c.remote.policy != nil {
			c.policy, c.told = c.remote.policy(), true
		}
		far = append(far, c)
	}
	return far
}

// farAway stands for the limiter of a remote layer, and farShadow for one that has
// decided in shadow.
var farAway, farShadow = core{}, core{options: options{shadow: true}}

func (a *asked) far() bool { return a.core == &farAway || a.core == &farShadow }

// call asks remote layers one after the other, until one denies or fails. It
// returns all those that have decided, behind the near ones.
func (t together) call(far []call, answers []Decision, ask func(*call) (Decision, error)) (together, []Decision, error) {
	for i := range far {
		c := &far[i]
		d, err := Decision{RetryAfter: Never}, error(nil)
		if c.n >= 0 {
			d, err = ask(c)
		}
		if err != nil {
			return t, answers, err
		}
		a := asked{core: &farAway, price: c.price, wait: d.RetryAfter}
		if d.Shadowed {
			a.core = &farShadow
		}
		t = append(t, a)
		answers = append(answers, d)
		if !d.Allowed {
			break
		}
	}
	return t, answers, nil
}

// decideFar has remote layers decide when the near ones have been charged, which
// are given that back, like those before it, if one denies, fails or panics.
func (t together) decideFar(ctx context.Context, answers []Decision, far []call, v *Verdict, r *receipt) (err error) {
	var taken []*call
	admitted := false
	defer func() {
		if admitted {
			return
		}
		t.undo()
		for _, c := range taken {
			failed := c.giveBack(context.WithoutCancel(ctx), c.n)
			if err != nil { // a denial stays one
				err = errors.Join(err, failed)
			}
		}
	}()
	all, answers, err := t.call(far, answers, func(c *call) (Decision, error) {
		d, err := c.remote.take(ctx, c.key, c.n)
		switch {
		case err != nil || !d.Allowed:
		case d.Shadowed, d.Fallback:
			c.free = true
		default:
			taken = append(taken, c)
		}
		return d, err
	})
	switch {
	case err != nil:
		return err
	case all.deniedFar(answers):
		t.undo()
		t.untouched(answers)
		v.Decision = all.answer(answers, len(all)-1)
		return nil
	}
	admitted = true
	all.admit(answers, v, r)
	if r != nil {
		r.far = far
	}
	return nil
}

func (c *call) giveBack(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, refundWithin)
	defer cancel()
	return c.remote.refund(ctx, c.key, n)
}

// deniedFar reports whether the last of them, of one or more, is a remote layer that denies.
func (t together) deniedFar(answers []Decision) bool {
	last := len(t) - 1
	return t[last].far() && !answers[last].Allowed
}
