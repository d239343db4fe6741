package weir

import (
	"hash/maphash"
	"sync/atomic"

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
	policy Policy
	options
	decider decider
	states  *table.Table[annex]
	zero    []uint64 // the slot of a key that was never seen
	shared  cell     // ShareOverflow's
	sweeper sweeper
	tally   tally
}

// An annex is what belongs to a shard beside its slots, under its lock.
type annex struct {
	logs logbook
	slot []uint64 // in which a new state is made
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
	c := &clients{policy: mustBeValid(p), options: newOptions(opts), tally: newTally()}
	c.decider = newDecider(p, c.clock)
	c.states = table.New[annex](c.shards(), c.decider.slotSize(), c.maxClients)
	c.zero = make([]uint64, c.decider.slotSize())
	c.shared = newCell(&c.decider)
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

// Reset forgets the key, which makes it full. The state that ShareOverflow's
// clients share stays as it is.
func (c *PerClient[K]) Reset(key K) { c.clients.reset(c.hash(key)) }

// Policy returns the policy in force.
func (c *PerClient[K]) Policy() Policy { return c.clients.policy }

// Stats returns the counters. Nobody waits for it.
func (c *PerClient[K]) Stats() Stats {
	s := c.clients.tally.stats()
	s.Clients = c.clients.states.Len()
	s.Evicted = c.clients.sweeper.evicted.Load()
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

// decide is what every verb comes to. It fills out unless that is nil.
func (c *clients) decide(hash uint64, n int, consume bool, out *Decision) bool {
	var ok bool
	if c.decider.bucket != nil {
		ok = c.decideWord(hash, int64(n), consume, out)
	} else {
		ok = c.decideWords(hash, int64(n), consume, out)
	}
	if consume {
		c.tally.count(n, ok, c.shadow)
	}
	return c.verdict(ok, out)
}

// decideKey is decide without the counting, for who has to begin again.
func (c *clients) decideKey(hash uint64, n int64, consume bool, out *Decision) bool {
	if c.decider.bucket != nil {
		return c.decideWord(hash, n, consume, out)
	}
	return c.decideWords(hash, n, consume, out)
}

// decideWord decides about a state of one word, without a lock if it is there.
func (c *clients) decideWord(hash uint64, n int64, consume bool, out *Decision) bool {
	place, found := c.states.Find(hash)
	if found {
		if ok, moved := c.decider.decideWord(place.Word(), n, consume, out); !moved {
			return ok
		}
	}
	shard := c.states.Shard(hash)
	shard.Lock()
	if !shard.Free(place) {
		if place, found = shard.Find(hash); found {
			ok, _ := c.decider.decideWord(place.Word(), n, consume, out)
			shard.Unlock()
			return ok
		}
	}
	if c.maxClients > 0 {
		return c.decideNew(shard, hash, place, c.decider.now(), n, consume, out)
	}
	var fresh [1]uint64
	ok, _ := c.decider.decideWord(&fresh[0], n, consume, out)
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
func (c *clients) decideWords(hash uint64, n int64, consume bool, out *Decision) bool {
	reading := c.decider.now()
	if c.policy.size == 0 {
		_, wait := c.policy.decide(state{}, reading, n, out)
		return wait == 0
	}
	if out == nil {
		if c.decider.foregone(n) {
			return false
		}
		if place, found := c.states.Find(hash); found && c.decider.closed(place.Slot(), reading, n) {
			return false
		}
	}
	shard := c.states.Shard(hash)
	shard.Lock()
	place, found := shard.Find(hash)
	if !found {
		return c.decideNew(shard, hash, place, reading, n, consume, out)
	}
	defer shard.Unlock()
	return c.decider.decideLocked(place.Slot(), &shard.Annex.logs, reading, n, consume, out)
}

// decideNew decides about a key that has no state, and gives it one if it needs
// one. It unlocks the shard.
func (c *clients) decideNew(shard *table.Shard[annex], hash uint64, place table.Place, reading, n int64, consume bool, out *Decision) bool {
	s := c.decider.open(c.zero, &shard.Annex.logs, reading)
	s.newest = max(s.newest, shard.Annex.swept)
	now, wait := c.policy.decide(s, reading, n, out)
	ok := wait == 0
	takes := ok && consume && n > 0
	held := true
	switch {
	case c.crowded(reading):
		held = false
	case takes:
		slot := c.newSlot(shard, now, n)
		if held = shard.Insert(hash, place, slot) != nil; !held { // another shard took the last place meanwhile
			c.policy.release(c.decider.open(slot, &shard.Annex.logs, now))
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
	if shard.Annex.slot == nil {
		shard.Annex.slot = make([]uint64, len(c.zero))
	}
	slot := shard.Annex.slot
	clear(slot)
	s := c.decider.open(slot, &shard.Annex.logs, now)
	c.policy.take(s, now, n)
	if c.decider.bucket == nil {
		slot[slotNewest] = mark(now)
	}
	return slot
}

func (c *clients) reset(hash uint64) {
	shard := c.states.Shard(hash)
	shard.Lock()
	defer shard.Unlock()
	for {
		place, found := shard.Find(hash)
		if !found {
			return
		}
		slot := place.Slot()
		if shard.Delete(hash, atomic.LoadUint64(&slot[0])) {
			c.policy.release(c.decider.open(slot, &shard.Annex.logs, 0))
			return
		}
	}
}
