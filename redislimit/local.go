package redislimit

import (
	"errors"
	"math"
	"sync"

	"github.com/goweir/weir"
)

// fallbacks decides when the store did not.
type fallbacks struct {
	mu      sync.Mutex
	clients *weir.PerClient[string] // of Local; nil until it is needed
}

// decide decides about n in place of the store, which answered with an error. A
// caller who has given up gets that.
func (f *fallbacks) decide(c *PerClient, key string, n int, pl *plan, err error) (weir.Decision, error) {
	return f.instead(c, err, func(clients *weir.PerClient[string]) weir.Decision {
		if clients == nil {
			return c.open(pl, n)
		}
		if pl != c.plan.Load() {
			return clients.TakeAs(key, n, shareOf(pl.policy, float64(c.fallback)))
		}
		return clients.Take(key, n)
	})
}

// look says what decide would.
func (f *fallbacks) look(c *PerClient, key string, n int, pl *plan, err error) (weir.Decision, error) {
	return f.instead(c, err, func(clients *weir.PerClient[string]) weir.Decision {
		if clients == nil {
			return c.open(pl, n)
		}
		return clients.Peek(key, n)
	})
}

func (f *fallbacks) instead(c *PerClient, err error, decide func(*weir.PerClient[string]) weir.Decision) (weir.Decision, error) {
	switch {
	case c.fallback == FailClosed && !c.shadow, errors.As(err, new(*abandoned)):
		return weir.Decision{}, err
	case c.fallback == FailClosed, c.fallback == FailOpen:
		return decide(nil), nil
	}
	f.mu.Lock()
	if f.clients == nil {
		f.clients = weir.NewPerClient[string](shareOf(c.Policy(), float64(c.fallback)))
	}
	clients := f.clients
	f.mu.Unlock()
	d := decide(clients)
	d.Fallback = true
	return d, nil
}

func (f *fallbacks) setPolicy(c *PerClient, p weir.Policy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients != nil {
		_ = f.clients.SetPolicy(shareOf(p, float64(c.fallback))) // valid, as p is
	}
}

// open is the decision that lets everything pass that a limit could; or in shadow, where
// no other fallback is set, nothing.
func (c *PerClient) open(pl *plan, n int) weir.Decision {
	d := weir.Decision{Policy: pl.leaves[0].name, Limit: pl.leaves[0].limit, Fallback: true}
	switch {
	case n < 0:
		d.RetryAfter = weir.Never
	case c.fallback == FailOpen:
		d.Allowed, d.Remaining = true, math.MaxInt
	default:
		d.RetryAfter = probeAfter
	}
	return d
}
