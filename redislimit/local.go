package redislimit

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"sync"

	"github.com/goweir/weir"
)

// fallbacks decides when the store did not.
type fallbacks struct {
	share *big.Rat // of Local, otherwise nil

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
			return clients.TakeAs(key, n, pl.share)
		}
		return clients.Take(key, n)
	})
}

// look says what decide would.
func (f *fallbacks) look(c *PerClient, key string, n int, pl *plan, err error) (weir.Decision, error) {
	return f.instead(c, err, func(clients *weir.PerClient[string]) weir.Decision {
		switch {
		case clients == nil:
			return c.open(pl, n)
		case n <= 0 && pl != c.plan.Load(): // of which nothing is taken
			return clients.TakeAs(key, n, pl.share)
		}
		return clients.Peek(key, n)
	})
}

func (f *fallbacks) instead(c *PerClient, err error, decide func(*weir.PerClient[string]) weir.Decision) (weir.Decision, error) {
	if c.fallback == FailClosed && !c.shadow || errors.As(err, new(*abandoned)) {
		return weir.Decision{}, err
	}
	var clients *weir.PerClient[string] // of Local
	if c.fallback.isShare() {
		clients = f.perClient(c)
	}
	d := decide(clients)
	d.Fallback = true
	return d, nil
}

// perClient returns who decides for Local.
func (f *fallbacks) perClient(c *PerClient) *weir.PerClient[string] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients == nil {
		f.clients = weir.NewPerClient[string](c.plan.Load().share)
	}
	return f.clients
}

func (f *fallbacks) setPolicy(next *plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clients != nil {
		_ = f.clients.SetPolicy(next.share) // valid, or there were no plan
	}
}

// plan returns the plan of a policy, with its share, or an error if there is something in it
// that the store or the fallback could not decide by.
func (f *fallbacks) plan(p weir.Policy) (*plan, error) {
	pl, err := newPlan(p)
	if err != nil || f.share == nil {
		return pl, err
	}
	pl.share = shareOf(p, f.share)
	if err := pl.share.Validate(); err != nil {
		return nil, fmt.Errorf("redislimit: the share of %v: %s", p, strings.TrimPrefix(err.Error(), "weir: "))
	}
	return pl, nil
}

// open is the decision that lets everything pass that a limit could; or in shadow, where
// no other fallback is set, nothing.
func (c *PerClient) open(pl *plan, n int) weir.Decision {
	d := weir.Decision{Policy: pl.leaves[0].name, Limit: pl.leaves[0].limit}
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
