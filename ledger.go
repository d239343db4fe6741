package weir

// A ledger is what the accounts under one lock have in common.
type ledger struct {
	accounts map[uint64]*account // of a shard, by the table's hash
	marks    map[uint64]receipts // of keys that may have receipts, likewise
	seq      uint64              // of holes and marks
	free     *ticket
	chunk    []ticket
	chunks   int      // tickets in the last one
	words    []uint64 // for who needs some for a moment
	queued   []int    // likewise: how many are pending for each leaf, and
	full     []bool   // whether that is all that its queue has place for
	spare    *account
	line     *line    // a spare one
	tried    *account // a copy that something is tried with
	logs     logbook  // of tried
}

// issue returns a ticket.
func (l *ledger) issue(era uint64) *ticket {
	t := l.free
	if t != nil {
		l.free, t.next = t.next, nil
	} else {
		if len(l.chunk) == 0 {
			// Several at a time: who never gives one back allocates seldom.
			l.chunks = min(2*l.chunks+4, 64)
			l.chunk = make([]ticket, l.chunks)
		}
		t, l.chunk = &l.chunk[0], l.chunk[1:]
		t.ends = t.one[:]
	}
	t.era = era
	return t
}

// redeem takes back a ticket.
func (l *ledger) redeem(t *ticket) {
	*t = ticket{use: t.use + 1, ends: t.ends[:0], next: l.free}
	l.free = t
}

// open returns an account without a state.
func (l *ledger) open(hash uint64, p *spec, logs *logbook) *account {
	a := l.spare
	if l.spare = nil; a == nil {
		a = new(account)
	}
	a.hash, a.policy, a.logs, a.ledger = hash, p, logs, l
	a.forgetMemories()
	return a
}

// close takes back an account that is not needed any more.
func (l *ledger) close(a *account) {
	l.clear(a)
	l.spare = a
}

// clear takes an account's line from it, for who needs one next.
func (l *ledger) clear(a *account) {
	if line := a.line; line != nil {
		clear(line.pending)
		line.pending, line.holes = line.pending[:0], line.holes[:0]
		line.front.valid = false
		l.line, a.line = line, nil
	}
}

// trial returns a copy of an account, valid until the next.
func (l *ledger) trial(a *account) *account {
	if l.tried == nil {
		l.logs.scratch = true
		l.tried = &account{ledger: l, logs: &l.logs}
	}
	l.logs.clear()
	a.copyTo(l.tried)
	return l.tried
}
