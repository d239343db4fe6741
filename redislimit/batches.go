package redislimit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

const (
	// mostCalls is how many calls of a lane may be under way before a take waits.
	mostCalls = 4
	// longestWait is how long one waits for a call at most, or a sixteenth of the timeout if
	// that is less: of a server that is far away any number may be under way.
	longestWait = 500 * time.Microsecond
	// mostInCall is how many a call has, so that it does not keep the server from others for long.
	mostInCall = 128
	// apartFor is how long clients are asked about apart once a server has refused several.
	apartFor = time.Minute
)

// batches decides takes of token buckets: at once, or if there are calls enough under
// way, once one of them is over, and then all that wait in one call.
//
//	a take waits in a lane  =>  mostCalls of its calls are under way, and its batch is not older than longestWait
//
// So nobody waits for others to come, and the longer the server takes, the more it is
// asked at a time.
type batches struct {
	c       *PerClient
	apart   bool          // states of several clients may be in several places
	refused atomic.Int64  // until when they are asked about apart, in nanoseconds since 1970, as the server wants it
	longest time.Duration // that one waits for a call

	mu    sync.Mutex
	lanes map[laneName]*lane // those with calls
}

// A lane is of takes that may be in one call.
type lane struct {
	calls   int
	waiting []*batch
}

type laneName struct {
	plan  *plan
	state string // "" if they need not be of one client
}

// A batch is a call to be made for several takes. Those of a client are decided in the order
// in which they came, but for those that ask for the same.
type batch struct {
	asks     []*ask          // the first of each client
	byClient map[string]*ask // the same
	count    int             // of asks
	by       time.Time       // when nobody waits any more
	overdue  *time.Timer
	sent     bool

	over chan struct{}
	err  error
}

// An ask is for n of a client, by one or several.
type ask struct {
	of       *batch
	state    string
	n, times int
	next     *ask // for another n of the client

	after string       // the state; "" if each has to ask by itself
	told  atomic.Int64 // how many know
}

func newBatches(c *PerClient, together bool) *batches {
	return &batches{c: c, apart: !together, longest: min(longestWait, c.timeout/16), lanes: make(map[laneName]*lane)}
}

// together reports whether a call may be about several clients.
func (b *batches) together() bool {
	if b.apart {
		return false
	}
	until := b.refused.Load()
	return until == 0 || time.Now().UnixNano() >= until
}

// take returns what the store has decided about n. With false, and no error, it is to be
// asked by itself, by the other function.
func (b *batches) take(ctx bounded, state string, n int, pl *plan) (weir.Decision, bool, error) {
	name := laneName{plan: pl}
	if !b.together() {
		name.state = state
	}
	b.mu.Lock()
	l := b.lanes[name]
	if l == nil {
		l = &lane{}
		b.lanes[name] = l
	}
	if l.calls >= mostCalls {
		a := b.join(name, l, state, n)
		b.mu.Unlock()
		return b.wait(ctx, a, pl)
	}
	l.calls++
	b.mu.Unlock()
	defer b.next(name, l)
	after, err := b.call(ctx, pl, []string{state}, []string{pl.id, strconv.Itoa(n)})
	if after == "" {
		return weir.Decision{}, false, err
	}
	d, ok := pl.read(after, n, 1, 1)
	return d, ok, nil
}

// join adds a take to those that wait. The lock is held.
func (b *batches) join(name laneName, l *lane, state string, n int) *ask {
	var w *batch
	if len(l.waiting) > 0 {
		w = l.waiting[len(l.waiting)-1]
	}
	if w == nil || w.count == mostInCall {
		w = newBatch()
		w.overdue = time.AfterFunc(b.longest, func() { b.hurry(name, l, w) })
		l.waiting = append(l.waiting, w)
	}
	w.by = time.Now().Add(b.c.timeout)
	return w.add(state, n)
}

func newBatch() *batch {
	return &batch{byClient: make(map[string]*ask), over: make(chan struct{})}
}

func (w *batch) add(state string, n int) *ask {
	var last *ask
	for a := w.byClient[state]; a != nil; a = a.next {
		if a.n == n {
			a.times++
			return a
		}
		last = a
	}
	a := &ask{of: w, state: state, n: n, times: 1}
	if w.count++; last != nil {
		last.next = a
		return a
	}
	w.byClient[state] = a
	w.asks = append(w.asks, a)
	return a
}

// wait returns the answer to one of those who ask.
func (b *batches) wait(ctx bounded, a *ask, pl *plan) (d weir.Decision, ok bool, err error) {
	select {
	case <-a.of.over:
		if a.after == "" {
			return d, false, a.of.err
		}
		d, ok = pl.read(a.after, a.n, a.times, int(a.told.Add(1)))
		return d, ok, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	if !a.of.sent {
		a.times--
	}
	b.mu.Unlock()
	if err := ctx.gone(); err != nil {
		return d, false, b.c.failed(&abandoned{error: err})
	}
	return d, false, b.c.failed(context.DeadlineExceeded)
}

// hurry calls for a batch that has waited for long, beside all others.
func (b *batches) hurry(name laneName, l *lane, w *batch) {
	b.mu.Lock()
	if w.sent {
		b.mu.Unlock()
		return
	}
	at := slices.Index(l.waiting, w)
	l.waiting = slices.Delete(l.waiting, at, at+1)
	l.calls++
	w.sent = true
	b.mu.Unlock()
	b.goOn(name, l, w)
}

// next goes on when a call is over: with those who wait, if there are any.
func (b *batches) next(name laneName, l *lane) {
	if w := b.first(name, l); w != nil {
		go b.goOn(name, l, w)
	}
}

// goOn makes one call after the other, as long as there is something to call for.
func (b *batches) goOn(name laneName, l *lane, w *batch) {
	for ; w != nil; w = b.first(name, l) {
		b.send(name.plan, w)
	}
}

// first returns the batch that a call is for now, in place of one that is over.
func (b *batches) first(name laneName, l *lane) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.waiting) == 0 || l.calls > mostCalls {
		if l.calls--; l.calls == 0 {
			delete(b.lanes, name)
		}
		return nil
	}
	w := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	w.overdue.Stop()
	w.sent = true
	return w
}

// send has the store decide about a batch.
func (b *batches) send(pl *plan, w *batch) {
	defer close(w.over)
	asks, keys, args := w.call(pl)
	if len(asks) == 0 {
		return
	}
	ctx, cancel := until(context.Background(), w.by)
	defer cancel()
	states, err := b.call(ctx, pl, keys, args)
	switch {
	case err == nil && states != "":
		size := len(states) / len(asks)
		for i, a := range asks {
			a.after = states[i*size : (i+1)*size]
		}
	case err == nil:
	case len(keys) == 1 || unavailable(err):
		w.err = err
	case !NotFound(err) && !strings.Contains(err.Error(), "TRYAGAIN"): // about several keys
		b.refused.Store(time.Now().Add(apartFor).UnixNano())
	}
}

// call returns those who still wait, and what the function is called with.
func (w *batch) call(pl *plan) (asks []*ask, keys, args []string) {
	args = append(make([]string, 0, w.count+2), pl.id)
	ones := true
	for _, a := range w.asks {
		for ; a != nil; a = a.next {
			if a.times == 0 {
				continue
			}
			word := strconv.Itoa(a.n)
			if a.times > 1 {
				word += "x" + strconv.Itoa(a.times)
			}
			ones = ones && word == "1"
			asks = append(asks, a)
			keys = append(keys, a.state)
			args = append(args, word)
		}
	}
	if ones {
		args = args[:1] // which spares the server a tenth of its time
	}
	return asks, keys, args
}

// call returns the states after a call: none if the other function has to be called.
func (b *batches) call(ctx bounded, pl *plan, keys, args []string) (string, error) {
	if b.c.at != "" {
		for len(args) <= len(keys) {
			args = append(args, "1")
		}
		args = append(args, b.c.at)
	}
	reply, err := b.c.run(ctx, taking, keys, args)
	if reply.untold() {
		b.c.known.lost(pl)
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
func (r Reply) untold() bool { return r.is(3) }

func (r Reply) is(number int64) bool { return len(r.Numbers) == 1 && r.Numbers[0] == number }
