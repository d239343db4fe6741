package weir

import (
	"sync"
	"sync/atomic"
)

// A cell is a single state with its lock: a Limiter's, or the one that
// ShareOverflow's clients share.
type cell struct {
	mu   sync.Mutex
	slot []uint64
	logs logbook
}

// cellWords keeps a cell's slot away from what others change: two cache lines.
const cellWords = 16

func newCell(d *decider) cell {
	return cell{slot: make([]uint64, d.slotSize(), max(cellWords, d.slotSize()))}
}

// decide has the state decided, without the lock where that will do.
func (c *cell) decide(d *decider, n int64, consume bool, out *Decision) bool {
	if d.bucket != nil {
		ok, _ := d.decideWord(&c.slot[0], n, consume, out)
		return ok
	}
	return c.decideWords(d, n, consume, out)
}

func (c *cell) decideWords(d *decider, n int64, consume bool, out *Decision) bool {
	reading := d.now()
	if out == nil && (d.foregone(n) || d.closed(c.slot, reading, n)) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return d.decideLocked(c.slot, &c.logs, reading, n, consume, out)
}

// decideAt has the state decided at a reading, and no earlier than the mark
// swept. If the clock is one that may step back, or panic, it is not read.
func (c *cell) decideAt(d *decider, now int64, swept uint64, n int64, consume bool, out *Decision) bool {
	if d.bucket != nil {
		return c.decide(d, n, consume, out)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot[slotNewest] < swept {
		// What no longer counts by then would be misread beside a newest reading
		// that is so much newer.
		d.policy.refresh(d.open(c.slot, &c.logs, now), reading(swept))
		c.slot[slotNewest] = swept
	}
	return d.decideLocked(c.slot, &c.logs, now, n, consume, out)
}

// owes reports whether anything of the state is used at a reading.
func (c *cell) owes(d *decider, reading int64) bool {
	if d.bucket != nil {
		return d.bucket.debt(atomic.LoadUint64(&c.slot[0]), reading, 0) > 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := d.open(c.slot, &c.logs, reading)
	return d.policy.reset(s, s.clamp(reading)) > 0
}

func (c *cell) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	atomic.StoreUint64(&c.slot[0], 0)
	clear(c.slot[1:])
	c.logs = logbook{}
}
