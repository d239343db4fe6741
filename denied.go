package weir

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A watch tells somebody of denials.
type watch[K any] struct {
	tell func(key K, d Decision, leftOut uint64)
	pace pace
	mu   sync.Mutex
	told uint64 // so many denials there had been the last time
}

// denied tells of a denial that tally has counted, at its pace.
func (w *watch[K]) denied(key K, t *tally, d Decision) {
	defer func() { _ = recover() }() // who watches does not decide
	w.mu.Lock()
	now := t.Sum(countDenied)
	leftOut := now - min(now, w.told+1)
	w.told = max(w.told, now)
	w.mu.Unlock()
	w.tell(key, d, leftOut)
}

// known returns a Decision, the zero one if nobody wanted it.
func known(d *Decision) Decision {
	if d == nil {
		return Decision{}
	}
	return *d
}

// A pace lets through ten at once and one a second from then on. Who is not let
// through reads one word, and writes none.
type pace struct {
	used   atomic.Int64
	giving atomic.Bool // a timer will give one back
}

const (
	paceBurst = 10
	paceEvery = time.Second
)

func (p *pace) may() bool {
	for {
		used := p.used.Load()
		if used >= paceBurst {
			return false
		}
		if p.used.CompareAndSwap(used, used+1) {
			break
		}
	}
	p.start()
	return true
}

func (p *pace) start() {
	if !p.giving.Swap(true) {
		time.AfterFunc(paceEvery, p.give)
	}
}

func (p *pace) give() {
	p.used.Add(-1)
	p.giving.Store(false)
	if p.used.Load() > 0 {
		p.start()
	}
}

// OnDenied has f called with what was denied, or would have been without
// WithShadow, by Allow, Take, TakeAs and their like, and by Layers in which c is what
// denied. Of many denials these are ten at once, and then one a second. f is called
// by the goroutine that was denied, which goes on when f returns; without a lock,
// several at a time. A panic in it ends there. The last one that was set is
// called; nil is none. It is safe to call while c is in use.
func (c *PerClient[K]) OnDenied(f func(K, Decision)) {
	if f == nil {
		c.watch.Store(nil)
		return
	}
	c.onDenied(func(key K, d Decision, _ uint64) { f(key, d) })
}

// LogDenied has denials logged in place of OnDenied: client, policy, retry_after,
// and, as left_out, how many there were since the last record. client says how a
// key is written, so that it can be left out or hashed.
func (c *PerClient[K]) LogDenied(l *slog.Logger, client func(K) string) {
	c.onDenied(func(key K, d Decision, leftOut uint64) {
		logDenied(context.Background(), l, "denied", d, leftOut, slog.String("client", client(key)))
	})
}

func (c *PerClient[K]) onDenied(tell func(K, Decision, uint64)) {
	c.watch.Store(&watch[K]{tell: tell, told: c.clients.tally.Sum(countDenied)})
}

// OnDenied is PerClient.OnDenied.
func (l *Limiter) OnDenied(f func(Decision)) {
	if f == nil {
		l.watch.Store(nil)
		return
	}
	l.onDenied(func(_ struct{}, d Decision, _ uint64) { f(d) })
}

// LogDenied is PerClient.LogDenied, without a client.
func (l *Limiter) LogDenied(logger *slog.Logger) {
	l.onDenied(func(_ struct{}, d Decision, leftOut uint64) {
		logDenied(context.Background(), logger, "denied", d, leftOut)
	})
}

func (l *Limiter) onDenied(tell func(struct{}, Decision, uint64)) {
	l.watch.Store(&watch[struct{}]{tell: tell, told: l.tally.Sum(countDenied)})
}

// LogValue is what a denial's record says of it: policy, retry_after unless that is
// Never, and shadowed if it was. With an empty key, as in slog.Any("", d), these are
// attributes of the record itself.
func (d Decision) LogValue() slog.Value {
	attrs := make([]slog.Attr, 1, 3)
	attrs[0] = slog.String("policy", d.Policy)
	if d.RetryAfter != Never {
		attrs = append(attrs, slog.Duration("retry_after", d.RetryAfter))
	}
	if d.Shadowed {
		attrs = append(attrs, slog.Bool("shadowed", true))
	}
	return slog.GroupValue(attrs...)
}
