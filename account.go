package weir

import "slices"

// An account is a key's state apart from where the plain ones are, with what
// those have no place for: what is reserved of it, and a policy of its own.
// Whatever is done to one is done under its owner's lock.
type account struct {
	hash   uint64 // of the key, as the table calls it
	policy *spec  // that the state is under
	newest uint64
	words  []uint64
	logs   *logbook
	ledger *ledger
	line   *line // nil for an empty one

	// denied is what the state is under another policy, by which it was denied
	// last, so that it is admitted when it was said to be. It has no policy if the
	// state has changed since.
	denied *account
	// before is the state under the policy that it had before something was
	// reserved under another, to which it returns if that is cancelled. It has no
	// policy if the state has changed since.
	before *account
}

// state is the account's without what is pending.
func (a *account) state() state { return state{newest: a.newest, words: a.words, logs: a.logs} }

// under reports whether the state is under a policy.
func (a *account) under(p *spec) bool { return a.policy.is(p) }

// plain reports whether a state under a policy is all that there is.
func (a *account) plain(p *spec) bool { return a.line.empty() && !a.denied.known() && a.under(p) }

// known reports whether what is remembered is so still.
func (a *account) known() bool { return a != nil && a.policy != nil }

// forget says that what is remembered is no longer so.
func (a *account) forget() {
	if a != nil {
		a.policy = nil
	}
}

// changed says that what was found out about the state is no longer so.
func (a *account) changed() {
	a.line.stale()
	a.forgetMemories()
}

func (a *account) forgetMemories() {
	a.denied.forget()
	a.before.forget()
}

// advance brings the account to a reading: what is no longer pending by then is
// charged at its instant. It returns the instant that the reading counts as.
func (a *account) advance(reading int64) (now int64) {
	now = a.state().clamp(reading)
	if a.line.empty() {
		return now
	}
	due := a.line.due(now)
	for _, e := range a.line.pending[:due] {
		a.tooMuch(e)
		a.pay(e.way, e.at, e.n)
		a.record(e.ticket, e.way)
	}
	if a.line.pending = slices.Delete(a.line.pending, 0, due); !a.line.waited() {
		a.line.stale()
	}
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
	return a.line.waited() || a.policy.reset(a.state(), now) > 0
}

// pay charges n at an instant that is not before the newest.
func (a *account) pay(w way, at, n int64) {
	s := a.state()
	// What no longer counts would be misread beside a reading that is newer.
	a.policy.refresh(s, at)
	a.policy.pay(w, s, at, n)
	a.newest = mark(at)
	a.forgetMemories()
}

// charge takes n now, whether it is there or not: in FirstOf from the part that
// would admit it, or a whole capacity of it, first.
func (a *account) charge(now, n int64) {
	p, s := a.front(now)
	w := p.way(nil, 0, s, now, min(n, p.capacity))
	a.pay(w, now, n)
	a.changed()
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
	if !a.line.waited() {
		p.take(s, now, n)
		a.newest = mark(now)
		a.changed()
		return true
	}
	a.charge(now, n)
	if out != nil {
		// What is left is what is there with all that is pending taken after n.
		p, s = a.front(now)
		p.decideAt(s, now, reading, 0, out)
	}
	return true
}

// decideAs is decide under a policy, to which the account is brought if n is
// taken. What is only looked at, or denied, leaves it under the one that it has.
func (a *account) decideAs(p *spec, reading, n int64, consume bool, out *Decision) bool {
	if a.under(p) {
		if consume || !a.line.waited() {
			return a.decide(reading, n, consume, out)
		}
		// A look does not bring the account to its reading, and what would be left is
		// found by taking it.
		if a.line.due(a.state().clamp(reading)) == 0 && (!a.decide(reading, n, false, out) || n == 0) {
			return n == 0
		}
		return a.ledger.trial(a).decide(reading, n, true, out)
	}
	b := a.as(p, reading)
	ok := b.decide(reading, n, true, out)
	switch {
	case !consume || n <= 0 || n > p.capacity:
	case ok:
		a.become(p, reading)
		return a.decide(reading, n, true, nil)
	case !a.line.waited() && !a.remembers(p):
		a.denied = a.denied.copyOf(b)
	}
	return ok
}

// ask is decideAs for who may take n later: nothing is taken, and a denial is
// remembered.
func (a *account) ask(p *spec, reading, n int64, out *Decision) {
	ok := a.decideAs(p, reading, n, false, out)
	if !ok && 0 < n && n <= p.capacity && !a.under(p) && !a.line.waited() && !a.remembers(p) {
		a.denied = a.denied.copyOf(a.as(p, reading))
	}
}

// as returns what the account would be under another policy, valid until the next
// trial.
func (a *account) as(p *spec, reading int64) *account {
	if a.remembers(p) {
		return a.ledger.trial(a.denied)
	}
	b := a.ledger.trial(a)
	b.carry(p, b.advance(reading))
	return b
}

// remembers reports whether it is known what the state is under a policy.
func (a *account) remembers(p *spec) bool { return a.denied.known() && a.denied.under(p) }

// copyOf returns a copy of an account's state, to remember: this one, if there is
// one.
func (a *account) copyOf(b *account) *account {
	if a == nil {
		a = &account{logs: &logbook{scratch: true}, ledger: b.ledger}
	}
	a.logs.clear()
	b.copyTo(a)
	return a
}

// become brings the account to another policy, as it was remembered if it was.
func (a *account) become(p *spec, reading int64) {
	now := a.advance(reading)
	if !a.remembers(p) {
		a.carry(p, now)
		return
	}
	a.voidReceipts()
	a.recall(a.denied)
}

// recall makes the state what is remembered.
func (a *account) recall(b *account) {
	a.policy.release(a.state())
	a.policy, a.newest, a.words = b.policy, b.newest, append(a.words[:0], b.words...)
	a.policy.copyLogs(b.state(), a.state(), false)
	a.changed()
}

// strike takes out what is reserved, as if it had never been.
func (a *account) strike(t *ticket) {
	a.line.strike(a.line.find(t))
	if a.before.known() && !a.line.waited() {
		a.recall(a.before)
	}
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
			debt := b.debtOf(was, now)
			a.bore(hole{leaf: number, top: before[at], gone: debt - b.debtOf(s, now)}, int64(nanos(debt)), now)
		}
		number++
		at += p.size
	})
	a.newest = mark(now)
	a.changed()
}

// reset makes the state full, and lays out again what is pending.
func (a *account) reset(now int64) {
	a.voidReceipts()
	a.policy.release(a.state())
	clear(a.words)
	a.newest = 0
	a.changed()
	a.layOut(now)
}

// carry brings the account to another policy.
func (a *account) carry(to *spec, now int64) {
	if a.policy.alike(to) {
		a.policy = to
		return
	}
	a.voidReceipts()
	words := slices.Grow(a.ledger.words[:0], to.size)[:to.size]
	a.ledger.words = words
	clear(words)
	a.policy.carry(a.state(), to, state{newest: mark(now), words: words, logs: a.logs}, now)
	a.policy, a.newest, a.words = to, mark(now), append(a.words[:0], words...)
	a.changed()
	a.layOut(now)
}

// copyTo makes another account the same, with logs of its own and nobody who
// waits for it.
func (a *account) copyTo(b *account) {
	b.policy, b.newest, b.words = a.policy, a.newest, append(b.words[:0], a.words...)
	a.policy.copyLogs(a.state(), b.state(), false)
	b.ledger.clear(b)
	if a.line.waited() {
		l := b.lined()
		l.pending = append(l.pending, a.line.pending...)
		for i := range l.pending {
			l.pending[i].ticket = nil
		}
	}
}

// abandon leaves those who wait for a key that is not held any more to their
// instants.
func (a *account) abandon() {
	if a.line.empty() {
		return
	}
	for _, e := range a.line.pending {
		if e.ticket != nil {
			e.ticket.stage = stageAbandoned
		}
	}
}
