package weir

import (
	"sync"
	"sync/atomic"
)

// A Limiter is one policy with one state. Make it with New: the zero Limiter is
// of no use. It is safe for concurrent use.
type Limiter struct {
	policy Policy
	options
	judge judge
	cell  cell
	tally tally
}

// New returns a Limiter that is full. It panics if p is invalid, with the text
// of p.Validate, and if an option makes no sense. Options that concern many
// keys have no effect.
func New(p Policy, opts ...Option) *Limiter {
	l := &Limiter{policy: mustBeValid(p), options: newOptions(opts)}
	l.judge = newJudge(p, l.clock)
	l.cell = newCell(&l.judge)
	l.tally = newTally()
	return l
}

func mustBeValid(p Policy) Policy {
	if err := p.Validate(); err != nil {
		panic(err.Error())
	}
	return p
}

// Allow reports whether one more is allowed now, and consumes it if so.
func (l *Limiter) Allow() bool { return l.decide(1, true, nil) }

// AllowN reports whether n are allowed now, and consumes them if so, or
// nothing. An n of 0 is always allowed, a negative one never.
func (l *Limiter) AllowN(n int) bool { return l.decide(n, true, nil) }

// Take consumes n or nothing, as AllowN does, and says more about it.
func (l *Limiter) Take(n int) Decision {
	var d Decision
	l.decide(n, true, &d)
	return d
}

// Peek returns what Take(n) would. It consumes nothing and counts nothing.
func (l *Limiter) Peek(n int) Decision {
	var d Decision
	l.decide(n, false, &d)
	return d
}

// Tokens returns how many are left now: the largest n that Take would admit.
func (l *Limiter) Tokens() int { return l.Peek(0).Remaining }

// Reset makes the limiter as full as a new one. Its Stats stay.
func (l *Limiter) Reset() { l.cell.reset() }

// Policy returns the policy in force.
func (l *Limiter) Policy() Policy { return l.policy }

// Stats returns the counters. Nobody waits for it.
func (l *Limiter) Stats() Stats { return l.tally.stats() }

// decide is what every verb comes to. It fills d unless that is nil.
func (l *Limiter) decide(n int, consume bool, d *Decision) bool {
	ok := l.cell.ask(&l.judge, int64(n), consume, d)
	if consume {
		l.tally.count(n, ok, l.shadow)
	}
	return l.verdict(ok, d)
}

// A cell is a single state with its lock: a Limiter's, or the one that
// ShareOverflow's clients share.
type cell struct {
	mu   sync.Mutex
	slot []uint64
	logs logbook
}

// cellWords keeps a cell's slot away from what others change: two cache lines.
const cellWords = 16

func newCell(j *judge) cell {
	return cell{slot: make([]uint64, j.slotSize(), max(cellWords, j.slotSize()))}
}

// ask has the state judged, without the lock where that will do.
func (c *cell) ask(j *judge, n int64, consume bool, d *Decision) bool {
	if j.bucket != nil {
		ok, _ := j.askWord(&c.slot[0], n, consume, d)
		return ok
	}
	reading := int64(j.clock.Now())
	if d == nil && j.closed(c.slot, reading, n) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return j.askLocked(c.slot, &c.logs, reading, n, consume, d)
}

func (c *cell) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	atomic.StoreUint64(&c.slot[0], 0)
	clear(c.slot[1:])
	c.logs = logbook{}
}
