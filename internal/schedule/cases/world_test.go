package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/schedule"
)

// A clock is a user's, of which weir does not know that it never steps back.
type clock struct{}

func (clock) Now() time.Duration { return schedule.Elapsed() }

func (clock) SleepUntil(ctx context.Context, t time.Duration) error {
	schedule.Await(func() bool { return schedule.Elapsed() >= t || ctx.Err() != nil })
	return ctx.Err()
}

// A kind is how states are kept: in a word without a lock, or in several. On the
// system's clock, one becomes the other as the policy is changed.
type kind struct {
	name   string
	clock  weir.Clock
	policy weir.Policy
}

var kinds = []kind{
	{"word", weir.SystemClock(), weir.TokenBucket(weir.PerHour(2))},
	{"log", weir.SystemClock(), weir.SlidingWindow(weir.PerHour(2))},
	{"bucket", clock{}, weir.TokenBucket(weir.PerHour(2))},
	{"buckets", clock{}, weir.All(weir.TokenBucket(weir.PerHour(2)), weir.TokenBucket(weir.PerDay(3)))},
}

// Keys by where they lie: all but far are in the first of two shards, and begin to
// be looked for at the same place.
const (
	here uint64 = iota + 2
	there
	third
	far = 1 << 63
)

// A subject is a Limiter, or a client of a PerClient.
type subject interface {
	Allow() bool
	Take(n int) weir.Decision
	Peek(n int) weir.Decision
	Reserve(n int) weir.Reservation
	ReserveWithin(n int, most time.Duration) weir.Reservation
	Wait(ctx context.Context) error
	Charge(n int)
	Refund(n int)
	Reset()
	SetPolicy(weir.Policy) error
	Stats() weir.Stats
}

type client struct {
	*weir.PerClient[uint64]
	key uint64
}

func (c client) Allow() bool                    { return c.PerClient.Allow(c.key) }
func (c client) Take(n int) weir.Decision       { return c.PerClient.Take(c.key, n) }
func (c client) Peek(n int) weir.Decision       { return c.PerClient.Peek(c.key, n) }
func (c client) Reserve(n int) weir.Reservation { return c.PerClient.Reserve(c.key, n) }
func (c client) Wait(ctx context.Context) error { return c.PerClient.Wait(ctx, c.key) }
func (c client) Charge(n int)                   { c.PerClient.Charge(c.key, n) }
func (c client) Refund(n int)                   { c.PerClient.Refund(c.key, n) }
func (c client) Reset()                         { c.PerClient.Reset(c.key) }
func (c client) ReserveWithin(n int, most time.Duration) weir.Reservation {
	return c.PerClient.ReserveWithin(c.key, n, most)
}

// A world is what operations work on.
type world struct {
	subject // a Limiter, or here of the clients
	clients *weir.PerClient[uint64]
	paid    weir.Reservation // by the subject, before
	made    [4]made          // by each thread

	most      int  // clients that there may be; 0 for any number
	anyVictim bool // any of them may have to go

	limiter *weir.Limiter           // beside the clients, in
	layers  [2]*weir.Layers[uint64] // of both, in either order
}

type made struct {
	reservation weir.Reservation
	hold        weir.Hold
}

func newLimiter(k kind) *world {
	return &world{subject: weir.New(k.policy, weir.WithClock(k.clock))}
}

func newClients(k kind, opts ...weir.Option) *world {
	c := weir.NewPerClient[uint64](k.policy, append(opts, weir.WithClock(k.clock), weir.WithSweepEvery(0))...)
	return &world{subject: client{c, here}, clients: c}
}

// newLayers makes clients and a limiter, and layers of them.
func newLayers(k kind) *world {
	w := newClients(k)
	w.limiter = weir.New(k.policy, weir.WithClock(k.clock))
	first := weir.By(w.clients, func(key uint64) (uint64, bool) { return key, true })
	second := weir.Global[uint64](w.limiter)
	w.layers[0], w.layers[1] = weir.NewLayers(first, second), weir.NewLayers(second, first)
	return w
}

// left returns what is compared of what is left in the end.
func (w *world) left() string {
	stats := w.Stats()
	switch {
	case w.anyVictim:
		return fmt.Sprint(stats.Allowed+stats.Denied, " decisions")
	case w.limiter != nil:
		// Either may be the one that denies.
		other := w.limiter.Stats()
		return fmt.Sprint(stats.Allowed, other.Allowed, stats.Denied+other.Denied, stats.Waiting,
			w.Peek(1), w.limiter.Peek(1), w.clients.Peek(there, 1))
	}
	text := fmt.Sprintf("%+v %v", stats, w.Peek(1))
	for _, own := range w.made {
		text += fmt.Sprint(" ", own.reservation.Delay())
	}
	if w.clients != nil {
		for _, key := range []uint64{there, third, far} {
			text += fmt.Sprint("\n", w.clients.Peek(key, 1))
		}
	}
	return text
}

// broken returns what must not be, whatever else is.
func (w *world) broken() error {
	if w.most > 0 && w.clients.Len() > w.most {
		return fmt.Errorf("%d clients are held, and at most %d may be", w.clients.Len(), w.most)
	}
	return nil
}
