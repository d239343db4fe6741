package weir

import (
	"sync/atomic"
	"time"
)

// An asked is a key of a limiter that a request has to pass, and what came of it.
type asked struct {
	cell    *cell    // of a Limiter; otherwise
	clients *clients // of this
	core    *core
	hash    uint64
	layer   int // the first one of the request that names it
	price
	n int // what is to be taken

	// What is found when it is asked.
	decider *decider
	word    *uint64 // of a state of one word; nil for any other
	seen    uint64
	debt    uint64
	now     int64
	wait    time.Duration

	// What it was charged by, so that it can be given back.
	charged bool
	at      int64
	way     way
	few     [fewLeaves]uint64 // the ends of a receipt, or
	kept    keeper            // whose
	ticket  *ticket           // it is
	use     uint64
}

// fewLeaves is how many leaves a policy has whose receipts take no ticket here.
const fewLeaves = 4

// find finds the word of a state of one, if it is there.
func (a *asked) find() {
	a.word = nil
	if a.clients == nil {
		h := a.cell.held.Load()
		if a.decider = &h.decider; h.bucket != nil {
			a.word = &h.slot[0]
		}
	} else if a.decider = a.clients.decider.Load(); a.decider.bucket != nil {
		if place, found := a.clients.states.Find(a.hash); found && place.Epoch() == a.decider.epoch {
			a.word = place.Word()
		}
	}
	if a.word != nil {
		if a.seen = atomic.LoadUint64(a.word); a.seen >= leastReserved {
			a.word = nil
		}
	}
}

// askWord decides about a word that was seen before the clock was read.
func (a *asked) askWord(now int64) {
	b := a.decider.bucket
	a.now, a.debt, a.wait = now, b.debt(a.seen, now, b.furthest()), Never
	if n := int64(a.n); 0 <= n && n <= b.burst {
		a.wait = b.bucket.wait(a.debt, n)
	}
}

// describe says more about the decision on a word, if so many are taken.
func (a *asked) describe(takes int, out *Decision) {
	debt := a.debt
	if a.wait == 0 {
		debt += uint64(takes) * a.decider.bucket.interval
	}
	a.decider.describe(a.wait, debt, out)
}

// decide has any other state decided, or looked at.
func (a *asked) decide(n int, consume bool, out *Decision) bool {
	line := a.core.tally.Line()
	if a.clients == nil {
		return a.cell.decide(line, int64(n), consume, out)
	}
	return a.clients.decideKey(line, a.hash, int64(n), consume, out)
}

// chargeWord changes the word that was seen, or one that others have put there
// since, if that admits n as well.
func (a *asked) chargeWord() bool {
	b := a.decider.bucket
	for {
		end := b.word(a.debt+uint64(a.n)*b.interval, a.now)
		if atomic.CompareAndSwapUint64(a.word, a.seen, end) {
			a.charged, a.at, a.way, a.few[0] = true, a.now, 0, end
			return true
		}
		if a.seen = atomic.LoadUint64(a.word); a.seen >= leastReserved {
			return false
		}
		if a.askWord(a.decider.now()); a.wait > 0 {
			return false
		}
	}
}

// visit finds out how long any other state has it wait at the reading that it was
// asked at, and charges it if it does not and consume says so: so that it can be
// given back if lasting says so. It reports whether it did.
func (a *asked) visit(consume, lasting bool, out *Decision) bool {
	if a.clients == nil {
		a.cell.mu.Lock()
		if h := a.cell.held.Load(); a.simple(&h.decider, &h.slot[0]) {
			defer a.cell.mu.Unlock()
			return a.visitSlot(&h.decider, h.slot, &a.cell.logs, consume, out)
		}
		a.cell.mu.Unlock()
		return a.visitAny(consume, lasting, out)
	}
	shard := a.clients.lock(a.hash)
	if place, found := shard.Find(a.hash); found && a.simple(shard.Annex.decider, place.Word()) {
		defer shard.Unlock()
		return a.visitSlot(shard.Annex.decider, place.Slot(), &shard.Annex.logs, consume, out)
	}
	shard.Unlock()
	return a.visitAny(consume, lasting, out)
}

func (a *asked) visitAny(consume, lasting bool, out *Decision) bool {
	switch {
	case consume && lasting:
		return a.reserve(true, out)
	case consume:
		return a.decide(a.n, true, out)
	}
	var answer Decision
	a.ask(&answer)
	return false
}

// ask has any other state looked at. A key's that is apart remembers a denial, so
// that it admits n when it was said to; a Limiter has one policy.
func (a *asked) ask(out *Decision) {
	if a.clients != nil && a.apart() {
		o := a.clients.open(a.hash, 0, nil)
		o.account.ask(o.decider.policy, o.reading, int64(a.n), out)
		o.close()
	} else {
		a.decide(a.n, false, out)
	}
	a.wait = out.RetryAfter
}

// apart reports whether its key's state was an account a moment ago.
func (a *asked) apart() bool {
	place, found := a.clients.states.Find(a.hash)
	return found && atomic.LoadUint64(place.Word()) == apart
}

// keeper returns where its state is.
func (a *asked) keeper() keeper {
	if a.clients == nil {
		return a.cell
	}
	return a.clients
}

// reserve charges it with a receipt. brief says that it is given back soon, or
// never.
func (a *asked) reserve(brief bool, out *Decision) bool {
	o := a.keeper().open(a.hash, int64(a.n), nil)
	defer o.close()
	if p := o.decider.policy; brief && p.size == 0 { // as Allow, which looks for no state
		_, wait := p.decide(state{}, o.reading, int64(a.n), out)
		return wait == 0
	}
	o.brief = brief
	t, err := o.reserve(int64(a.n), 0)
	if err != nil {
		return false
	}
	a.charged, a.kept, a.ticket, a.use = true, o.keeper, t, t.use
	if out != nil {
		o.decide(o.reading, 0, false, out)
	}
	return true
}

// paid returns the receipt by which it was charged.
func (a *asked) paid() Reservation {
	return Reservation{keeper: a.kept, hash: a.hash, ticket: a.ticket, use: a.use, n: int64(a.n)}
}

// simple reports whether a state can be charged in its slot, of which first is
// the first word.
func (a *asked) simple(d *decider, first *uint64) bool {
	return d.bucket == nil && d.policy.leaves <= fewLeaves && atomic.LoadUint64(first) != apart
}

func (a *asked) visitSlot(d *decider, slot []uint64, logs *logbook, consume bool, out *Decision) bool {
	s, n := d.open(slot, logs, a.now), int64(a.n)
	now := s.clamp(a.now)
	a.wait = later(d.policy.wait(s, now, n), saturatingSub(now, a.now))
	if a.wait > 0 || !consume {
		return false
	}
	a.decider, a.at, a.way = d, now, d.policy.way(nil, 0, s, now, n)
	d.policy.take(s, now, n)
	charged(slot, now)
	d.policy.ends(a.way, s, a.few[:])
	if a.charged = true; out != nil {
		d.policy.decide(d.open(slot, logs, now), a.now, 0, out)
	}
	return true
}

// giveBack gives back what was charged in a slot.
func (a *asked) giveBack() {
	o := a.keeper().open(a.hash, 0, nil)
	defer o.close()
	now := o.advance(o.reading)
	if o.decider.era == a.decider.era && o.policy.alike(a.decider.policy) {
		// All holes that there are have come since: its slot was a plain one.
		o.mark(saturatingAdd(now, int64(briefly)))
		o.giveBackFrom(&ticket{at: a.at, way: a.way, ends: a.few[:]}, now, int64(a.n))
	}
}
