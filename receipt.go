package weir

import (
	"maps"
	"math"
	"slices"
	"time"
)

// A ticket is what the copies of a Reservation have in common. It is its keeper's,
// under whose lock it is, and is used again for others once it is given back.
type ticket struct {
	use    uint64 // to Reservations of another use it means nothing
	stage  stage
	brief  bool  // it is given back soon, or never
	at     int64 // the instant
	way    way
	ends   []uint64 // of each bucket, the word that taking n made; one if that will do
	seq    uint64   // of the ledger, when n was taken
	era    uint64   // of the decider
	policy *spec    // that n was taken under
	err    error    // why it was struck
	wake   func()   // whoever sleeps until the instant
	next   *ticket  // free ones
	one    [1]uint64
	// untaken is, of each bucket, what n was more than it could owe; nil for nothing.
	untaken []uint64
}

// A stage is where a ticket stands.
type stage uint8

const (
	stageTaken     stage = iota // at its instant, or nothing was to be taken
	stagePending                // the instant is still to come, or was not noticed yet
	stageSettled                // likewise, and what it costs is known
	stageAbandoned              // likewise, and its key was forgotten: nothing is taken
	stageStruck                 // the instant will not come
)

// strike says that the instant will not come.
func (t *ticket) strike(err error) {
	t.stage, t.err = stageStruck, err
	t.alert()
}

// alert has whoever sleeps look at the ticket again.
func (t *ticket) alert() {
	if t.wake != nil {
		go t.wake() // a context's, which may call its owner's code: not under a lock
		t.wake = nil
	}
}

// record notes on a ticket what was just taken in a way.
func (a *account) record(t *ticket, w way) {
	switch {
	case t == nil:
		return
	case t.stage == stageSettled:
		a.ledger.redeem(t)
		return
	}
	t.stage, t.way, t.policy = stageTaken, w, a.policy
	if outstanding := a.policy.reset(a.state(), t.at); outstanding > 0 {
		if t.brief {
			outstanding = min(outstanding, briefly)
		}
		a.mark(saturatingAdd(t.at, int64(outstanding)))
	}
	t.seq = a.ledger.seq
	t.ends = slices.Grow(t.ends[:0], a.policy.leaves)[:a.policy.leaves]
	a.policy.ends(w, a.state(), t.ends)
}

// tooMuch notes on an entry's ticket what those who pay for it will not take,
// because it is more than they can owe.
func (a *account) tooMuch(e entry) {
	if e.ticket == nil {
		return
	}
	a.policy.eachPayer(e.way, a.state(), func(number int, p *spec, s state) {
		b, ok := p.meter.(tokenBucket)
		if !ok {
			return
		}
		debt, whole := b.debtOf(s, e.at), uint64(e.n)*b.interval
		if taken := b.draw(debt, e.n) - debt; taken < whole {
			if e.ticket.untaken == nil {
				e.ticket.untaken = make([]uint64, a.policy.leaves)
			}
			e.ticket.untaken[number] = whole - taken
		}
	})
}

// ends fills in, for each leaf that was paid in a way, the word that this made.
func (p *spec) ends(w way, s state, ends []uint64) {
	p.eachPayer(w, s, func(number int, _ *spec, s state) {
		if len(s.words) > 0 {
			ends[number] = s.words[0]
		}
	})
}

// Receipts are what is known of a key's, outstanding until some instant at the
// most. They are worth nothing when this is gone: after a reset of the key, another
// policy, its being forgotten, or a sweep that finds that instant passed.
type receipts struct {
	until int64
	since uint64 // the ledger's seq; older ones are worth nothing
}

// briefly is how long what Layers have charged can be given back at the most,
// while they wait for those that are far away.
const briefly = time.Minute

// mark notes that there is a receipt, outstanding until some instant.
func (a *account) mark(until int64) {
	r, ok := a.ledger.marks[a.hash]
	if ok && until <= r.until {
		return
	}
	if a.ledger.marks == nil {
		a.ledger.marks = make(map[uint64]receipts)
	}
	if !ok {
		a.ledger.seq++
		r.since = a.ledger.seq
	}
	r.until = until
	a.ledger.marks[a.hash] = r
}

// void makes worthless all receipts for a key up to now.
func (l *ledger) void(hash uint64) { delete(l.marks, hash) }

// forget drops what is known of receipts for which time has given back all.
func (l *ledger) forget(reading int64) {
	maps.DeleteFunc(l.marks, func(_ uint64, r receipts) bool { return r.until < reading })
}

// A hole is where debt was given back out of a bucket's line: what was taken
// behind it has moved forward.
type hole struct {
	seq   uint64 // receipts that are younger do not know of it
	leaf  int    // its number
	top   uint64 // the word at its end
	gone  uint64 // ticks
	until int64  // when time has passed whatever was behind it
}

// mostHoles is how many a line has before the older half is forgotten, with the
// receipts from before those.
const mostHoles = 1 << 11

// bore notes a hole, if there is anybody to ask for it. Its until is given as a
// wait from now.
func (a *account) bore(h hole, wait, now int64) {
	r, ok := a.ledger.marks[a.hash]
	if !ok || r.until <= now || wait == 0 {
		return
	}
	l := a.lined()
	if len(l.holes) == mostHoles {
		r.since = max(r.since, l.holes[mostHoles/2-1].seq)
		a.ledger.marks[a.hash] = r
		l.holes = slices.Delete(l.holes, 0, mostHoles/2)
	}
	a.ledger.seq++
	h.seq, h.until = a.ledger.seq, min(saturatingAdd(now, wait), r.until)
	if len(l.holes) == 0 || h.until < l.closes {
		l.closes = h.until
	}
	l.holes = append(l.holes, h)
}

// forget drops the holes that nothing is behind any more.
func (l *line) forget(now int64) {
	if len(l.holes) == 0 || now < l.closes {
		return
	}
	l.holes = slices.DeleteFunc(l.holes, func(h hole) bool { return h.until <= now })
	l.closes = math.MaxInt64
	for _, h := range l.holes {
		l.closes = min(l.closes, h.until)
	}
}

// giveBack gives back n of what was taken with a ticket, as far as it is still
// outstanding.
func (a *account) giveBack(t *ticket, now, n int64) {
	if r, ok := a.ledger.marks[a.hash]; ok && t.seq >= r.since && a.policy.alike(t.policy) {
		a.giveBackFrom(t, now, n)
	}
}

func (a *account) giveBackFrom(t *ticket, now, n int64) {
	s := a.state()
	a.policy.refresh(s, now)
	a.policy.eachPayer(t.way, s, func(number int, p *spec, s state) {
		switch m := p.meter.(type) {
		case tokenBucket:
			a.giveBackTicks(m, s, number, t, now, n)
		case giver:
			m.giveBack(s, now, t.at, n)
		}
	})
	a.newest = mark(now)
	a.changed()
}

// giveBackTicks gives back to a bucket. Debt drains in the order in which it was
// made, so what was taken with a ticket is a stretch that ends at the word that
// taking it made, if nothing before it was given back:
//
//	outstanding = (end - n * interval, end], the part of it after now
//
// and shorter by what it did not take.
func (a *account) giveBackTicks(b tokenBucket, s state, number int, t *ticket, now, n int64) {
	length := uint64(n) * b.interval
	if t.untaken != nil {
		length -= min(length, t.untaken[number])
	}
	if after := t.ends[number] - ticks(t.at); uint64(now-t.at) >= uint64(nanos(after)) {
		return
	}
	end := a.line.moved(t.ends[number], number, t.seq)
	start := a.line.moved(t.ends[number]-length, number, t.seq)
	ahead := int64(end - ticks(now))
	if ahead <= 0 {
		return
	}
	debt := b.debtOf(s, now)
	given := min(debt, uint64(ahead-max(0, int64(start-ticks(now)))))
	if given == 0 {
		return
	}
	if end != s.words[0] {
		a.bore(hole{leaf: number, top: end, gone: given}, int64(nanos(debt)), now)
	}
	s.words[0] = b.wordOrFull(debt-given, now)
}

// moved returns where a place in a bucket's line is now that was seen at some
// time.
func (l *line) moved(word uint64, leaf int, seq uint64) uint64 {
	if l == nil {
		return word
	}
	for _, h := range l.holes {
		if behind := int64(word - (h.top - h.gone)); h.leaf == leaf && h.seq > seq && behind > 0 {
			word -= min(uint64(behind), h.gone)
		}
	}
	return word
}
