package weir

import "github.com/goweir/weir/internal/table"

// setPolicy puts another policy in force. From the moment that its decider is
// stored nobody decides about a key by an old one: whoever comes to a shard whose
// states are still the old one's brings them along first. So nobody waits for more
// than one shard, and here the others are seen to.
func (c *clients) setPolicy(p Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	c.setting.Lock()
	defer c.setting.Unlock()
	d := c.decider.Load()
	if p.Equal(Policy{d.policy}) {
		return nil
	}
	next := d.after(p)
	c.shared.setDecider(next) // first: it reads the clock, which may panic
	c.decider.Store(next)
	shards := c.states.Shards()
	for i := range shards {
		c.lockShard(&shards[i])
		shards[i].Unlock()
	}
	return nil
}

// lock returns the shard of a hash, locked, with states of the policy in force.
func (c *clients) lock(hash uint64) *table.Shard[annex] {
	shard := c.states.Shard(hash)
	c.lockShard(shard)
	return shard
}

// lockShard locks a shard, and brings its states to the decider in force, at a reading
// of when that was.
func (c *clients) lockShard(shard *table.Shard[annex]) {
	shard.Lock()
	for next := c.decider.Load(); shard.Annex.decider != next; next = c.decider.Load() {
		shard.Unlock()
		reading := next.now() // not under the lock: it may panic
		shard.Lock()
		if shard.Annex.decider != next && c.decider.Load() == next {
			c.convert(shard, next, reading)
		}
	}
}

// convert brings a shard's states to a decider's policy, all but those of keys
// that have one of their own.
func (c *clients) convert(shard *table.Shard[annex], to *decider, reading int64) {
	from, logs := shard.Annex.decider, &shard.Annex.logs
	shard.Annex.decider = to
	shard.Convert(to.slotSize(), to.epoch, func(hash uint64, old, slot []uint64) {
		if old[0] != apart {
			from.convert(old, to, slot, logs, reading)
			return
		}
		slot[0] = apart
		o := c.opened(shard, hash, slot, reading)
		if o.under(from.policy) {
			now := o.advance(o.reading)
			o.carry(to.policy, now)
			o.notBefore(mark(now)) // as a state in its slot
		}
		c.put(o)
	})
	logs.trim()
}

// convert fills the slot of another decider with the state of one of this.
func (d *decider) convert(old []uint64, to *decider, slot []uint64, logs *logbook, reading int64) {
	if d.bucket != nil {
		old[0] = d.bucket.unpassed(old[0], reading)
	}
	s := d.open(old, logs, reading)
	now := s.clamp(reading)
	t := to.open(slot, logs, now)
	if t.newest = mark(now); to.bucket == nil {
		slot[slotNewest] = t.newest
	}
	d.policy.carry(s, to.policy, t, now)
}
