package weir

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/table"
)

// A PerClient is one policy with a state for each key: an address, a user, a
// route, or a struct of several. It is safe for concurrent use.
//
// It holds a key from its first admission until a sweep finds it full again. The
// others need no memory: a full one is like one that was never seen. A key is known by a 64-bit hash with a
// secret seed and is not kept itself, so keys can be asked for but not listed.
// Among n keys the chance that any two share a hash is n^2 / 2^65, 3 in 100
// million at a million keys; those two are then limited together: more, never
// less. A key that is not equal to itself, such as a NaN, is never limited.
type PerClient[K comparable] struct {
	seed    maphash.Seed
	clients *clients
}

// clients is a PerClient without its type of key.
type clients struct {
	core
	decider atomic.Pointer[decider] // in force; a shard's states are those of its own
	states  *table.Table[annex]
	shared  cell // ShareOverflow's
	sweeper sweeper
	setting sync.Mutex // SetPolicy, one at a time

	reserved atomic.Bool // there has been an account
}

// An annex is what belongs to a shard beside its slots, under its lock.
type annex struct {
	decider *decider
	logs    logbook
	ledger  *ledger  // nil before there is an account
	slot    []uint64 // in which a new state is made
	// swept is the mark of the newest reading at which a state was dropped:
	// absent keys are decided no earlier.
	swept uint64
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
	return &PerClient[K]{seed: maphash.MakeSeed(), clients: c}
}

// hash returns what a key is known by.
func (c *PerClient[K]) hash(key K) uint64 { return maphash.Comparable(c.seed, key) }

// Allow reports whether one more is allowed to the key now, and consumes it if
// so.
func (c *PerClient[K]) Allow(key K) bool {
	return c.clients.decide(c.hash(key), 1, true, nil)
}

// AllowN reports whether n are allowed to the key now, and consumes them if so,
// or nothing. An n of 0 is always allowed, a negative one never.
func (c *PerClient[K]) AllowN(key K, n int) bool {
	return c.clients.decide(c.hash(key), n, true, nil)
}

// Take consumes n or nothing, as AllowN does, and says more about it.
func (c *PerClient[K]) Take(key K, n int) Decision {
	var d Decision
	c.clients.decide(c.hash(key), n, true, &d)
	return d
}

// Peek returns what Take(key, n) would. It consumes nothing, counts nothing and
// holds no key for it.
func (c *PerClient[K]) Peek(key K, n int) Decision {
	var d Decision
	c.clients.decide(c.hash(key), n, false, &d)
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
// ShareOverflow has no place is decided under the PerClient's policy.
func (c *PerClient[K]) TakeAs(key K, n int, p Policy) Decision {
	var d Decision
	c.clients.decideAs(c.hash(key), mustBeValid(p).spec, n, &d)
	return d
}

// AllowAs reports whether one more is allowed to the key now under a policy of
// its own, and consumes it if so, as TakeAs does.
func (c *PerClient[K]) AllowAs(key K, p Policy) bool {
	return c.clients.decideAs(c.hash(key), mustBeValid(p).spec, 1, nil)
}

// Reserve takes n of the key's at the earliest instant that admits it, which may
// be still to come, behind those that were reserved before. It counts as Allowed
// from then on, whether it is cancelled or not.
func (c *PerClient[K]) Reserve(key K, n int) Reservation {
	return c.clients.reserve(c.clients, c.hash(key), n, Never, false)
}

// ReserveWithin is Reserve if that instant is not further off than most;
// otherwise it takes nothing.
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

// Reset forgets the key, which makes it full, and those who wait for it go on as
// that allows. The state that ShareOverflow's clients share stays as it is.
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

// decide is what every verb about now comes to. It fills out unless that is nil.
func (c *clients) decide(hash uint64, n int, consume bool, out *Decision) bool {
	var ok bool
	if d := c.decider.Load(); d.bucket != nil {
		ok = c.decideWord(d, hash, int64(n), consume, out)
	} else {
		ok = c.decideWords(d, hash, int64(n), consume, out)
	}
	if consume {
		c.tally.count(n, ok, c.shadow)
	}
	return c.verdict(ok, out)
}

// decideKey is decide without the counting, for who has to begin again.
func (c *clients) decideKey(hash uint64, n int64, consume bool, out *Decision) bool {
	d := c.decider.Load()
	if d.bucket != nil {
		return c.decideWord(d, hash, n, consume, out)
	}
	return c.decideWords(d, hash, n, consume, out)
}

func (c *clients) try(hash uint64, n int64) bool { return c.decideKey(hash, n, true, nil) }

// decideWord decides about a state of one word, without a lock if it is there.
func (c *clients) decideWord(d *decider, hash uint64, n int64, consume bool, out *Decision) bool {
	place, found := c.states.Find(hash)
	if found && place.Epoch() == d.epoch {
		if ok, moved := d.decideWord(place.Word(), n, consume, out); !moved {
			return ok
		}
	}
	shard := c.lock(hash)
	if d = shard.Annex.decider; d.bucket == nil {
		shard.Unlock()
		return c.decideWords(d, hash, n, consume, out)
	}
	if found || !shard.Free(place) {
		if place, found = shard.Find(hash); found {
			ok, moved := d.decideWord(place.Word(), n, consume, out)
			if moved {
				ok = c.decideAway(shard, hash, place, d.now(), n, consume, out)
			}
			shard.Unlock()
			return ok
		}
	}
	if c.maxClients > 0 {
		return c.decideNew(shard, hash, place, d.now(), n, consume, out)
	}
	var fresh [1]uint64
	ok, _ := d.decideWord(&fresh[0], n, consume, out)
	if fresh[0] == 0 {
		shard.Unlock()
		return ok
	}
	shard.Insert(hash, place, fresh[:])
	shard.Unlock()
	c.sweeper.arm(c)
	return ok
}

// decideWords decides about a state of several words under its shard's lock, or
// without it if the state is known to deny.
func (c *clients) decideWords(d *decider, hash uint64, n int64, consume bool, out *Decision) bool {
	reading := d.now()
	if d.policy.size == 0 {
		_, wait := d.policy.decide(state{}, reading, n, out)
		return wait == 0
	}
	if out == nil {
		if d.foregone(n) {
			return false
		}
		place, found := c.states.Find(hash)
		if found && place.Epoch() == d.epoch && d.closed(place.Slot(), reading, n) {
			return false
		}
	}
	shard := c.lock(hash)
	if d = shard.Annex.decider; d.bucket != nil {
		shard.Unlock()
		return c.decideWord(d, hash, n, consume, out)
	}
	place, found := shard.Find(hash)
	if !found {
		return c.decideNew(shard, hash, place, reading, n, consume, out)
	}
	defer shard.Unlock()
	if *place.Word() == apart {
		return c.decideAway(shard, hash, place, reading, n, consume, out)
	}
	return d.decideLocked(place.Slot(), &shard.Annex.logs, reading, n, consume, out)
}

// decideAway decides about an account.
func (c *clients) decideAway(shard *table.Shard[annex], hash uint64, place table.Place, reading, n int64, consume bool, out *Decision) bool {
	o := c.opened(shard, hash, place.Slot(), reading)
	ok := o.decideAs(o.decider.policy, o.reading, n, consume, out)
	c.put(o)
	return ok
}

// decideAs decides about n under a policy of the key's own.
func (c *clients) decideAs(hash uint64, p *spec, n int, out *Decision) bool {
	if d := c.decider.Load(); p == d.policy || (Policy{p}).Equal(Policy{d.policy}) {
		return c.decide(hash, n, true, out)
	}
	o := c.open(hash, int64(n), p)
	if o.overflowed && n > 0 {
		c.tally.Add(countOverflowed)
	}
	var ok bool
	switch {
	case o.refused:
		ok = denyNew(o.victim, int64(n), o.decideAs(p, o.reading, int64(n), false, out), out)
	case o.keeper == c:
		ok = o.decideAs(p, o.reading, int64(n), true, out)
	default:
		ok = o.decide(o.reading, int64(n), true, out)
	}
	o.close()
	c.tally.count(n, ok, c.shadow)
	return c.verdict(ok, out)
}

// decideNew decides about a key that has no state, and gives it one if it needs
// one. It unlocks the shard.
func (c *clients) decideNew(shard *table.Shard[annex], hash uint64, place table.Place, reading, n int64, consume bool, out *Decision) bool {
	d := shard.Annex.decider
	s := d.open(d.zero, &shard.Annex.logs, reading)
	s.newest = max(s.newest, shard.Annex.swept)
	now, wait := d.policy.decide(s, reading, n, out)
	ok := wait == 0
	takes := ok && consume && n > 0
	held := true
	switch {
	case c.crowded(reading):
		held = false
	case takes:
		slot := c.newSlot(shard, now, n)
		if held = shard.Insert(hash, place, slot) != nil; !held { // another shard took the last place meanwhile
			d.policy.release(d.open(slot, &shard.Annex.logs, now))
		}
	}
	if held {
		shard.Unlock()
		if takes {
			c.sweeper.arm(c)
		}
		return ok
	}
	ok, elsewhere := c.decideOverflow(shard, hash, now, reading, n, consume, ok, out)
	if !elsewhere && consume && n > 0 {
		c.tally.Add(countOverflowed)
	}
	shard.Unlock()
	if elsewhere {
		c.evictElsewhere(reading)
		return c.decideKey(hash, n, consume, out)
	}
	return ok
}

// newSlot returns the slot of a key of which n were taken at an instant, and
// nothing before. It is valid until the next call for the shard.
func (c *clients) newSlot(shard *table.Shard[annex], now, n int64) []uint64 {
	d := shard.Annex.decider
	slot := shard.Annex.emptySlot()
	s := d.open(slot, &shard.Annex.logs, now)
	d.policy.take(s, now, n)
	if d.bucket == nil {
		slot[slotNewest] = mark(now)
	}
	return slot
}

// emptySlot returns a slot that is all 0, valid until the next call.
func (a *annex) emptySlot() []uint64 {
	if len(a.slot) != len(a.decider.zero) {
		a.slot = make([]uint64, len(a.decider.zero))
	}
	clear(a.slot)
	return a.slot
}

func (c *clients) reset(hash uint64) {
	if c.resetPlain(hash) {
		return
	}
	o := c.open(hash, 0, nil)
	o.account.reset(o.advance(o.reading))
	if o.slot != nil && o.newest == 0 && o.line.empty() {
		c.drop(&o) // nobody was waiting for it
	}
	o.close()
}

// resetPlain drops a state that is in its slot, and reports whether that is all
// there is to do.
func (c *clients) resetPlain(hash uint64) bool {
	shard := c.lock(hash)
	defer shard.Unlock()
	for {
		place, found := shard.Find(hash)
		if !found {
			return true
		}
		slot := place.Slot()
		first := atomic.LoadUint64(&slot[0])
		if first == apart {
			return false
		}
		if shard.Delete(hash, first) {
			d := shard.Annex.decider
			if l := shard.Annex.ledger; l != nil {
				l.void(table.Key(hash))
			}
			d.policy.release(d.open(slot, &shard.Annex.logs, 0))
			return true
		}
	}
}
