package redislimit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

const (
	// mostCalls is how many calls of a lane may be under way: with fewer, requests to
	// a server that is far away would wait longer, and with more fewer of them go together.
	mostCalls = 8
	// mostAsks bounds for how long a call keeps the server from others.
	mostAsks = 128
)

// batches decides takes of token buckets: at once, or if there are calls enough under
// way, once one of them is over, and then all that wait in one call.
//
//	a take waits in a lane  =>  mostCalls of its calls are under way
//
// So nobody waits for others to come, and the longer the server takes, the more it is
// asked at a time.
type batches struct {
	c     *PerClient
	apart atomic.Bool // states of several clients may be in several places

	mu    sync.Mutex
	lanes map[laneName]*lane // those with calls
}

// A lane is of takes that may be in one call.
type lane struct {
	calls   int
	waiting []*batch // all but the last are full
}

type laneName struct {
	plan  *plan
	state string // "" if they need not be of one client
}

// A batch is a call to be made for several takes.
type batch struct {
	ctx   context.Context // one of theirs
	asks  map[string]*ask // by the state
	count int             // of asks
	sent  bool

	over chan struct{}
	err  error
}

// An ask is for n of a client, by one or several.
type ask struct {
	of       *batch
	n, times int
	other    *ask // for another n of the client

	after string       // the state; "" if each has to ask by itself
	told  atomic.Int64 // how many know
}

func newBatches(c *PerClient, together bool) *batches {
	b := &batches{c: c, lanes: make(map[laneName]*lane)}
	b.apart.Store(!together)
	return b
}

// take returns what the store has decided about n; with false it is to be asked by
// itself.
func (b *batches) take(ctx context.Context, by time.Time, state string, n int, pl *plan) (weir.Decision, bool, error) {
	name := laneName{plan: pl}
	if b.apart.Load() {
		name.state = state
	}
	b.mu.Lock()
	l := b.lanes[name]
	if l == nil {
		l = &lane{}
		b.lanes[name] = l
	}
	if l.calls == mostCalls {
		a := l.join(ctx, state, n)
		b.mu.Unlock()
		return b.wait(ctx, by, a, pl)
	}
	l.calls++
	b.mu.Unlock()
	defer b.next(name, l)
	within, cancel := until(ctx, by)
	defer cancel()
	after, err := b.call(within, pl, []string{state}, []string{pl.id, strconv.Itoa(n)})
	if err != nil || after == "" {
		return weir.Decision{}, false, err
	}
	d, ok := pl.read(after, n, 1, 1)
	return d, ok, nil
}

// join adds a take to those that wait. The lock is held.
func (l *lane) join(ctx context.Context, state string, n int) *ask {
	var w *batch
	if len(l.waiting) > 0 {
		w = l.waiting[len(l.waiting)-1]
		for a := w.asks[state]; a != nil; a = a.other {
			if a.n == n {
				a.times++
				return a
			}
		}
	}
	if w == nil || w.count == mostAsks {
		w = &batch{ctx: ctx, asks: make(map[string]*ask), over: make(chan struct{})}
		l.waiting = append(l.waiting, w)
	}
	a := &ask{of: w, n: n, times: 1, other: w.asks[state]}
	w.asks[state] = a
	w.count++
	return a
}

// wait returns the answer to one of those who ask.
func (b *batches) wait(ctx context.Context, by time.Time, a *ask, pl *plan) (d weir.Decision, ok bool, err error) {
	timer := time.NewTimer(time.Until(by))
	defer timer.Stop()
	select {
	case <-a.of.over:
		if a.after == "" {
			return d, false, a.of.err
		}
		d, ok = pl.read(a.after, a.n, a.times, int(a.told.Add(1)))
		return d, ok, nil
	case <-ctx.Done():
	case <-timer.C:
	}
	b.mu.Lock()
	if !a.of.sent {
		a.times--
	}
	b.mu.Unlock()
	if err := callerOf(ctx).gone(); err != nil {
		return d, false, b.c.failed(&abandoned{err})
	}
	return d, false, b.c.failed(context.DeadlineExceeded)
}

// next goes on when a call is over: with those who wait, if there are any.
func (b *batches) next(name laneName, l *lane) {
	if w := b.first(name, l); w != nil {
		go func() {
			for ; w != nil; w = b.first(name, l) {
				b.send(name.plan, w)
			}
		}()
	}
}

// first returns the batch that a call is for now, in place of one that is over.
func (b *batches) first(name laneName, l *lane) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.waiting) == 0 {
		if l.calls--; l.calls == 0 {
			delete(b.lanes, name)
		}
		return nil
	}
	w := l.waiting[0]
	l.waiting = l.waiting[1:]
	w.sent = true
	return w
}

// send has the store decide about a batch.
func (b *batches) send(pl *plan, w *batch) {
	defer close(w.over)
	asks, ones := make([]*ask, 0, w.count), true
	keys, args := make([]string, 0, w.count), append(make([]string, 0, w.count+2), pl.id)
	for state, a := range w.asks {
		for ; a != nil; a = a.other {
			if a.times == 0 { // nobody waits any more
				continue
			}
			n := strconv.Itoa(a.n)
			if a.times > 1 {
				n += "x" + strconv.Itoa(a.times)
			}
			asks, keys, args, ones = append(asks, a), append(keys, state), append(args, n), ones && n == "1"
		}
	}
	if len(asks) == 0 {
		return
	}
	if ones && b.c.at == "" {
		args = args[:1]
	}
	within, cancel := b.c.within(context.WithoutCancel(w.ctx))
	defer cancel()
	states, err := b.call(within, pl, keys, args)
	if err != nil && (len(keys) == 1 || !isReply(err) || unavailable(err)) {
		w.err = err
		return
	}
	if err != nil && strings.Contains(err.Error(), "CROSSSLOT") {
		b.apart.Store(true)
	}
	if states == "" {
		return
	}
	for i, a := range asks {
		size := len(states) / len(asks)
		a.after = states[i*size : (i+1)*size]
	}
}

// call returns the states after a call: none if the other function has to be called.
func (b *batches) call(ctx bounded, pl *plan, keys, args []string) (string, error) {
	if b.c.at != "" {
		args = append(args, b.c.at)
	}
	reply, err := b.c.run(ctx, taking, keys, args)
	if err == nil && reply.untold() {
		look, words := b.c.call("peek", keys[0], 0, 0, pl, nil, true)
		if _, err = b.c.run(ctx, library, look, words); err == nil {
			reply, err = b.c.run(ctx, taking, keys, args)
		}
	}
	switch {
	case err != nil || reply.untold():
		return "", err
	case len(reply.Numbers) > 0 || len(reply.Text) != len(keys)*pl.size():
		return "", fmt.Errorf("redislimit: the function answered %v", reply)
	}
	return reply.Text, nil
}

// untold reports whether the server has not seen the policy since it started.
func (r Reply) untold() bool { return len(r.Numbers) == 1 && r.Numbers[0] == 3 }
