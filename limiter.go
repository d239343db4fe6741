package weir

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Limiter is one policy with one state. Make it with New: the zero Limiter is
// of no use. It is safe for concurrent use.
type Limiter struct {
	core
	cell    cell
	watch   atomic.Pointer[watch[struct{}]]
	setting sync.Mutex // SetPolicy, one at a time
}

// New returns a Limiter that is full. It panics if p is invalid, with the text
// of p.Validate, and if an option makes no sense. Options that concern many
// keys have no effect.
func New(p Policy, opts ...Option) *Limiter {
	l := &Limiter{core: core{newOptions(opts), newTally()}}
	d := newDecider(mustBeValid(p), l.clock)
	l.cell.held.Store(newHeld(&d))
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

// Reserve takes n at the earliest instant that admits it, which may be still to
// come, behind those that were reserved before. It counts as Allowed from then on,
// whether it is cancelled or not.
func (l *Limiter) Reserve(n int) Reservation { return l.reserve(&l.cell, 0, n, Never, false) }

// ReserveWithin is Reserve if that instant is not further off than most, of which
// a negative one counts as 0; otherwise it takes nothing.
func (l *Limiter) ReserveWithin(n int, most time.Duration) Reservation {
	return l.reserve(&l.cell, 0, n, most, false)
}

// Wait waits until one is allowed, behind those who came before, and consumes it.
// It fails at once, and consumes nothing, with ErrNever, ErrQueueFull, or for more
// than 30 years ErrTooLong; if ctx is done, with its error; and if the turn would come after ctx's deadline, with an
// error that is context.DeadlineExceeded. (On a clock other than the system's,
// which ctx does not go by, it sleeps until ctx is done.) If ctx is done while it
// sleeps, or the clock fails to sleep, whose error it then returns, it is as if it
// had never come.
func (l *Limiter) Wait(ctx context.Context) error { return l.wait(ctx, &l.cell, 0, 1) }

// WaitN is Wait for n.
func (l *Limiter) WaitN(ctx context.Context, n int) error { return l.wait(ctx, &l.cell, 0, n) }

// Charge consumes n although it may not be there: those who come later wait for
// it; of FirstOf's parts one pays for all of it, and the others go on admitting. A
// bucket owes at most a year above its capacity, a window counts what is too much
// until it is over. Charge is for costs known only afterwards; it is not counted in
// the Stats.
func (l *Limiter) Charge(n int) { chargeKey(&l.cell, 0, int64(n)) }

// Refund gives back up to n of what was consumed last, never above full. FirstOf
// does not know which part that was: it gives back to the last one in its list first,
// as far as something of that is used. What is reserved for later stays. To give back
// what a certain work did not need, see Reservation.Settle.
func (l *Limiter) Refund(n int) { refundKey(&l.cell, 0, int64(n)) }

// Reset makes the limiter as full as a new one, and those who wait go on as that
// allows. Its Stats stay.
func (l *Limiter) Reset() { l.cell.reset() }

// Policy returns the policy in force.
func (l *Limiter) Policy() Policy { return Policy{l.cell.held.Load().policy} }

// SetPolicy puts another policy in force, for all who come after. On an error,
// that of p.Validate, nothing changes, and neither does it for a policy that is
// Equal. What is used stays used: the debt of a bucket in a bucket, part by part
// in combinations of the same form, and otherwise the number, up to the new
// capacity: of a policy that keeps no count, of Unlimited or of 0, nothing. Those who
// wait are laid out again in their order, and wake earlier if there is more for them
// now.
func (l *Limiter) SetPolicy(p Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	l.setting.Lock()
	defer l.setting.Unlock()
	if d := &l.cell.held.Load().decider; !p.Equal(Policy{d.policy}) {
		l.cell.setDecider(d.after(p))
	}
	return nil
}

// Stats returns the counters. Nobody waits for it long.
func (l *Limiter) Stats() Stats {
	s := l.tally.stats()
	s.Waiting = l.cell.pending()
	return s
}

// decide is what every verb about now comes to. It fills d unless that is nil.
func (l *Limiter) decide(n int, consume bool, d *Decision) bool {
	line := l.tally.Line()
	ok := l.cell.decide(line, int64(n), consume, d)
	if consume {
		count(line, n, ok, l.shadow)
	}
	if ok {
		return true
	}
	ok = l.verdict(false, d)
	if consume {
		l.tell(n, known(d))
	}
	return ok
}

// tell is PerClient.tell.
func (l *Limiter) tell(n int, d Decision) {
	if w := l.watch.Load(); w != nil && n > 0 && w.pace.may() {
		if d == (Decision{}) {
			d = l.Peek(n)
		}
		w.denied(struct{}{}, &l.tally, d)
	}
}
