package weir

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/striped"
	"github.com/goweir/weir/internal/table"
)

// A decider decides about states that others keep for it, in slots of words:
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
//
// The first word is apart while the state is an account.
type decider struct {
	policy *spec
	clock  Clock
	system bool         // clock is the system's, or
	coarse *CoarseClock // is this: both are read without going through it
	bucket *tokenBucket // of a slot of one word; otherwise nil
	epoch  uint32       // of the slots that it knows to read
	era    uint64       // of the states: one of another has been carried
	zero   []uint64     // the slot of a key that was never seen
}

const (
	slotClosed = 0
	slotNewest = 1
	slotWords  = 2
)

// The words that no state has are the one that says that its slot has moved, and
// apart.
var _ = [1]struct{}{}[table.Moved-leastReserved-1]

func newDecider(p Policy, clock Clock) decider {
	d := decider{policy: p.spec, clock: clock, era: 1}
	_, d.system = clock.(systemClock)
	d.coarse, _ = clock.(*CoarseClock)
	if b, ok := p.meter.(tokenBucket); ok && neverStepsBack(clock) {
		d.bucket = &b
	}
	d.zero = make([]uint64, d.slotSize())
	return d
}

// after makes the decider for a policy that comes after this one.
func (d *decider) after(p Policy) *decider {
	next := newDecider(p, d.clock)
	next.epoch, next.era = d.epoch+1, d.era
	if !d.policy.alike(p.spec) {
		next.era++
	}
	return &next
}

// now reads the clock.
func (d *decider) now() int64 {
	switch {
	case d.system:
		return int64(systemClock{}.Now())
	case d.coarse != nil:
		return int64(d.coarse.Now())
	}
	return int64(d.clock.Now())
}

// slotSize returns how many words a slot has.
func (d *decider) slotSize() int {
	if d.bucket != nil {
		return 1
	}
	return slotWords + d.policy.size
}

// open returns the state in a slot, to be looked at at a reading.
func (d *decider) open(slot []uint64, logs *logbook, reading int64) state {
	if d.bucket != nil {
		return state{newest: mark(reading), words: slot, logs: logs}
	}
	return state{newest: slot[slotNewest], words: slot[slotWords:], logs: logs}
}

// load reads an account's state from a slot, whose first word it was before it
// was apart.
func (d *decider) load(a *account, first uint64, slot []uint64, reading int64) {
	if d.bucket == nil {
		a.newest, a.words = slot[slotNewest], append(a.words[:0], slot[slotWords:]...)
		return
	}
	a.newest, a.words = mark(reading), append(a.words[:0], first)
	if first != 0 && d.bucket.debt(first, reading, d.bucket.furthest()) == 0 {
		// It is full since then, which the word goes on to say.
		a.newest = mark(saturatingSub(reading, int64(nanos(ticks(reading)-first))))
	}
}

// put writes an account's state to a slot, which is no longer apart.
func (d *decider) put(slot []uint64, a *account) {
	if d.bucket != nil {
		atomic.StoreUint64(&slot[0], a.words[0])
		return
	}
	slot[slotNewest] = a.newest
	copy(slot[slotWords:], a.words)
	atomic.StoreUint64(&slot[slotClosed], 0)
}

// unread stands for a reading, where the clock has not been read.
const unread = math.MinInt64

// ahead reads the clock before a lock is taken, as one of a user's may take long, or
// panic. Where a state is one word, it is read under the lock instead, when the word
// does not change any more.
func (d *decider) ahead() int64 {
	if d.bucket != nil {
		return unread
	}
	return d.now()
}

// opening returns the reading at which a state is opened, given what ahead returned and
// the first word of its slot, which is now apart.
func (d *decider) opening(reading int64, first uint64) int64 {
	if reading == unread || first != apart && d.bucket != nil {
		return d.now() // the word does not change any more
	}
	return reading
}

// early reads the clock before a slot of one word is looked for, if the line's
// goroutines have met others there: they have less time to change the word then.
func (d *decider) early(line *striped.Line) int64 {
	if line.Flag.Load() {
		return d.now()
	}
	return unread
}

// decideWord decides about a slot of one word and takes n if it is admitted and
// consume says so. It fills out unless that is nil. now is what early returned. moved
// says that the slot is no longer the state's, or that is apart.
func (d *decider) decideWord(line *striped.Line, word *uint64, now, n int64, consume bool, out *Decision) (ok, moved bool) {
	b := d.bucket
	furthest := b.furthest()
	before := uint64(table.Moved)
	if now == unread {
		before, now = atomic.LoadUint64(word), d.now()
	}
	for {
		seen := atomic.LoadUint64(word)
		if seen >= leastReserved {
			return false, true
		}
		debt := b.debt(seen, now, furthest)
		wait := Never
		if 0 <= n && n <= b.burst {
			wait = b.bucket.wait(debt, n)
		}
		takes := wait == 0 && consume && n > 0
		if seen != before && (!takes || seen == 0) {
			// All readings that went into a word were taken before it was stored: in one
			// that was seen before the clock was read none is newer than that. In this
			// one it may be, and at a later reading there be room, or more left; and one
			// that says full does not say since when. Look again.
			before, now = seen, d.now()
			line.Flag.Store(false) // that is sooner done without an early one
			continue
		}
		if wait == 0 {
			debt += uint64(n) * b.interval
		}
		if takes && !atomic.CompareAndSwapUint64(word, seen, b.word(debt, now)) {
			line.Flag.Store(true)
			continue
		}
		if out != nil {
			d.describe(wait, debt, out)
		}
		return wait == 0, false
	}
}

// describe fills out for a slot of one word with a debt, after the decision.
func (d *decider) describe(wait time.Duration, debt uint64, out *Decision) {
	*out = Decision{
		Allowed:    wait == 0,
		Remaining:  clampInt(d.bucket.tokens(debt)),
		RetryAfter: wait,
		Policy:     d.policy.name,
		Limit:      clampInt(d.bucket.burst),
		ResetAfter: nanos(debt),
	}
}

// foregone reports whether n is denied whatever the state.
func (d *decider) foregone(n int64) bool { return n < 0 || n > d.policy.capacity }

// closed reports whether n is denied at a reading by what an earlier denial
// noted in a slot of several words. It needs no lock.
func (d *decider) closed(slot []uint64, reading, n int64) bool {
	until := atomic.LoadUint64(&slot[slotClosed])
	return until < leastReserved && n > 0 && mark(reading) < until
}

// decideLocked decides about a slot of several words under its owner's lock.
func (d *decider) decideLocked(slot []uint64, logs *logbook, reading, n int64, consume bool, out *Decision) bool {
	if out == nil && d.policy.buckets != nil {
		return d.decideBuckets(slot, reading, n, consume)
	}
	s := d.open(slot, logs, reading)
	now, wait := d.policy.decide(s, reading, n, out)
	if wait > 0 {
		if n > 1 {
			wait = d.policy.wait(s, now, 1)
		}
		closeUntil(slot, now, wait)
		return false
	}
	if consume && n > 0 {
		d.policy.take(s, now, n)
		charged(slot, now)
	}
	return true
}

// decideBuckets is decideLocked for nothing but buckets and a caller who wants
// no more than the answer. It spares them the state and the tree.
func (d *decider) decideBuckets(slot []uint64, reading, n int64, consume bool) bool {
	s := state{newest: slot[slotNewest]}
	now, words := s.clamp(reading), slot[slotWords:]
	furthest := s.furthest(now)
	if wait := d.policy.buckets.wait(words, now, furthest, n); wait > 0 {
		if n > 1 {
			wait = d.policy.buckets.wait(words, now, furthest, 1)
		}
		closeUntil(slot, now, wait)
		return false
	}
	if consume && n > 0 {
		d.policy.buckets.take(words, now, furthest, n)
		charged(slot, now)
	}
	return true
}

// closeUntil notes how long 1 has to wait, if at all: what is denied to 1 is
// denied to more. A Peek finds that out as well as a Take. (The mark of Never
// would be table.Moved, and the one before it apart.)
func closeUntil(slot []uint64, now int64, wait time.Duration) {
	if wait == 0 || wait == Never {
		return
	}
	if opens := saturatingAdd(now, int64(wait)); opens < int64(Never)-1 && slot[slotClosed] != mark(opens) {
		atomic.StoreUint64(&slot[slotClosed], mark(opens))
	}
}

// charged notes in a slot of several words when it was.
func charged(slot []uint64, now int64) {
	slot[slotNewest] = mark(now)
	if slot[slotClosed] != 0 {
		// It is open: also to a late reading, which counts as this one.
		atomic.StoreUint64(&slot[slotClosed], 0)
	}
}
