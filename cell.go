package weir

import (
	"sync"
	"sync/atomic"

	"github.com/goweir/weir/internal/striped"
)

// A cell is a single state with its lock: a Limiter's, or the one that
// ShareOverflow's clients share.
type cell struct {
	held   atomic.Pointer[held]
	mu     sync.Mutex // of all below, and of what held points to
	logs   logbook
	ledger ledger
	away   *account // in place of the slot's words, if they are apart
}

// A held is the slot of a state, and who decides about it.
type held struct {
	decider
	word *uint64 // the slot's first
	slot []uint64
}

// cellWords keeps a cell's slot away from what others change: two cache lines.
const cellWords = 16

func newHeld(d *decider) *held {
	slot := make([]uint64, d.slotSize(), max(cellWords, d.slotSize()))
	return &held{*d, &slot[0], slot}
}

// decide has the state decided, without the lock where that will do.
func (c *cell) decide(line *striped.Line, n int64, consume bool, out *Decision) bool {
	h := c.held.Load()
	if h.bucket != nil {
		if ok, moved := h.decideWord(line, h.word, h.early(line), n, consume, out); !moved {
			return ok
		}
		return c.decideLocked(h.now(), 0, n, consume, out)
	}
	reading := h.now()
	if out == nil && (h.foregone(n) || h.closed(h.slot, reading, n)) {
		return false
	}
	return c.decideLocked(reading, 0, n, consume, out)
}

// decideAt has the state decided at a reading, and no earlier than the mark
// swept. If the clock is one that may step back, or panic, it is not read.
func (c *cell) decideAt(line *striped.Line, reading int64, swept uint64, n int64, consume bool, out *Decision) bool {
	if c.held.Load().bucket != nil {
		return c.decide(line, n, consume, out)
	}
	return c.decideLocked(reading, swept, n, consume, out)
}

func (c *cell) decideLocked(reading int64, swept uint64, n int64, consume bool, out *Decision) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.held.Load(); c.away == nil && h.bucket == nil {
		if h.slot[slotNewest] < swept {
			// What no longer counts by then would be misread beside a newest reading
			// that is so much newer.
			h.policy.refresh(h.open(h.slot, &c.logs, reading), readingOf(swept))
			h.slot[slotNewest] = swept
		}
		return h.decideLocked(h.slot, &c.logs, reading, n, consume, out)
	}
	o := c.openLocked(reading)
	o.notBefore(swept)
	ok := o.decideAs(o.decider.policy, o.reading, n, consume, out)
	c.shutLocked(o)
	return ok
}

func (c *cell) try(line *striped.Line, _ uint64, n int64) bool {
	return c.decide(line, n, true, nil)
}

func (c *cell) open(uint64, int64, *spec) opened {
	reading := c.held.Load().ahead()
	c.mu.Lock()
	return c.openLocked(reading)
}

func (c *cell) openCharged(uint64) opened { return c.open(0, 0, nil) }

func (c *cell) openLocked(reading int64) opened {
	h := c.held.Load()
	first := atomic.SwapUint64(&h.slot[0], apart)
	reading = h.opening(reading, first)
	if first != apart {
		c.away = c.ledger.open(0, h.policy, &c.logs)
		h.load(c.away, first, h.slot, reading)
	}
	return opened{account: c.away, keeper: c, decider: &h.decider, reading: reading, slot: h.slot}
}

func (c *cell) shut(o opened) {
	c.shutLocked(o)
	c.mu.Unlock()
}

func (c *cell) shutLocked(o opened) {
	if o.plain(o.decider.policy) {
		o.decider.put(o.slot, o.account)
		c.ledger.close(o.account)
		c.away = nil
	}
}

// setDecider brings the state to another policy.
func (c *cell) setDecider(d *decider) {
	o := c.open(0, 0, nil)
	o.carry(d.policy, o.advance(o.reading))
	h := newHeld(d)
	h.slot[0] = apart
	c.held.Store(h) // the old slot stays apart, so that whoever comes by it looks again
	o.decider, o.slot = &h.decider, h.slot
	c.logs.trim()
	c.shut(o)
}

// owes reports whether anything of the state is used at a reading.
func (c *cell) owes(reading int64) bool {
	h := c.held.Load()
	if h.bucket != nil {
		if word := atomic.LoadUint64(&h.slot[0]); word < leastReserved {
			return h.bucket.debt(word, reading, h.bucket.furthest()) > 0
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h = c.held.Load(); h.bucket == nil && c.away == nil {
		s := h.open(h.slot, &c.logs, reading)
		return h.policy.reset(s, s.clamp(reading)) > 0
	}
	o := c.openLocked(reading)
	defer c.shutLocked(o)
	return o.owes(reading)
}

func (c *cell) reset() {
	o := c.open(0, 0, nil)
	o.account.reset(o.advance(o.reading))
	o.close()
}

// pending returns how many reservations are still to come.
func (c *cell) pending() int {
	h := c.held.Load()
	if atomic.LoadUint64(&h.slot[0]) < leastReserved {
		return 0
	}
	reading := h.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away == nil {
		return 0
	}
	return c.away.line.after(reading)
}
