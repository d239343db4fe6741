package weir_test

import (
	"context"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// Weir's limiters and those of the model, so that both can be asked alike.

// verbs is what a Limiter or a key of a PerClient is asked, and what belongs to it as a whole.
type verbs interface {
	Take(n int) weir.Decision
	TakeAs(n int, p weir.Policy) weir.Decision
	AllowN(n int) bool
	Peek(n int) weir.Decision
	Reserve(n int, within time.Duration) receipt
	Charge(n int)
	Refund(n int)
	Reset()
	whole
}

type whole interface {
	Policy() weir.Policy
	SetPolicy(p weir.Policy)
	Stats() weir.Stats
	Sweep() int
}

type receipt interface {
	Delay() time.Duration
	Err() error
	Cancel()
	Settle(actual int)
}

type realLimiter struct{ *weir.Limiter }

func (l realLimiter) TakeAs(n int, _ weir.Policy) weir.Decision { return l.Take(n) }
func (l realLimiter) SetPolicy(p weir.Policy)                   { must(l.Limiter.SetPolicy(p)) }
func (l realLimiter) Sweep() int                                { return 0 }
func (l realLimiter) Reserve(n int, within time.Duration) receipt {
	if within == weir.Never {
		return l.Limiter.Reserve(n)
	}
	return l.ReserveWithin(n, within)
}

type modelLimiter struct{ *model.Limiter }

func (l modelLimiter) TakeAs(n int, _ weir.Policy) weir.Decision { return l.Take(n) }
func (l modelLimiter) AllowN(n int) bool                         { return l.Take(n).Allowed }
func (l modelLimiter) Sweep() int                                { return 0 }
func (l modelLimiter) Reserve(n int, within time.Duration) receipt {
	return l.Limiter.Reserve(n, within)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// keyed is a PerClient.
type keyed interface {
	Take(key, n int) weir.Decision
	TakeAs(key, n int, p weir.Policy) weir.Decision
	AllowN(key, n int) bool
	Peek(key, n int) weir.Decision
	Reserve(key, n int, within time.Duration) receipt
	Charge(key, n int)
	Refund(key, n int)
	Reset(key int)
	whole
}

type realClients struct {
	*weir.PerClient[int]
	probes weir.Stats // what was counted for finding out who was forgotten
}

func (c *realClients) SetPolicy(p weir.Policy) { must(c.PerClient.SetPolicy(p)) }
func (c *realClients) Reserve(key, n int, within time.Duration) receipt {
	if within == weir.Never {
		return c.PerClient.Reserve(key, n)
	}
	return c.ReserveWithin(key, n, within)
}

// forgotten is the one of some clients that a full PerClient has forgotten: what is asked for it counts
// as Overflowed. To ask for what is never admitted changes nothing else.
func (c *realClients) forgotten(among []int) int {
	slices.Sort(among)
	for _, key := range among {
		before := c.PerClient.Stats()
		c.TakeAs(key, 2, weir.TokenBucket(weir.PerSecond(1)))
		after := c.PerClient.Stats()
		c.probes.Denied += after.Denied - before.Denied
		c.probes.Shadowed += after.Shadowed - before.Shadowed
		if after.Overflowed > before.Overflowed {
			c.probes.Overflowed++
			return key
		}
	}
	panic("nobody is forgotten")
}

func (c *realClients) Stats() weir.Stats {
	s := c.PerClient.Stats()
	s.Denied -= c.probes.Denied
	s.Shadowed -= c.probes.Shadowed
	s.Overflowed -= c.probes.Overflowed
	return s
}

type modelClients struct{ *model.PerClient[int] }

func (c modelClients) AllowN(key, n int) bool { return c.Take(key, n).Allowed }
func (c modelClients) Reserve(key, n int, within time.Duration) receipt {
	return c.PerClient.Reserve(key, n, within)
}

// client is a key of a PerClient.
type client struct {
	keyed
	key int
}

func (c client) Take(n int) weir.Decision                  { return c.keyed.Take(c.key, n) }
func (c client) TakeAs(n int, p weir.Policy) weir.Decision { return c.keyed.TakeAs(c.key, n, p) }
func (c client) AllowN(n int) bool                         { return c.keyed.AllowN(c.key, n) }
func (c client) Peek(n int) weir.Decision                  { return c.keyed.Peek(c.key, n) }
func (c client) Reserve(n int, within time.Duration) receipt {
	return c.keyed.Reserve(c.key, n, within)
}
func (c client) Charge(n int) { c.keyed.Charge(c.key, n) }
func (c client) Refund(n int) { c.keyed.Refund(c.key, n) }
func (c client) Reset()       { c.keyed.Reset(c.key) }

// layered is Layers.
type layered interface {
	Allow(v visit) bool
	Take(v visit, n int) weir.Decision
	TakeContext(ctx context.Context, v visit, n int) (weir.Decision, error)
	Peek(v visit, n int) weir.Decision
}

type modelLayers struct{ *model.Layers[visit] }

func (l modelLayers) Allow(v visit) bool { return l.Take(v, 1).Allowed }
func (l modelLayers) TakeContext(_ context.Context, v visit, n int) (weir.Decision, error) {
	return l.Take(v, n), nil
}
