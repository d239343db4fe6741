package weir

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/goweir/weir/internal/table"
)

// A PerClient is one policy with a state for each key: an address, a user, a
// route, or a struct of several. It is safe for concurrent use.
//
// It holds only keys that are not full: the others need no memory, as a full
// one is like one that was never seen. A key is known by a 64-bit hash with a
// secret seed and is not kept itself, so keys can be asked for but not listed.
// Among n keys the chance that any two share a hash is n^2 / 2^65, 3 in 100
// million at a million keys; those two are then limited together: more, never
// less.
type PerClient[K comparable] struct {
	seed    maphash.Seed
	clients *clients
}

// clients is a PerClient without its type of key.
type clients struct {
	policy Policy
	options
	judge   judge
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
	c.judge = newJudge(p, c.clock)
	c.states = table.New[annex](c.shards(), c.judge.slotSize(), c.maxClients)
	c.zero = make([]uint64, c.judge.slotSize())
	c.shared = newCell(&c.judge)
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

// Reset forgets the key, which makes it full.
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

// Len returns how many clients are held now.
func (c *PerClient[K]) Len() int { return c.clients.states.Len() }

// Sweep drops the clients that have been full for as long as WithStaleAfter
// says, and returns how many those were.
func (c *PerClient[K]) Sweep() int { return c.clients.sweep() }

// Close ends the sweeping by timer and returns nil. The PerClient goes on
// deciding. Close may be called again.
func (c *PerClient[K]) Close() error {
	c.clients.sweeper.close()
	return nil
}

// decide is what every verb comes to. It fills d unless that is nil.
func (c *clients) decide(hash uint64, n int, consume bool, d *Decision) bool {
	ok := c.ask(hash, int64(n), consume, d)
	if consume {
		c.tally.count(n, ok, c.shadow)
	}
	return c.verdict(ok, d)
}

// ask finds the key's state and has it judged: without a lock if it is there
// and that will do, otherwise under its shard's.
func (c *clients) ask(hash uint64, n int64, consume bool, d *Decision) bool {
	slot, hole := c.states.Find(hash)
	if c.judge.bucket != nil {
		if slot != nil {
			if ok, moved := c.judge.askWord(&slot[0], n, consume, d); !moved {
				return ok
			}
		}
		return c.askWordLocked(hash, hole, n, consume, d)
	}
	reading := int64(c.clock.Now())
	if slot != nil && d == nil && c.judge.closed(slot, reading, n) {
		return false
	}
	shard := c.states.Shard(hash)
	shard.Lock()
	if slot, hole = shard.Find(hash); slot == nil {
		return c.askNew(shard, hash, hole, reading, n, consume, d)
	}
	defer shard.Unlock()
	return c.judge.askLocked(slot, &shard.Annex.logs, reading, n, consume, d)
}

// askWordLocked has a state of one word judged under its shard's lock: a new
// one, or one that has moved.
func (c *clients) askWordLocked(hash uint64, hole table.Hole, n int64, consume bool, d *Decision) bool {
	shard := c.states.Shard(hash)
	shard.Lock()
	if !shard.Open(hole) {
		var slot []uint64
		if slot, hole = shard.Find(hash); slot != nil {
			ok, _ := c.judge.askWord(&slot[0], n, consume, d)
			shard.Unlock()
			return ok
		}
	}
	if !c.states.Full() {
		fresh := [1]uint64{}
		ok, _ := c.judge.askWord(&fresh[0], n, consume, d)
		if fresh[0] == 0 {
			shard.Unlock()
			return ok
		}
		if shard.Insert(hash, hole, fresh[:]) != nil {
			shard.Unlock()
			c.sweeper.arm(c)
			return ok
		}
		// Another shard took the last place meanwhile.
	}
	return c.askNew(shard, hash, hole, int64(c.clock.Now()), n, consume, d)
}

// askNew asks the policy about a key that has no state, and gives it one if it
// needs one. It unlocks the shard.
func (c *clients) askNew(shard *table.Shard[annex], hash uint64, hole table.Hole, reading, n int64, consume bool, d *Decision) bool {
	s := c.judge.open(c.zero, &shard.Annex.logs, reading)
	s.newest = max(s.newest, shard.Annex.swept)
	now, wait := c.policy.decide(s, reading, n, d)
	ok := wait == 0
	switch {
	case c.policy.size == 0:
		shard.Unlock()
		return ok
	case c.states.Full():
		return c.askOverflow(shard, hash, reading, n, consume, ok, d)
	case !ok || !consume || n == 0:
		shard.Unlock()
		return ok
	}
	slot := c.newSlot(shard, now, n)
	if shard.Insert(hash, hole, slot) == nil { // another shard took the last place meanwhile
		c.policy.release(c.judge.open(slot, &shard.Annex.logs, now))
		return c.askOverflow(shard, hash, reading, n, consume, ok, d)
	}
	shard.Unlock()
	c.sweeper.arm(c)
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
	s := c.judge.open(slot, &shard.Annex.logs, now)
	c.policy.take(s, now, n)
	if c.judge.bucket == nil {
		slot[slotNewest] = mark(now)
	}
	return slot
}

func (c *clients) reset(hash uint64) {
	shard := c.states.Shard(hash)
	shard.Lock()
	defer shard.Unlock()
	for {
		slot, _ := shard.Find(hash)
		if slot == nil {
			return
		}
		if shard.Delete(hash, atomic.LoadUint64(&slot[0])) {
			c.policy.release(c.judge.open(slot, &shard.Annex.logs, 0))
			return
		}
	}
}
