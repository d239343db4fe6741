package weir

import (
	"math"
	"slices"
	"sort"
)

// A line is what is reserved of an account's state, and what was. The zero line
// is empty.
type line struct {
	pending []entry // by instant, then by age: those that are still to come
	holes   []hole
	closes  int64 // when the first of them is of no use any more
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
	added int    // to it, since it was made
	since uint64 // mark of the instant at which it was made
	words []uint64
	logs  logbook
}

// voidReceipts makes worthless all receipts up to now, so that nobody asks for the
// holes.
func (a *account) voidReceipts() {
	a.ledger.void(a.hash)
	if a.line != nil {
		a.line.holes = a.line.holes[:0]
	}
}

// lined returns the account's line, to add to.
func (a *account) lined() *line {
	if a.line == nil {
		if a.line = a.ledger.line; a.line == nil {
			a.line = new(line)
		}
		a.ledger.line = nil
	}
	return a.line
}

func (l *line) empty() bool { return l == nil || len(l.pending) == 0 && len(l.holes) == 0 }

// waited reports whether anything is pending.
func (l *line) waited() bool { return l != nil && len(l.pending) > 0 }

// after returns how many are still to come at a reading.
func (l *line) after(reading int64) int {
	if l == nil {
		return 0
	}
	return len(l.pending) - l.due(reading)
}

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
	if t.stage == stagePending {
		l.pending[l.find(t)].ticket = nil
	}
}

// stale says that the front is no longer what it was made of.
func (l *line) stale() {
	if l != nil {
		l.front.valid = false
	}
}

// front returns the state in which those who come now are looked at.
func (a *account) front(now int64) (*spec, state) {
	if !a.line.waited() {
		return a.policy, a.state()
	}
	p, f := a.policy.lookingAhead(), &a.line.front
	// Words are told apart up to 73 years ahead of since, and are up to 61 ahead of
	// now.
	if !f.valid || mark(now) < f.since || mark(now)-f.since > uint64(year) {
		a.makeFront(p, now)
	}
	return p, state{newest: f.since, words: f.words, logs: &f.logs}
}

func (a *account) makeFront(p *spec, now int64) {
	f := &a.line.front
	f.valid, f.added, f.since = true, 0, mark(now)
	f.words = append(f.words[:0], a.words...)
	f.logs.scratch = true
	f.logs.clear()
	s := state{newest: a.newest, words: f.words, logs: &f.logs}
	a.policy.copyLogs(a.state(), s, true)
	p.refresh(s, now)
	s.newest = f.since
	for _, e := range a.line.pending {
		p.pay(e.way, s, e.at, e.n)
	}
}

// enter takes n at its turn: now, or once that comes.
func (a *account) enter(t *ticket, n int64, turn turn) {
	t.at = turn.now + turn.wait
	if turn.wait == 0 {
		a.pay(turn.way, turn.now, n)
		a.record(t, turn.way)
		a.line.stale()
		return
	}
	t.stage = stagePending
	a.denied.forget()
	l := a.lined()
	i := sort.Search(len(l.pending), func(i int) bool { return l.pending[i].at > t.at })
	// What is not pending any more stays in the front until that is made anew.
	if f := &l.front; i < len(l.pending) || f.added > 64+len(l.pending) {
		l.stale()
	} else if f.valid {
		f.added++
		a.policy.lookingAhead().pay(turn.way, state{newest: f.since, words: f.words, logs: &f.logs}, t.at, n)
	}
	l.pending = slices.Insert(l.pending, i, entry{t.at, n, turn.way, t})
}

// layOut gives each that is pending the earliest instant that there is for it
// now, in order. One that there is none for is struck. The state has changed.
func (a *account) layOut(now int64) {
	if !a.line.waited() {
		return
	}
	pending := a.line.pending
	a.line.pending = nil
	for _, e := range pending {
		t := e.ticket
		if t == nil {
			t = new(ticket) // of one who has given it back, or of a trial
		}
		p, s := a.front(now)
		switch wait := p.wait(s, now, e.n); {
		case wait == Never:
			t.strike(ErrNever)
		case wait > maxSpan, now > math.MaxInt64-int64(wait):
			t.strike(ErrTooLong)
		default:
			was := t.stage
			a.enter(t, e.n, turn{now, int64(wait), p.way(nil, 0, s, now+int64(wait), e.n)})
			if was == stageSettled && t.stage == stagePending {
				t.stage = stageSettled
			}
			t.alert()
		}
	}
}
