package redislimit

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/goweir/weir"
	"golang.org/x/sync/errgroup"
)

// leases are tokens that the store has granted and nobody has spent yet.
//
//	tokens(key) + fetched(key) <= n: one fetches at a time, and only what there is place for
type leases struct {
	c    *PerClient
	work sync.WaitGroup // what close has to wait for

	mu      sync.Mutex
	held    map[string]*lease
	returns []gift      // what is to be given back
	timer   *time.Timer // while there is anything, until its sweep is over
	closed  bool
}

const (
	// mostLeases bounds how many clients are watched. Others have no lease.
	mostLeases = 1 << 16
	// mostReturns is how many give back at once.
	mostReturns = 32
)

// A lease is what is known of a client that asked lately.
type lease struct {
	tokens   int
	plan     *plan
	decision weir.Decision // the store's, the last time it admitted
	used     time.Time
	fetching *fetch // nil if nobody is

	forgotten bool // what it has is not to be given back
}

// A fetch is for one request, and for as much more as there is place for.
type fetch struct {
	n, had int           // what it asks for, and what was leased of that
	over   chan struct{} // closed then
	d      weir.Decision // of the request, once it is over
	err    error
	left   bool // the request was abandoned, so its tokens are leased
}

// A gift is given back to the store.
type gift struct {
	key  string
	n    int
	plan *plan
}

func newLeases(c *PerClient) *leases {
	return &leases{c: c, held: make(map[string]*lease)}
}

// spend takes n of what is leased, if there are so many.
func (ls *leases) spend(key string, n int, pl *plan) (d weir.Decision, ok bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.held[key]
	if l == nil || l.plan != pl {
		return d, false
	}
	return l.spend(n)
}

func (l *lease) spend(n int) (d weir.Decision, ok bool) {
	l.used = time.Now()
	if l.tokens < n {
		return d, false
	}
	l.tokens -= n
	return plus(l.decision, l.tokens), true
}

// take has n granted that were not leased, and more if there is place for more.
func (ls *leases) take(ctx context.Context, key string, n int, pl *plan) (weir.Decision, error) {
	within, cancel := ls.c.within(ctx)
	defer cancel()
	d, l, f := ls.begin(key, n, pl, false)
	if l == nil && f != nil { // another fetches: wait once, or all who wait would ask one after the other
		enough := time.NewTimer(ls.c.timeout - ls.c.latest()*5/4) // then there is just time to ask for itself
		defer enough.Stop()
		select {
		case <-f.over:
		case <-enough.C:
		case <-within.Done():
		}
		d, l, f = ls.begin(key, n, pl, true)
	}
	switch {
	case d.Allowed:
		ls.c.counted.local.Add(1)
		return ls.c.verdict(n, d), nil
	case l == nil:
		return ls.c.ask(within, key, n, pl)
	}
	return ls.fetch(within, key, l, f)
}

// begin spends what was leased meanwhile. Else it returns the lease that the caller is to
// fetch more for, or only the fetch to wait for if another does, or nothing if the
// caller has to ask for itself.
func (ls *leases) begin(key string, n int, pl *plan, waited bool) (d weir.Decision, l *lease, f *fetch) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l = ls.held[key]
	switch {
	case ls.closed:
		return d, nil, nil
	case l == nil: // the first time
		if len(ls.held) < mostLeases {
			ls.held[key] = &lease{plan: pl, used: time.Now()}
			ls.watch()
		}
		return d, nil, nil
	case l.plan != pl:
		if l.fetching == nil {
			delete(ls.held, key)
			ls.giveBack(key, l)
		}
		return d, nil, nil
	}
	d, ok := l.spend(n)
	switch {
	case ok:
		return d, nil, nil
	case l.fetching == nil:
		l.fetching = &fetch{n: n, had: l.tokens, over: make(chan struct{})}
		l.tokens = 0
		ls.work.Add(1)
		return d, l, l.fetching
	case waited:
		return d, nil, nil
	}
	return d, nil, l.fetching
}

// fetch waits for a fetch that it starts. That goes on without the caller, as what the
// store has granted would be lost with its answer.
func (ls *leases) fetch(ctx bounded, key string, l *lease, f *fetch) (weir.Decision, error) {
	go ls.bring(context.WithoutCancel(ctx.caller), ctx.by, key, l, f)
	select {
	case <-f.over:
	case <-ctx.caller.Done():
		ls.mu.Lock()
		f.left = l.fetching == f
		ls.mu.Unlock()
		if f.left {
			return weir.Decision{}, ls.c.failed(&abandoned{error: ctx.caller.Err()})
		}
	}
	if f.err != nil {
		return f.d, f.err
	}
	return ls.c.verdict(f.n, f.d), nil
}

// bring asks the store for what a fetch is for.
func (ls *leases) bring(ctx context.Context, by time.Time, key string, l *lease, f *fetch) {
	defer ls.work.Done()
	within, cancel := until(ctx, by)
	defer cancel()
	d, taken, err := ls.c.answer(within, key, f.n, f.had, ls.c.lease, l.plan)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	switch {
	case taken > 0 && f.left:
		l.tokens, l.decision = f.had+taken, d
	case taken > 0:
		l.tokens, l.decision = f.had+taken-f.n, d
	case !d.Allowed || f.left || d.Fallback:
		l.tokens = f.had
	}
	f.d, f.err, l.fetching = plus(d, l.tokens), err, nil
	close(f.over)
	if ls.closed && !l.forgotten {
		ls.giveBack(key, l)
	}
}

// plus adds tokens to what a decision says is left.
func plus(d weir.Decision, tokens int) weir.Decision {
	d.Remaining += min(tokens, math.MaxInt-d.Remaining)
	return d
}

// look says what spend would if there are n, and how many are leased.
func (ls *leases) look(key string, n int, pl *plan) (d weir.Decision, tokens int) {
	if ls == nil {
		return d, 0
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.held[key]
	switch {
	case l == nil || l.plan != pl:
		return d, 0
	case 0 < n && n <= l.tokens:
		d = plus(l.decision, l.tokens-n)
	}
	return d, l.tokens
}

// with adds what is leased to what is left in the store.
func (ls *leases) with(key string, pl *plan, d weir.Decision) weir.Decision {
	_, tokens := ls.look(key, 0, pl)
	return plus(d, tokens)
}

// forget is to be called when the store forgets a client: who fetches for it now may hold
// more than others leave there.
func (ls *leases) forget(key string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.held[key]; l != nil {
		l.forgotten = true
		delete(ls.held, key)
	}
}

// watch has what is idle given back. The lock is held.
func (ls *leases) watch() {
	if ls.timer == nil && !ls.closed {
		ls.timer = time.AfterFunc(ls.c.leaseMax, ls.sweep)
	}
}

// giveBack has a lease that is not held any more given back. The lock is held.
func (ls *leases) giveBack(key string, l *lease) {
	if l.tokens > 0 {
		ls.returns = append(ls.returns, gift{key, l.tokens, l.plan})
		l.tokens = 0
		ls.watch()
	}
}

// sweep gives back what nobody has asked for since leaseMax.
func (ls *leases) sweep() {
	ls.mu.Lock()
	if ls.closed {
		ls.mu.Unlock()
		return
	}
	ls.work.Add(1)
	defer ls.work.Done()
	for key, l := range ls.held {
		if l.fetching == nil && time.Since(l.used) >= ls.c.leaseMax {
			delete(ls.held, key)
			ls.giveBack(key, l)
		}
	}
	returns := ls.returns
	ls.returns = nil
	ls.mu.Unlock()
	_ = ls.refund(returns)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.timer = nil
	if len(ls.held)+len(ls.returns) > 0 {
		ls.watch()
	}
}

// refund gives back some at a time: a store that fails costs little, once the breaker
// knows. After it has failed only one asks it, and the others once that is answered. It
// returns the first error.
func (ls *leases) refund(returns []gift) error {
	var work errgroup.Group
	work.SetLimit(mostReturns)
	again := make([]bool, len(returns))
	for i, g := range returns {
		work.Go(func() error {
			err := ls.give(g)
			if again[i] = errors.Is(err, ErrUnavailable); again[i] {
				return nil
			}
			return err
		})
	}
	err := work.Wait()
	for i, g := range returns {
		if again[i] {
			if failed := ls.give(g); err == nil {
				err = failed
			}
		}
	}
	return err
}

func (ls *leases) give(g gift) error {
	_, _, err := ls.c.decide(context.Background(), "refund", g.key, g.n, 0, g.plan)
	ls.c.denials.forget(g.key)
	return err
}

// close gives back everything, and waits for it.
func (ls *leases) close() error {
	ls.mu.Lock()
	ls.closed = true
	if ls.timer != nil {
		ls.timer.Stop()
	}
	for key, l := range ls.held {
		delete(ls.held, key)
		if l.fetching == nil {
			ls.giveBack(key, l)
		}
	}
	ls.mu.Unlock()
	ls.work.Wait()
	ls.mu.Lock()
	returns := ls.returns
	ls.returns = nil
	ls.mu.Unlock()
	return ls.refund(returns)
}
