package redislimit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// leases are tokens that the store has granted and nobody has spent yet.
//
//	tokens(key) <= n: tokens are fetched by one at a time, and only as many as there is place for
type leases struct {
	c      *PerClient
	mu     sync.Mutex
	held   map[string]*lease
	timer  *time.Timer // while any is held
	closed bool
}

// mostLeases bounds how many clients are watched. Others have no lease.
const mostLeases = 1 << 16

// A lease is what is known of a client that asked lately.
type lease struct {
	tokens   int
	plan     *plan
	decision weir.Decision // the store's, the last time
	used     time.Time
	fetching chan struct{} // closed when it is over; nil if nobody is
}

func newLeases(c *PerClient) *leases {
	return &leases{c: c, held: make(map[string]*lease)}
}

func (ls *leases) take(ctx context.Context, key string, n int, pl *plan) (weir.Decision, error) {
	for {
		l, d, wait := ls.spend(key, n, pl)
		switch {
		case wait != nil:
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return weir.Decision{}, ctx.Err()
			}
		case d.Allowed:
			ls.c.counted.local.Add(1)
			return ls.c.verdict(n, d), nil
		case l == nil:
			d, _, err := ls.c.ask(ctx, key, n, 0, pl)
			return d, err
		}
		return ls.fetch(ctx, key, n, l)
	}
}

// spend takes n of what is leased. Else it returns what the caller is to wait for, or
// the lease to fetch more for, or nothing for one who has to ask for itself.
func (ls *leases) spend(key string, n int, pl *plan) (l *lease, d weir.Decision, wait chan struct{}) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	now := time.Now()
	l = ls.held[key]
	switch {
	case ls.closed:
		return nil, d, nil
	case l == nil:
		if len(ls.held) < mostLeases {
			ls.held[key] = &lease{plan: pl, used: now}
			ls.watch()
		}
		return nil, d, nil // the first time
	case l.plan != pl:
		if l.fetching == nil {
			delete(ls.held, key)
			ls.giveBack(key, l)
		}
		return nil, d, nil
	}
	l.used = now
	if l.tokens >= n {
		l.tokens -= n
		d = l.decision
		d.Remaining += l.tokens
		return nil, d, nil
	}
	if l.fetching != nil {
		return nil, d, l.fetching
	}
	l.fetching = make(chan struct{})
	return l, d, nil
}

// fetch asks the store for what is missing of n, and for as much more as there is
// place for.
func (ls *leases) fetch(ctx context.Context, key string, n int, l *lease) (weir.Decision, error) {
	ls.mu.Lock()
	had := l.tokens
	l.tokens = 0
	ls.mu.Unlock()
	d, taken, err := ls.c.ask(ctx, key, n-had, ls.c.lease-had, l.plan)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	close(l.fetching)
	l.fetching = nil
	if l.tokens = had; err == nil && d.Allowed && !d.Shadowed {
		l.tokens += taken - n
		l.decision = d
		d.Remaining += l.tokens
	}
	if ls.held[key] != l { // it was reset meanwhile, or all was given back
		ls.giveBack(key, l)
	}
	return d, err
}

// with adds what is leased to what the store says is left.
func (ls *leases) with(key string, n int, d weir.Decision) weir.Decision {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.held[key]
	if l == nil || l.tokens == 0 || l.plan != ls.c.plan.Load() {
		return d
	}
	d.Remaining += l.tokens
	if 0 < n && n <= l.tokens {
		d.Allowed, d.RetryAfter = true, 0
	}
	return d
}

func (ls *leases) forget(key string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.held[key]; l != nil {
		l.tokens = 0
		delete(ls.held, key)
	}
}

// watch has what is idle given back. The lock is held.
func (ls *leases) watch() {
	if ls.timer == nil {
		ls.timer = time.AfterFunc(ls.c.leaseMax, ls.sweep)
	}
}

// sweep gives back what nobody has asked for since leaseMax.
func (ls *leases) sweep() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.timer = nil
	for key, l := range ls.held {
		if l.fetching == nil && time.Since(l.used) >= ls.c.leaseMax {
			delete(ls.held, key)
			ls.giveBack(key, l)
		}
	}
	if len(ls.held) > 0 && !ls.closed {
		ls.watch()
	}
}

// giveBack refunds a lease that is not held any more. The lock is held: it does not
// wait for the store.
func (ls *leases) giveBack(key string, l *lease) {
	if n := l.tokens; n > 0 {
		l.tokens = 0
		go func() { _, _, _ = ls.c.decide(context.Background(), "refund", key, n, 0, l.plan) }()
	}
}

// close gives back everything, and waits for it.
func (ls *leases) close() error {
	ls.mu.Lock()
	ls.closed = true
	held := ls.held
	ls.held = make(map[string]*lease)
	if ls.timer != nil {
		ls.timer.Stop()
		ls.timer = nil
	}
	tokens := make(map[string]int)
	for key, l := range held {
		tokens[key], l.tokens = l.tokens, 0
	}
	ls.mu.Unlock()
	var errs []error
	for key, n := range tokens {
		if n > 0 {
			_, _, err := ls.c.decide(context.Background(), "refund", key, n, 0, held[key].plan)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
