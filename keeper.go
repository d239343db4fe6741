package weir

import (
	"slices"
	"sync/atomic"

	"github.com/goweir/weir/internal/striped"
	"github.com/goweir/weir/internal/table"
)

// A core is what a Limiter and a PerClient have in common.
type core struct {
	options
	tally tally
}

// A keeper has the states of keys, each under a lock.
type keeper interface {
	// open locks a key's state and brings it here as an account. A key without one
	// gets one if n, more than 0, would be admitted to it under a policy, or the
	// keeper's if that is nil.
	open(hash uint64, n int64, as *spec) opened
	// openCharged is open for what was charged: a key without a state gets none, but
	// if it shares one that is what comes.
	openCharged(hash uint64) opened
	// shut puts it back and unlocks it.
	shut(opened)
	// try decides about n, and consumes it if it is admitted. It does not count.
	try(line *striped.Line, hash uint64, n int64) bool
}

// An opened account is one under its lock.
type opened struct {
	*account
	keeper  keeper // that it has to be put back to
	decider *decider
	reading int64 // of the clock

	brief      bool // what is taken is given back soon, or never
	overflowed bool // it is a new key, and there was no room for it
	refused    bool // nor is any

	shard  *table.Shard[annex]
	hash   uint64
	slot   []uint64 // where it goes; nil if it is not kept
	away   bool     // it was an account before
	isNew  bool     // the key had no state before
	victim victim   // who was looked at when it was refused
}

func (o *opened) close() { o.keeper.shut(*o) }

func (c *clients) open(hash uint64, n int64, as *spec) opened {
	for {
		reading := c.decider.Load().ahead()
		shard := c.lock(hash)
		place, found := shard.Find(hash)
		if found {
			return c.opened(shard, hash, place.Slot(), reading)
		}
		if reading == unread {
			reading = shard.Annex.decider.now()
		}
		p := as
		if p == nil {
			p = shard.Annex.decider.policy
		}
		if n <= 0 || n > p.capacity || p.size == 0 {
			if (as != nil || n > 0) && p.size > 0 && c.crowded(reading) {
				return c.openCrowded(shard, hash, reading)
			}
			return c.opened(shard, hash, nil, reading)
		}
		if !c.crowded(reading) {
			if slot := shard.Insert(hash, place, shard.Annex.apartSlot()); slot != nil {
				return c.opened(shard, hash, slot, reading)
			}
			// Another shard took the last place meanwhile.
		}
		v := c.victim(shard, reading)
		switch c.fate(v, reading) {
		case shares:
			return c.openShared(shard, reading)
		case replaces:
			old, _ := shard.Find(v.hash)
			if slot := shard.Replace(v.hash, v.seen, hash, shard.Annex.apartSlot()); slot != nil {
				c.gone(shard, v, old.Slot(), reading)
				o := c.opened(shard, hash, slot, reading)
				o.overflowed = true
				return o
			}
			shard.Unlock()
		case refused:
			o := c.opened(shard, hash, nil, reading)
			o.refused, o.overflowed, o.victim = true, true, v
			return o
		default:
			shard.Unlock()
			c.evictElsewhere(reading)
		}
	}
}

func (c *clients) openCharged(hash uint64) opened {
	reading := c.decider.Load().ahead()
	shard := c.lock(hash)
	place, found := shard.Find(hash)
	if found {
		return c.opened(shard, hash, place.Slot(), reading)
	}
	if reading == unread {
		reading = shard.Annex.decider.now()
	}
	if c.maxClients > 0 && c.overflow == ShareOverflow && c.crowded(reading) {
		return c.openShared(shard, reading)
	}
	return c.opened(shard, hash, nil, reading)
}

// openCrowded opens what a new key that is not to be held would be decided by when
// no more are.
func (c *clients) openCrowded(shard *table.Shard[annex], hash uint64, reading int64) opened {
	v := c.victim(shard, reading)
	fate := c.fate(v, reading)
	if fate == shares {
		return c.openShared(shard, reading)
	}
	o := c.opened(shard, hash, nil, reading)
	o.refused, o.overflowed, o.victim = fate == refused, true, v
	return o
}

// openShared opens the state that those share who do not fit, and unlocks the
// shard of one of them.
func (c *clients) openShared(shard *table.Shard[annex], reading int64) opened {
	c.shared.mu.Lock()
	o := c.shared.openLocked(reading)
	o.notBefore(shard.Annex.swept)
	o.overflowed = true
	shard.Unlock()
	return o
}

// apartSlot returns the slot of an account, valid until the next call.
func (a *annex) apartSlot() []uint64 {
	slot := a.emptySlot()
	slot[0] = apart
	return slot
}

// opened returns the account of a key under its shard's lock: the one that it
// has, one of the state in its slot, or one of a new key.
func (c *clients) opened(shard *table.Shard[annex], hash uint64, slot []uint64, reading int64) opened {
	d, l := shard.Annex.decider, shard.Annex.ledger
	if l == nil {
		l = &ledger{accounts: make(map[uint64]*account), seq: shard.Annex.seq}
		shard.Annex.ledger = l
		c.reserved.Store(true)
	}
	o := opened{keeper: c, decider: d, shard: shard, hash: table.Key(hash), slot: slot}
	first := uint64(apart)
	if slot != nil {
		first = atomic.SwapUint64(&slot[0], apart)
	}
	o.reading = d.opening(reading, first)
	if first == apart {
		if o.account = l.accounts[o.hash]; o.account != nil {
			o.away = true
			return o
		}
		o.isNew = true
	}
	o.account = l.open(o.hash, d.policy, &shard.Annex.logs)
	if o.isNew {
		o.newest, o.words = shard.Annex.swept, slices.Grow(o.words[:0], d.policy.size)[:d.policy.size]
		clear(o.words)
	} else {
		d.load(o.account, first, slot, o.reading)
	}
	return o
}

func (c *clients) shut(o opened) {
	c.put(o)
	o.shard.Unlock()
	if o.isNew && o.slot != nil {
		c.sweeper.arm(c)
	}
}

// put puts an account back to its slot, if that has a place for all of it.
func (c *clients) put(o opened) {
	switch l := o.ledger; {
	case o.slot == nil:
		o.policy.release(o.state())
		l.close(o.account)
	case o.plain(o.decider.policy):
		o.decider.put(o.slot, o.account)
		delete(l.accounts, o.hash)
		l.close(o.account)
	case !o.away:
		l.accounts[o.hash] = o.account
	}
}

// drop forgets an account's key.
func (c *clients) drop(o *opened) {
	o.shard.Delete(o.hash, apart)
	delete(o.ledger.accounts, o.hash)
	o.slot = nil
}

// pending returns how many reservations are still to come.
func (c *clients) pending() int {
	pending := c.shared.pending()
	if !c.reserved.Load() {
		return pending
	}
	reading := c.decider.Load().now()
	shards := c.states.Shards()
	for i := range shards {
		shard := &shards[i]
		shard.Lock()
		if l := shard.Annex.ledger; l != nil {
			for _, a := range l.accounts {
				pending += a.line.after(reading)
			}
		}
		shard.Unlock()
	}
	return pending
}
