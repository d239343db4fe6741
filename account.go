package weir

import (
	"slices"
	"sort"
)

// An account is a key's state apart from where the plain ones are, with what
// those have no place for: what is reserved of it, and a policy of its own.
// Whatever is done to one is done under its owner's lock.
type account struct {
	policy *spec // that the state is under
	newest uint64
	words  []uint64
	logs   *logbook
	ledger *ledger
	line   line
}

// state is the account's without what is pending.
func (a *account) state() state { return state{newest: a.newest, words: a.words, logs: a.logs} }

// under reports whether the state is under a policy.
func (a *account) under(p *spec) bool {
	return a.policy == p || Policy{a.policy}.Equal(Policy{p})
}

// plain reports whether a state under a policy is all that there is.
func (a *account) plain(p *spec) bool { return a.line.empty() && a.under(p) }

// advance brings the account to a reading: what is no longer pending by then is
// charged at its instant. It returns the instant that the reading counts as.
func (a *account) advance(reading int64) (now int64) {
	now = a.state().clamp(reading)
	due := a.line.due(now)
	for _, e := range a.line.pending[:due] {
		a.pay(e.way, e.at, e.n)
		a.record(e.ticket, e.way)
	}
	a.line.pending = slices.Delete(a.line.pending, 0, due)
	a.line.forget(now)
	return now
}

// notBefore has what is older than a mark count as of then.
func (a *account) notBefore(newest uint64) {
	if a.newest < newest {
		a.policy.refresh(a.state(), readingOf(newest))
		a.newest = newest
	}
}

// owes reports whether anything is used, or reserved, at a reading.
func (a *account) owes(reading int64) bool {
	now := a.advance(reading)
	return len(a.line.pending) > 0 || a.policy.reset(a.state(), now) > 0
}

// pay charges n at an instant that is not before the newest.
func (a *account) pay(w way, at, n int64) {
	s := a.state()
	// What no longer counts would be misread beside a reading that is newer.
	a.policy.refresh(s, at)
	a.policy.pay(w, s, at, n)
	a.newest = mark(at)
}

// charge takes n now, whether it is there or not.
func (a *account) charge(now, n int64) way {
	p, s := a.front(now)
	w := p.way(nil, 0, s, now, n)
	a.pay(w, now, n)
	a.line.stale()
	return w
}

// decide decides about n at a reading, and takes it if it is admitted and consume
// says so. It fills out unless that is nil.
func (a *account) decide(reading, n int64, consume bool, out *Decision) bool {
	now := a.advance(reading)
	p, s := a.front(now)
	wait := p.decideAt(s, now, reading, n, out)
	if wait > 0 || !consume || n == 0 {
		return wait == 0
	}
	a.charge(now, n)
	if out != nil && len(a.line.pending) > 0 {
		// What is left is what is there with all that is pending taken after n.
		p, s = a.front(now)
		p.decideAt(s, now, reading, 0, out)
	}
	return true
}

// decideAs is decide under a policy, to which the account is brought if n is
// taken. What is only looked at, or denied, leaves it as it is.
func (a *account) decideAs(p *spec, reading, n int64, consume bool, out *Decision) bool {
	same := a.under(p)
	if same && (consume || out == nil || len(a.line.pending) == 0) {
		return a.decide(reading, n, consume, out)
	}
	b := a.ledger.trial(a)
	if !same {
		b.carry(p, b.advance(reading))
	}
	ok := b.decide(reading, n, true, out)
	if ok && consume && n > 0 {
		a.carry(p, a.advance(reading))
		a.decide(reading, n, true, nil)
	}
	return ok
}

// refund gives back up to n of what was taken last.
func (a *account) refund(now, n int64) {
	before := append(a.ledger.words[:0], a.words...)
	a.ledger.words = before
	s := a.state()
	a.policy.refresh(s, now)
	a.policy.refund(s, now, n)
	number, at := 0, 0
	a.policy.eachLeaf(s, func(p *spec, s state) {
		if b, ok := p.meter.(tokenBucket); ok && before[at] != s.words[0] {
			was := state{newest: a.newest, words: before[at : at+1]}
			gone := b.debtOf(was, now) - b.debtOf(s, now)
			a.bore(hole{leaf: number, top: before[at], gone: gone}, int64(b.reset(was, now, 0)), now)
		}
		number++
		at += p.size
	})
	a.newest = mark(now)
	a.line.stale()
}

// reset makes the state full, and lays out again what is pending.
func (a *account) reset(now int64) {
	a.void(now)
	a.policy.release(a.state())
	clear(a.words)
	a.newest = 0
	a.layOut(now)
}

// carry brings the account to another policy.
func (a *account) carry(to *spec, now int64) {
	if a.policy.alike(to) {
		a.policy = to
		a.line.stale()
		return
	}
	a.void(now)
	words := slices.Grow(a.ledger.words[:0], to.size)[:to.size]
	a.ledger.words = words
	clear(words)
	a.policy.carry(a.state(), to, state{newest: mark(now), words: words, logs: a.logs}, now)
	a.policy, a.newest, a.words = to, mark(now), append(a.words[:0], words...)
	a.layOut(now)
}

// copyTo makes another account the same, with logs of its own and nobody who
// waits for it.
func (a *account) copyTo(b *account) {
	b.policy, b.newest, b.words = a.policy, a.newest, append(b.words[:0], a.words...)
	a.policy.copyLogs(a.state(), b.state(), false)
	b.line.holes = b.line.holes[:0]
	b.line.pending = append(b.line.pending[:0], a.line.pending...)
	for i := range b.line.pending {
		b.line.pending[i].ticket = nil
	}
	b.line.stale()
}

// abandon leaves those who wait for a key that is not held any more to their
// instants.
func (a *account) abandon() {
	for _, e := range a.line.pending {
		if e.ticket != nil {
			e.ticket.pending, e.ticket.era = false, 0
		}
	}
}

// A line is what is reserved of an account's state, and what was. The zero line
// is empty.
type line struct {
	pending []entry // by instant, then by age: those that are still to come
	holes   []hole
	front   front
}

// An entry is a reservation whose instant is still to come.
type entry struct {
	at     int64
	n      int64
	way    way
	ticket *ticket
}

// A front is the state with all that is pending taken at its time: those who come
// now are looked at in it.
type front struct {
	valid bool
	since uint64 // mark of the instant at which it was made
	words []uint64
	logs  logbook
}

func (l *line) empty() bool { return len(l.pending) == 0 && len(l.holes) == 0 }

// after returns how many are still to come at a reading.
func (l *line) after(reading int64) int { return len(l.pending) - l.due(reading) }

// due returns how many, the first ones, are no longer pending.
func (l *line) due(now int64) int {
	if len(l.pending) == 0 || l.pending[0].at > now {
		return 0
	}
	return sort.Search(len(l.pending), func(i int) bool { return l.pending[i].at > now })
}

// find returns where a ticket's entry is.
func (l *line) find(t *ticket) int {
	i := sort.Search(len(l.pending), func(i int) bool { return l.pending[i].at >= t.at })
	for l.pending[i].ticket != t {
		i++
	}
	return i
}

// strike takes out an entry, as if it had never been.
func (l *line) strike(i int) {
	l.pending = slices.Delete(l.pending, i, i+1)
	l.stale()
}

// detach forgets whose an entry is.
func (l *line) detach(t *ticket) {
	if t.pending {
		l.pending[l.find(t)].ticket = nil
	}
}

// stale says that the front is no longer what it was made of.
func (l *line) stale() { l.front.valid = false }

// front returns the state in which those who come now are looked at.
func (a *account) front(now int64) (*spec, state) {
	if len(a.line.pending) == 0 {
		return a.policy, a.state()
	}
	p, f := a.policy.lookingAhead(), &a.line.front
	if !f.valid || mark(now) < f.since {
		a.makeFront(p, now)
	}
	return p, state{newest: f.since, words: f.words, logs: &f.logs}
}

func (a *account) makeFront(p *spec, now int64) {
	f := &a.line.front
	f.valid, f.since = true, mark(now)
	f.words, f.logs = append(f.words[:0], a.words...), logbook{}
	s := state{newest: a.newest, words: f.words, logs: &f.logs}
	a.policy.copyLogs(a.state(), s, true)
	p.refresh(s, now)
	s.newest = f.since
	for _, e := range a.line.pending {
		p.pay(e.way, s, e.at, e.n)
	}
}

// enter takes n after a wait, in a way, from now on or once that is over.
func (a *account) enter(t *ticket, w way, now, n int64, wait int64) {
	t.at, t.n = now+wait, n
	if wait == 0 {
		a.pay(w, now, n)
		a.record(t, w)
		a.line.stale()
		return
	}
	t.pending = true
	l := &a.line
	i := sort.Search(len(l.pending), func(i int) bool { return l.pending[i].at > t.at })
	if i < len(l.pending) {
		l.stale()
	} else if f := &l.front; f.valid {
		a.policy.lookingAhead().pay(w, state{newest: f.since, words: f.words, logs: &f.logs}, t.at, n)
	}
	l.pending = slices.Insert(l.pending, i, entry{t.at, n, w, t})
}

// layOut gives each that is pending the earliest instant that there is for it
// now, in order. One that there is none for is struck.
func (a *account) layOut(now int64) {
	a.line.stale()
	pending := a.line.pending
	a.line.pending = nil
	for _, e := range pending {
		p, s := a.front(now)
		t, wait := e.ticket, p.wait(s, now, e.n)
		if t == nil {
			t = new(ticket) // of one who has given it back, or of a trial
		}
		switch {
		case wait == Never:
			t.strike(ErrNever)
		case wait > maxSpan:
			t.strike(ErrTooLong)
		default:
			a.enter(t, p.way(nil, 0, s, now+int64(wait), e.n), now, e.n, int64(wait))
			t.alert()
		}
	}
}
