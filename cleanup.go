package weir

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/goweir/weir/internal/arena"
	"github.com/goweir/weir/internal/table"
)

const (
	// mostShards, of states of one word, bounds what one lock is held for: at ten
	// million clients a shard has ten thousand to move when it grows or is swept.
	// More would take memory where there are few clients.
	mostShards = 1024
	// clientsPerShard is what a bounded PerClient has at least, so that a shard
	// always has enough clients to choose one to evict from.
	clientsPerShard = 512
	// sampled is how many clients are looked at to find one to evict.
	sampled = 8
	// leastRetry is what a client is told at least that DenyNew denies: one that
	// was not looked at may be full already, but to ask again at once is no use.
	leastRetry = time.Millisecond
)

// shards returns into how many shards to divide the states.
func (c *clients) shards(d *decider) int {
	most := mostShards
	if d.bucket == nil {
		most *= 2 // several words take longer to move
	}
	if c.maxClients == 0 {
		return most
	}
	shards := 1
	for shards < most && 2*shards*clientsPerShard <= c.maxClients {
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
	c.lockShard(shard)
	defer shard.Unlock()
	d, logs := shard.Annex.decider, &shard.Annex.logs
	reading := int64(c.clock.Now())
	evicted := shard.Sweep(func(hash uint64, slot []uint64, stopped bool) bool {
		switch {
		case slot[0] == apart:
			return c.staleAccount(shard, hash, reading, stopped)
		case d.bucket != nil:
			return c.staleWord(d.bucket, slot[0], reading)
		case !c.staleState(d.policy, d.open(slot, logs, reading), reading):
			return false
		case stopped:
			d.policy.release(d.open(slot, logs, reading))
		}
		return true
	})
	logs.pack(func(bytes int, move func(arena.Ref) arena.Ref) { c.eachLog(shard, bytes, move) })
	if l := shard.Annex.ledger; l != nil {
		if l.forget(reading); len(l.accounts) == 0 && len(l.marks) == 0 {
			shard.Annex.ledger, shard.Annex.seq = nil, l.seq // what it has to spare is gone
		}
	}
	if evicted > 0 {
		shard.Annex.drop(reading)
		c.sweeper.evicted.Add(uint64(evicted))
	}
	return evicted
}

// staleWord reports whether a bucket is full at a reading, and has been for as
// long as it is kept then.
func (c *clients) staleWord(b *tokenBucket, word uint64, reading int64) bool {
	return b.debt(word, reading, b.furthest()) == 0 && (c.staleAfter == 0 || b.fullFor(word, reading) >= c.staleAfter)
}

// staleState is staleWord for any other state.
func (c *clients) staleState(p *spec, s state, reading int64) bool {
	then := saturatingSub(reading, int64(c.staleAfter))
	return mark(then) >= s.newest && p.reset(s, s.clamp(then)) == 0
}

// staleAccount is staleState for an account, which it forgets if that has stopped
// changing.
func (c *clients) staleAccount(shard *table.Shard[annex], hash uint64, reading int64, stopped bool) bool {
	l := shard.Annex.ledger
	a := l.accounts[hash]
	a.advance(reading)
	if !a.line.empty() || !c.staleState(a.policy, a.state(), reading) ||
		a.denied.known() && !c.staleState(a.denied.policy, a.denied.state(), reading) {
		return false
	}
	if stopped {
		a.policy.release(a.state())
		delete(l.accounts, hash)
		l.close(a)
	}
	return true
}

// eachLog moves the logs of so many bytes a stamp of all of a shard's states.
func (c *clients) eachLog(shard *table.Shard[annex], bytes int, move func(arena.Ref) arena.Ref) {
	d := shard.Annex.decider
	shard.Each(func(_ uint64, slot []uint64) {
		if d.bucket == nil && slot[0] != apart {
			d.policy.moveLogs(slot[slotWords:], bytes, move)
		}
	})
	if l := shard.Annex.ledger; l != nil {
		for _, a := range l.accounts {
			a.policy.moveLogs(a.words, bytes, move)
		}
	}
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
		p, s := shard.Annex.state(hash, slot, reading)
		now := s.clamp(reading)
		v.share, v.reset = p.share(s, now), p.reset(s, now)
		if v.seen == apart && shard.Annex.ledger.accounts[hash].line.waited() {
			v.share, v.reset = 2+v.share, max(1, v.reset) // somebody waits for it: above any other
		}
		if !best.found || v.share < best.share || v.share == best.share && v.reset < best.reset {
			best = v
		}
	})
	return best
}

// state returns the state in a copy of a slot, or of the account that is in its
// place, and the policy that it is under.
func (a *annex) state(hash uint64, slot []uint64, reading int64) (*spec, state) {
	if slot[0] == apart {
		account := a.ledger.accounts[hash]
		account.advance(reading)
		return account.policy, account.state()
	}
	if b := a.decider.bucket; b != nil {
		slot[0] = b.unpassed(slot[0], reading)
	}
	return a.decider.policy, a.decider.open(slot, &a.logs, reading)
}

// gone notes that a victim was dropped at a reading, and gives back what its
// slot, which is no longer one, refers to.
func (c *clients) gone(shard *table.Shard[annex], v victim, slot []uint64, reading int64) {
	l := shard.Annex.ledger
	if l != nil {
		l.void(v.hash)
	}
	if v.seen == apart {
		a := l.accounts[v.hash]
		a.policy.release(a.state())
		delete(l.accounts, v.hash)
		a.abandon()
	} else {
		d := shard.Annex.decider
		d.policy.release(d.open(slot, &shard.Annex.logs, reading))
	}
	shard.Annex.drop(reading)
	if v.reset == 0 {
		c.sweeper.evicted.Add(1)
	}
}

// crowded reports whether a new client gets no state of its own. While the
// state that ShareOverflow's clients share owes anything, none does: it might be
// one of those who used it, and a state of its own would be as much again.
func (c *clients) crowded(reading int64) bool {
	return c.states.Full() ||
		c.maxClients > 0 && c.overflow == ShareOverflow && c.shared.owes(reading)
}

// decideOverflow decides about a new client when no more are to be held, under
// its shard's lock. ok and out are what the policy says of it, for an admission
// at the instant now. elsewhere says that another shard must lose a client first.
func (c *clients) decideOverflow(shard *table.Shard[annex], hash uint64, now, reading, n int64, consume, ok bool, out *Decision) (_, elsewhere bool) {
	takes := ok && consume && n > 0
	for {
		v := c.victim(shard, reading)
		switch c.fate(v, reading) {
		case shares:
			return c.shared.decideAt(c.tally.Line(), reading, shard.Annex.swept, n, consume, out), false
		case replaces:
			if !takes || c.evict(shard, v, hash, now, reading, n) {
				return ok, false
			}
			// That one was charged meanwhile.
		case refused:
			return denyNew(v, n, ok, out), false
		default:
			return ok, takes
		}
	}
}

// A fate is what becomes of a new client when no more are to be held.
type fate int

const (
	waits    fate = iota // until another shard has lost a client
	shares               // the shared state
	replaces             // the victim
	refused
)

func (c *clients) fate(v victim, reading int64) fate {
	switch {
	case c.overflow == ShareOverflow && (!v.found || v.reset > 0 || c.shared.owes(reading)):
		return shares
	case v.found && (v.reset == 0 || c.overflow == EvictFullest):
		return replaces
	case c.overflow == DenyNew:
		return refused
	}
	return waits
}

// evict puts a new client, of which n are taken, in the place of a victim if
// that is still what it was. Only a slot of one word, which has no logs to give
// back, can have changed.
func (c *clients) evict(shard *table.Shard[annex], v victim, hash uint64, now, reading, n int64) bool {
	place, _ := shard.Find(v.hash)
	if shard.Replace(v.hash, v.seen, hash, c.newSlot(shard, now, n)) == nil {
		return false
	}
	c.gone(shard, v, place.Slot(), reading)
	return true
}

// evictElsewhere drops a client of the first shard from a random one on that
// has any.
func (c *clients) evictElsewhere(reading int64) {
	shards := c.states.Shards()
	start := rand.IntN(len(shards))
	for i := range shards {
		shard := &shards[(start+i)%len(shards)]
		c.lockShard(shard)
		v := c.victim(shard, reading)
		if v.found {
			place, _ := shard.Find(v.hash)
			if v.found = shard.Delete(v.hash, v.seen); v.found {
				c.tally.Add(countOverflowed)
				c.gone(shard, v, place.Slot(), reading)
			}
		}
		shard.Unlock()
		if v.found {
			return
		}
	}
}

// denyNew denies a new client. When a place will be free is not known: it says
// when the client that it looked at is full.
func denyNew(v victim, n int64, ok bool, out *Decision) bool {
	if out != nil {
		out.Remaining = 0
		if ok && n > 0 {
			out.Allowed, out.RetryAfter, out.ResetAfter = false, max(v.reset, leastRetry), 0
		}
	}
	return ok && n == 0
}

// A sweeper is the timer that sweeps a PerClient while it holds clients.
type sweeper struct {
	evicted atomic.Uint64
	armed   atomic.Bool // there is a timer, or there will be none: it is closed

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
	if s.armed.Load() {
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
