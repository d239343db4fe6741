package weir

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/spacesaving"
	"github.com/goweir/weir/internal/table"
)

// A PerClient is one policy with a state for each key: an address, a user, a
// route, or a struct of several. It is safe for concurrent use.
//
// It holds a key from its first admission or charge until a sweep finds it full
// again. The others need no memory: a full one is like one that was never seen. A key is known by a 64-bit hash with a
// secret seed and is not kept itself, so keys can be asked for but not listed.
// Among n keys the chance that any two share a hash is n^2 / 2^65, 3 in 100
// million at a million keys; those two are then limited together: more, never
// less. A key that is not equal to itself, such as a NaN, is never limited.
type PerClient[K comparable] struct {
	seed    maphash.Seed
	clients *clients
	watch   atomic.Pointer[watch[K]]
	top     *spacesaving.Top[K] // nil unless asked for
}

// NewPerClient returns a PerClient that holds nobody. It panics if p is
// invalid, with the text of p.Validate, and if an option makes no sense.
//
// While it holds clients, a timer sweeps it: no goroutine runs meanwhile, and a
// PerClient that nobody refers to is collected, closed or not.
func NewPerClient[K comparable](p Policy, opts ...Option) *PerClient[K] {
	c := &clients{core: core{newOptions(opts), newTally()}}
	d := newDecider(mustBeValid(p), c.clock)
	c.decider.Store(&d)
	c.shared.held.Store(newHeld(&d))
	c.states = table.New[annex](c.shards(&d), d.slotSize(), c.maxClients)
	shards := c.states.Shards()
	for i := range shards {
		shards[i].Annex.decider = &d
	}
	return &PerClient[K]{seed: maphash.MakeSeed(), clients: c, top: newTop[K](c.topDenied)}
}

// hash returns what a key is known by.
func (c *PerClient[K]) hash(key K) uint64 { return maphash.Comparable(c.seed, key) }

// Allow reports whether one more is allowed to the key now, and consumes it if
// so.
func (c *PerClient[K]) Allow(key K) bool {
	return c.clients.decide(c.hash(key), 1, true, nil) || c.denied(key, 1, nil)
}

// AllowN reports whether n are allowed to the key now, and consumes them if so,
// or nothing. An n of 0 is always allowed, a negative one never.
func (c *PerClient[K]) AllowN(key K, n int) bool {
	return c.clients.decide(c.hash(key), n, true, nil) || c.denied(key, n, nil)
}

// Take consumes n or nothing, as AllowN does, and says more about it.
func (c *PerClient[K]) Take(key K, n int) Decision {
	var d Decision
	if !c.clients.decide(c.hash(key), n, true, &d) {
		c.denied(key, n, &d)
	}
	return d
}

// Peek returns what Take(key, n) would. It consumes nothing, counts nothing and
// holds no key for it.
func (c *PerClient[K]) Peek(key K, n int) Decision {
	var d Decision
	c.clients.verdict(c.clients.decide(c.hash(key), n, false, &d), &d)
	return d
}

// Tokens returns how many are left to the key now: the largest n that Take
// would admit.
func (c *PerClient[K]) Tokens(key K) int { return c.Peek(key, 0).Remaining }

// TakeAs is Take under a policy of the key's own: a plan, an exception. What the
// key has used under its last policy stays used, as SetPolicy has it, if n is
// taken; the other methods bring it back to the PerClient's policy likewise. Make
// the policies once: to compare two takes longer than to see that they are one. It
// panics if p is invalid, with the text of p.Validate. A new key for which
// ShareOverflow has no place is decided under the PerClient's policy. Under a
// policy that keeps no count, of Unlimited or of 0, what was used is forgotten. While a
// reservation of the key is still to come, a RetryAfter under another policy may be too
// early: each denial lays that out anew.
func (c *PerClient[K]) TakeAs(key K, n int, p Policy) Decision {
	var d Decision
	if !c.clients.decideAs(c.hash(key), mustBeValid(p).spec, n, &d) {
		c.denied(key, n, &d)
	}
	return d
}

// AllowAs reports whether one more is allowed to the key now under a policy of
// its own, and consumes it if so, as TakeAs does.
func (c *PerClient[K]) AllowAs(key K, p Policy) bool {
	if c.watch.Load() != nil { // who wants the Decision
		return c.TakeAs(key, 1, p).Allowed
	}
	return c.clients.decideAs(c.hash(key), mustBeValid(p).spec, 1, nil) || c.denied(key, 1, nil)
}

// denied is what becomes of a denial: it lets it pass in shadow, and tells of it. d is
// what was decided, if that is known.
func (c *PerClient[K]) denied(key K, n int, d *Decision) bool {
	ok := c.clients.verdict(false, d)
	c.tell(key, n, known(d))
	return ok
}

// tell counts a denial by its key, and tells of it whoever watches. The zero Decision is
// one that is not known.
func (c *PerClient[K]) tell(key K, n int, d Decision) {
	if c.top != nil && n > 0 {
		c.top.Add(key)
	}
	if w := c.watch.Load(); w != nil && n > 0 && w.pace.may() {
		if d == (Decision{}) {
			d = c.Peek(key, n)
		}
		w.denied(key, &c.clients.tally, d)
	}
}

// Reserve takes n of the key's at the earliest instant that admits it, which may
// be still to come, behind those that were reserved before. It counts as Allowed
// from then on, whether it is cancelled or not.
func (c *PerClient[K]) Reserve(key K, n int) Reservation {
	return c.clients.reserve(c.clients, c.hash(key), n, Never, false)
}

// ReserveWithin is Reserve if that instant is not further off than most, of which
// a negative one counts as 0; otherwise it takes nothing.
func (c *PerClient[K]) ReserveWithin(key K, n int, most time.Duration) Reservation {
	return c.clients.reserve(c.clients, c.hash(key), n, most, false)
}

// Wait waits until one is allowed to the key, behind those who came before, and
// consumes it. It fails as Limiter.Wait does.
func (c *PerClient[K]) Wait(ctx context.Context, key K) error {
	return c.clients.wait(ctx, c.clients, c.hash(key), 1)
}

// WaitN is Wait for n.
func (c *PerClient[K]) WaitN(ctx context.Context, key K, n int) error {
	return c.clients.wait(ctx, c.clients, c.hash(key), n)
}

// Charge consumes n of the key's although it may not be there, as Limiter.Charge
// does. A new key that DenyNew has no place for is not charged.
func (c *PerClient[K]) Charge(key K, n int) { chargeKey(c.clients, c.hash(key), int64(n)) }

// Refund gives back up to n of what the key consumed last, as Limiter.Refund
// does.
func (c *PerClient[K]) Refund(key K, n int) { refundKey(c.clients, c.hash(key), int64(n)) }

// Reset makes the key full, which it then holds no longer, unless somebody waits
// for it: they go on as that allows. Receipts from before give nothing back. The state that ShareOverflow's clients share stays as it is.
func (c *PerClient[K]) Reset(key K) { c.clients.reset(c.hash(key)) }

// Policy returns the policy in force.
func (c *PerClient[K]) Policy() Policy { return Policy{c.clients.decider.Load().policy} }

// SetPolicy puts another policy in force, for all who come after, by the rules of
// Limiter.SetPolicy. Keys are brought to it a shard at a time, each before it is
// next decided about, so nobody waits for all of them. A key under a policy of its
// own keeps that.
func (c *PerClient[K]) SetPolicy(p Policy) error { return c.clients.setPolicy(p) }

// Stats returns the counters. Nobody waits for it long.
func (c *PerClient[K]) Stats() Stats {
	s := c.clients.tally.stats()
	s.Clients = c.clients.states.Len()
	s.Evicted = c.clients.sweeper.evicted.Load()
	s.Waiting = c.clients.pending()
	return s
}

// Len returns how many clients are held now, those included that are full and
// not swept yet.
func (c *PerClient[K]) Len() int { return c.clients.states.Len() }

// Sweep drops the clients that have been full for as long as WithStaleAfter
// says, and returns how many those were.
func (c *PerClient[K]) Sweep() int { return c.clients.sweep() }

// Close ends the sweeping by timer and returns nil. A sweep that has begun goes
// on to its end, and the PerClient goes on deciding. Close may be called again.
func (c *PerClient[K]) Close() error {
	c.clients.sweeper.close()
	return nil
}
