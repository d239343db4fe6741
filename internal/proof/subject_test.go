package proof

import (
	"math"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// verbs are what can be asked of a limiter and of a key of one.
type verbs interface {
	Take(n int) weir.Decision
	TakeAs(n int, p weir.Policy) weir.Decision
	AllowN(n int) bool
	Peek(n int) weir.Decision
	Reserve(n int, within time.Duration) receipt
	Charge(n int)
	Refund(n int)
	Reset()
}

type receipt interface {
	Delay() time.Duration
	Err() error
	Cancel()
	Settle(actual int)
}

// A pair is one of weir's and one of the model's.
type pair[T any] struct {
	name        string
	real, model T
}

// A limiter is a Limiter or a PerClient as a whole.
type limiter interface {
	Policy() weir.Policy
	SetPolicy(p weir.Policy)
	Sweep() int
	Stats() weir.Stats
}

type realLimiter struct{ *weir.Limiter }

func (l realLimiter) TakeAs(n int, _ weir.Policy) weir.Decision { return l.Take(n) }
func (l realLimiter) Sweep() int                                { return 0 }
func (l realLimiter) SetPolicy(p weir.Policy)                   { must(l.Limiter.SetPolicy(p)) }
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

type realClients struct {
	*weir.PerClient[int]
	probes weir.Stats // what was counted for asking who is forgotten
}

// forgotten is the one of some clients that a full PerClient has forgotten: a
// decision about it counts as Overflowed. To ask for what is never admitted changes
// nothing else.
func (c *realClients) forgotten(among []int) int {
	slices.Sort(among)
	for _, key := range among {
		before := c.PerClient.Stats()
		c.Take(key, math.MaxInt)
		after := c.PerClient.Stats()
		c.probes.Denied += after.Denied - before.Denied
		c.probes.Shadowed += after.Shadowed - before.Shadowed
		c.probes.Overflowed += after.Overflowed - before.Overflowed
		if after.Overflowed > before.Overflowed {
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

func (c *realClients) SetPolicy(p weir.Policy) { must(c.PerClient.SetPolicy(p)) }

type modelClients struct{ *model.PerClient[int] }

type realClient struct {
	*weir.PerClient[int]
	key int
}

func (c realClient) Take(n int) weir.Decision { return c.PerClient.Take(c.key, n) }
func (c realClient) TakeAs(n int, p weir.Policy) weir.Decision {
	return c.PerClient.TakeAs(c.key, n, p)
}
func (c realClient) AllowN(n int) bool        { return c.PerClient.AllowN(c.key, n) }
func (c realClient) Peek(n int) weir.Decision { return c.PerClient.Peek(c.key, n) }
func (c realClient) Charge(n int)             { c.PerClient.Charge(c.key, n) }
func (c realClient) Refund(n int)             { c.PerClient.Refund(c.key, n) }
func (c realClient) Reset()                   { c.PerClient.Reset(c.key) }
func (c realClient) Reserve(n int, within time.Duration) receipt {
	if within == weir.Never {
		return c.PerClient.Reserve(c.key, n)
	}
	return c.ReserveWithin(c.key, n, within)
}

type modelClient struct {
	*model.PerClient[int]
	key int
}

func (c modelClient) Take(n int) weir.Decision { return c.PerClient.Take(c.key, n) }
func (c modelClient) TakeAs(n int, p weir.Policy) weir.Decision {
	return c.PerClient.TakeAs(c.key, n, p)
}
func (c modelClient) AllowN(n int) bool        { return c.Take(n).Allowed }
func (c modelClient) Peek(n int) weir.Decision { return c.PerClient.Peek(c.key, n) }
func (c modelClient) Charge(n int)             { c.PerClient.Charge(c.key, n) }
func (c modelClient) Refund(n int)             { c.PerClient.Refund(c.key, n) }
func (c modelClient) Reset()                   { c.PerClient.Reset(c.key) }
func (c modelClient) Reserve(n int, within time.Duration) receipt {
	return c.PerClient.Reserve(c.key, n, within)
}
