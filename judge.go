package weir

import (
	"sync/atomic"

	"github.com/goweir/weir/internal/table"
)

// A judge decides about states that others keep for it, in slots of words:
//
//	(word)                     where the whole state is a bucket's one word and
//	                           the clock never steps back: no lock, it is changed
//	                           by compare-and-swap
//	(closed, newest, words...) otherwise: the owner's lock is held, but for
//	                           closed, which may be read without it
//
// newest is the mark of the newest reading at which the state was charged.
// closed is a mark before which nothing is admitted, as a denial found out: who
// comes earlier is denied without the lock.
type judge struct {
	policy *spec
	clock  Clock
	bucket *tokenBucket // of a slot of one word; otherwise nil
}

const (
	slotClosed = 0
	slotNewest = 1
	slotWords  = 2
)

func newJudge(p Policy, clock Clock) judge {
	j := judge{policy: p.spec, clock: clock}
	if b, ok := p.meter.(tokenBucket); ok && neverStepsBack(clock) {
		j.bucket = &b
	}
	return j
}

// slotSize returns how many words a slot has.
func (j *judge) slotSize() int {
	if j.bucket != nil {
		return 1
	}
	return slotWords + j.policy.size
}

// open returns the state in a slot, to be looked at at a reading.
func (j *judge) open(slot []uint64, logs *logbook, reading int64) state {
	if j.bucket != nil {
		return state{newest: mark(reading), words: slot, logs: logs}
	}
	return state{newest: slot[slotNewest], words: slot[slotWords:], logs: logs}
}

// askWord decides about a slot of one word and takes n if it is admitted and
// consume says so. It fills d unless that is nil. moved says that the slot is
// no longer the state's.
func (j *judge) askWord(word *uint64, n int64, consume bool, d *Decision) (ok, moved bool) {
	b := j.bucket
	seen := atomic.LoadUint64(word)
	// The clock is read after the word: all readings that went into the word
	// were taken before it was stored, so none is newer than this one.
	now := int64(j.clock.Now())
	raced := false
	for {
		if seen == table.Moved {
			return false, true
		}
		debt := b.debt(seen, now, 0)
		wait := Never
		if 0 <= n && n <= b.burst {
			wait = b.bucket.wait(debt, n)
		}
		switch {
		case wait > 0 && raced:
			// The word has changed since the clock was read: look again.
			seen, now, raced = atomic.LoadUint64(word), int64(j.clock.Now()), false
			continue
		case wait == 0:
			debt += uint64(n) * b.interval
			if consume && n > 0 && !atomic.CompareAndSwapUint64(word, seen, b.word(debt, now)) {
				seen, raced = atomic.LoadUint64(word), true
				continue
			}
		}
		if d != nil {
			*d = Decision{
				Allowed:    wait == 0,
				Remaining:  clampInt(b.tokens(debt)),
				RetryAfter: wait,
				Policy:     j.policy.name,
				Limit:      clampInt(b.burst),
				ResetAfter: nanos(debt),
			}
		}
		return wait == 0, false
	}
}

// closed reports whether n is denied at a reading by what an earlier denial
// noted in a slot of several words. It needs no lock.
func (j *judge) closed(slot []uint64, reading, n int64) bool {
	until := atomic.LoadUint64(&slot[slotClosed])
	return until != table.Moved && n > 0 && mark(reading) < until
}

// askLocked decides about a slot of several words under its owner's lock.
func (j *judge) askLocked(slot []uint64, logs *logbook, reading, n int64, consume bool, d *Decision) bool {
	s := j.open(slot, logs, reading)
	now, wait := j.policy.decide(s, reading, n, d)
	switch {
	case wait == 0 && consume:
		j.charge(slot, s, now, n)
	case wait > 0 && wait < Never && n == 1:
		if opens := saturatingAdd(now, int64(wait)); opens < int64(Never) {
			atomic.StoreUint64(&slot[slotClosed], mark(opens))
		}
	}
	return wait == 0
}

// charge takes n from the state in a slot of several words and notes when.
func (j *judge) charge(slot []uint64, s state, now, n int64) {
	if n == 0 {
		return
	}
	j.policy.take(s, now, n)
	slot[slotNewest] = mark(now)
	if slot[slotClosed] != 0 {
		// It is open: also to a late reading, which counts as this one.
		atomic.StoreUint64(&slot[slotClosed], 0)
	}
}

// verdict returns what the caller is told of a decision.
func (o *options) verdict(ok bool, d *Decision) bool {
	if ok || !o.shadow {
		return ok
	}
	if d != nil {
		d.Allowed, d.Shadowed = true, true
	}
	return true
}
