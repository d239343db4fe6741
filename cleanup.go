package weir

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/goweir/weir/internal/table"
)

const (
	// mostShards keeps cores apart; more would only take memory.
	mostShards = 2048
	// clientsPerShard is what a bounded PerClient has at least, so that a shard
	// always has enough clients to choose one to evict from.
	clientsPerShard = 512
	// sampled is how many clients are looked at to find one to evict.
	sampled = 8
)

// shards returns into how many shards to divide the states.
func (c *clients) shards() int {
	if c.maxClients == 0 {
		return mostShards
	}
	shards := 1
	for shards < mostShards && 2*shards*clientsPerShard <= c.maxClients {
		shards *= 2
	}
	return shards
}

// sweep drops all stale states, a shard at a time.
func (c *clients) sweep() (evicted int) {
	shards := c.states.Shards()
	for i := range shards {
		evicted += c.sweepShard(&shards[i])
	}
	return evicted
}

// sweepShard drops a shard's stale states: those that a new one would be no
// different from, and were so before the time that they are kept. No debt is
// ever forgotten, whatever the clock does.
func (c *clients) sweepShard(shard *table.Shard[annex]) int {
	shard.Lock()
	defer shard.Unlock()
	if shard.Len() == 0 {
		return 0
	}
	reading := int64(c.clock.Now())
	then := saturatingSub(reading, int64(c.staleAfter))
	evicted := shard.Sweep(func(slot []uint64, stopped bool) bool {
		s := c.judge.open(slot, &shard.Annex.logs, then)
		if mark(then) < s.newest || c.policy.reset(s, then) > 0 {
			return false
		}
		if stopped {
			c.policy.release(s)
		}
		return true
	})
	if evicted > 0 {
		shard.Annex.drop(reading)
		shard.Annex.logs.pack(c.policy.spec, func(f func(state)) {
			shard.Each(func(slot []uint64) { f(c.judge.open(slot, nil, reading)) })
		})
		c.sweeper.evicted.Add(uint64(evicted))
	}
	return evicted
}

// drop notes that a state was dropped at a reading.
func (a *annex) drop(reading int64) { a.swept = max(a.swept, mark(reading)) }

// A victim is a client that could make room for another.
type victim struct {
	hash  uint64
	seen  uint64        // the first word of its slot
	share float64       // how much of its capacity is used
	reset time.Duration // until it is full
	found bool
}

// victim returns, of a few of the shard's clients, the one whose loss forgives
// the least.
func (c *clients) victim(shard *table.Shard[annex], reading int64) victim {
	var best victim
	shard.Sample(rand.Uint64(), sampled, func(hash uint64, slot []uint64) {
		v := victim{hash: hash, seen: slot[0], found: true}
		s := c.judge.open(slot, &shard.Annex.logs, reading)
		now := s.clamp(reading)
		v.share, v.reset = c.policy.share(s, now), c.policy.reset(s, now)
		if !best.found || v.share < best.share || v.share == best.share && v.reset < best.reset {
			best = v
		}
	})
	return best
}

// gone notes that a victim was dropped at a reading, and gives back what its
// slot, which is no longer one, refers to.
func (c *clients) gone(shard *table.Shard[annex], v victim, slot []uint64, reading int64) {
	c.policy.release(c.judge.open(slot, &shard.Annex.logs, reading))
	shard.Annex.drop(reading)
	if v.reset == 0 {
		c.sweeper.evicted.Add(1)
	}
}

// askOverflow decides about a new client when no more are to be held. ok and d
// are what the policy says of it. It unlocks the shard.
func (c *clients) askOverflow(shard *table.Shard[annex], hash uint64, reading, n int64, consume, ok bool, d *Decision) bool {
	v := c.victim(shard, reading)
	switch {
	case v.found && (v.reset == 0 || c.overflow == EvictFullest):
		if ok && consume && n > 0 {
			old, _ := shard.Find(v.hash)
			now := state{newest: shard.Annex.swept}.clamp(reading)
			if shard.Replace(v.hash, v.seen, hash, c.newSlot(shard, now, n)) == nil {
				shard.Unlock() // it was charged meanwhile
				return c.ask(hash, n, consume, d)
			}
			c.gone(shard, v, old, reading)
		}
		shard.Unlock()
	case c.overflow == EvictFullest:
		shard.Unlock()
		if ok && consume && n > 0 {
			c.evictElsewhere(reading)
			return c.ask(hash, n, consume, d)
		}
	case c.overflow == DenyNew:
		shard.Unlock()
		ok = c.denyNew(v, n, ok, d)
	default:
		shard.Unlock()
		ok = c.shared.ask(&c.judge, n, consume, d)
	}
	if consume && n > 0 {
		c.tally.Add(countOverflowed)
	}
	return ok
}

// evictElsewhere drops a client of the first shard from a random one on that
// has any.
func (c *clients) evictElsewhere(reading int64) {
	shards := c.states.Shards()
	start := rand.IntN(len(shards))
	for i := range shards {
		shard := &shards[(start+i)%len(shards)]
		shard.Lock()
		v := c.victim(shard, reading)
		if v.found {
			old, _ := shard.Find(v.hash)
			if v.found = shard.Delete(v.hash, v.seen); v.found {
				c.tally.Add(countOverflowed)
				c.gone(shard, v, old, reading)
			}
		}
		shard.Unlock()
		if v.found {
			return
		}
	}
}

// denyNew denies a new client until the first of those it looked at is full
// and can go.
func (c *clients) denyNew(v victim, n int64, ok bool, d *Decision) bool {
	if d != nil {
		d.Remaining = 0
		if ok && n > 0 {
			d.Allowed = false
			d.RetryAfter = max(v.reset, time.Millisecond)
			d.ResetAfter = 0
		}
	}
	return ok && n == 0
}

// A sweeper is the timer that sweeps a PerClient while it holds clients.
type sweeper struct {
	evicted atomic.Uint64
	armed   atomic.Bool // there is a timer, or there will be none

	mu     sync.Mutex
	closed bool
	stop   func()
}

// arm sets the timer unless it is set.
func (s *sweeper) arm(c *clients) {
	if s.armed.Load() || c.sweepEvery == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.armed.Load() {
		return
	}
	s.armed.Store(true)
	clock, ok := c.clock.(alarmer)
	if !ok {
		clock = systemClock{}
	}
	// The timer must not keep alive a PerClient that nobody else refers to.
	held := weak.Make(c)
	s.stop = clock.afterFunc(c.sweepEvery, func() {
		if c := held.Value(); c != nil {
			c.sweeper.ring(c)
		}
	})
}

// ring sweeps, and sets the timer again if there are still clients.
func (s *sweeper) ring(c *clients) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return
	}
	c.sweep()
	s.mu.Lock()
	s.stop = nil
	s.armed.Store(s.closed)
	s.mu.Unlock()
	// Whoever came in before this line saw the timer set and did not set it.
	if c.states.Len() > 0 {
		s.arm(c)
	}
}

// close ends the sweeping for good.
func (s *sweeper) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.armed.Store(true)
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
