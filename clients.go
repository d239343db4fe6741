package weir

import (
	"sync"
	"sync/atomic"

	"github.com/goweir/weir/internal/striped"
	"github.com/goweir/weir/internal/table"
)

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
	seq     uint64   // the ledger's, when there is none
	slot    []uint64 // in which a new state is made
	// swept is the mark of the newest reading at which a state was dropped:
	// absent keys are decided no earlier.
	swept uint64
}

// decide is what every verb about now comes to. It fills out unless that is nil, and
// knows of no shadow.
func (c *clients) decide(hash uint64, n int, consume bool, out *Decision) bool {
	var ok, again bool
	line := c.tally.Line()
	if d := c.decider.Load(); d.bucket != nil { // not decideBy: every call counts
		ok, again = c.decideWord(line, d, hash, int64(n), consume, out)
	} else {
		ok, again = c.decideWords(d, hash, int64(n), consume, out)
	}
	if again {
		ok = c.decideKey(line, hash, int64(n), consume, out)
	}
	if consume {
		count(line, n, ok, c.shadow)
	}
	return ok
}

// decideKey is decide without the counting.
func (c *clients) decideKey(line *striped.Line, hash uint64, n int64, consume bool, out *Decision) (ok bool) {
	for again := true; again; {
		ok, again = c.decideBy(line, c.decider.Load(), hash, n, consume, out)
	}
	return ok
}

// decideBy has one decider decide. again says that nothing is decided: that one is
// no longer in force, or another client had to go first.
func (c *clients) decideBy(line *striped.Line, d *decider, hash uint64, n int64, consume bool, out *Decision) (ok, again bool) {
	if d.bucket != nil {
		return c.decideWord(line, d, hash, n, consume, out)
	}
	return c.decideWords(d, hash, n, consume, out)
}

func (c *clients) try(line *striped.Line, hash uint64, n int64) bool {
	return c.decideKey(line, hash, n, true, nil)
}

// decideWord decides about a state of one word, without a lock if it is there.
func (c *clients) decideWord(line *striped.Line, d *decider, hash uint64, n int64, consume bool, out *Decision) (ok, again bool) {
	now := d.early(line)
	place, found := c.states.Find(hash)
	if found && place.Epoch() == d.epoch {
		if ok, moved := d.decideWord(line, place.Word(), now, n, consume, out); !moved {
			return ok, false
		}
	}
	shard := c.lock(hash)
	if shard.Annex.decider != d {
		shard.Unlock()
		return false, true
	}
	if found || !shard.Free(place) {
		if place, found = shard.Find(hash); found {
			ok, moved := d.decideWord(line, place.Word(), unread, n, consume, out)
			if moved {
				ok = c.decideAway(shard, hash, place, d.now(), n, consume, out)
			}
			shard.Unlock()
			return ok, false
		}
	}
	if c.maxClients > 0 {
		return c.decideNew(shard, hash, place, d.now(), n, consume, out)
	}
	var fresh [1]uint64
	ok, _ = d.decideWord(line, &fresh[0], unread, n, consume, out)
	if fresh[0] == 0 {
		shard.Unlock()
		return ok, false
	}
	shard.Insert(hash, place, fresh[:])
	shard.Unlock()
	c.sweeper.arm(c)
	return ok, false
}

// decideWords decides about a state of several words under its shard's lock, or
// without it if the state is known to deny.
func (c *clients) decideWords(d *decider, hash uint64, n int64, consume bool, out *Decision) (ok, again bool) {
	reading := d.now()
	if d.policy.size == 0 {
		_, wait := d.policy.decide(state{}, reading, n, out)
		return wait == 0, false
	}
	if out == nil {
		if c.maxClients == 0 && d.foregone(n) { // else it may count as Overflowed
			return false, false
		}
		place, found := c.states.Find(hash)
		if found && place.Epoch() == d.epoch && d.closed(place.Slot(), reading, n) {
			return false, false
		}
	}
	shard := c.lock(hash)
	if shard.Annex.decider != d {
		shard.Unlock()
		return false, true
	}
	place, found := shard.Find(hash)
	if !found {
		return c.decideNew(shard, hash, place, reading, n, consume, out)
	}
	defer shard.Unlock()
	if *place.Word() == apart {
		return c.decideAway(shard, hash, place, reading, n, consume, out), false
	}
	return d.decideLocked(place.Slot(), &shard.Annex.logs, reading, n, consume, out), false
}

// decideAway decides about an account.
func (c *clients) decideAway(shard *table.Shard[annex], hash uint64, place table.Place, reading, n int64, consume bool, out *Decision) bool {
	o := c.opened(shard, hash, place.Slot(), reading)
	ok := o.decideAs(o.decider.policy, o.reading, n, consume, out)
	c.put(o)
	return ok
}

// decideAs decides about n under a policy of the key's own, which may be the one
// in force.
func (c *clients) decideAs(hash uint64, p *spec, n int, out *Decision) bool {
	line := c.tally.Line()
	for {
		d := c.decider.Load()
		if !p.is(d.policy) {
			break
		}
		if ok, again := c.decideBy(line, d, hash, int64(n), true, out); !again {
			count(line, n, ok, c.shadow)
			return ok
		}
	}
	o := c.open(hash, int64(n), p)
	if o.overflowed && n > 0 {
		line.Add(countOverflowed)
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
	count(line, n, ok, c.shadow)
	return ok
}

// decideNew decides about a key that has no state, and gives it one if it needs
// one. It unlocks the shard.
func (c *clients) decideNew(shard *table.Shard[annex], hash uint64, place table.Place, reading, n int64, consume bool, out *Decision) (ok, again bool) {
	d := shard.Annex.decider
	s := d.open(d.zero, &shard.Annex.logs, reading)
	s.newest = max(s.newest, shard.Annex.swept)
	now, wait := d.policy.decide(s, reading, n, out)
	ok = wait == 0
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
		return ok, false
	}
	ok, again = c.decideOverflow(shard, hash, now, reading, n, consume, ok, out)
	if !again && consume && n > 0 {
		c.tally.Add(countOverflowed)
	}
	shard.Unlock()
	if again {
		c.evictElsewhere(reading)
	}
	return ok, again
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
	if o.slot != nil && o.newest == 0 {
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
