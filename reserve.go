package weir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Why a Reservation is not OK, and why Wait fails at once.
var (
	// ErrNever is for a number that is negative or above the capacity: it would
	// never be admitted.
	ErrNever = errors.New("weir: it would never be admitted")
	// ErrQueueFull is for one that a LeakyBucket's queue has no place for, and
	// for a new client of which DenyNew can hold no more.
	ErrQueueFull = errors.New("weir: the queue is full")
	// ErrTooLong is for one that would have to wait longer than the caller would,
	// or for more than 30 years.
	ErrTooLong = errors.New("weir: the wait would be too long")
)

// errPastDeadline is Wait's for a turn that would come after its deadline.
var errPastDeadline = fmt.Errorf("weir: the turn would come too late: %w", context.DeadlineExceeded)

// A Reservation is a receipt for what was reserved, for now or for an instant to
// come. That instant is fixed when it is made; only a new policy, or Reset, lays
// out anew what is still to come. Copies are the same receipt. The zero
// Reservation is not OK. It is safe for concurrent use.
type Reservation struct {
	keeper keeper
	hash   uint64
	ticket *ticket
	turn   uint64 // of the ticket
	at     int64
	n      int64
	err    error
}

// OK reports whether it was made, and still stands.
func (r Reservation) OK() bool { return r.Err() == nil }

// Err returns why it is not OK: ErrNever, ErrQueueFull or ErrTooLong. One that was
// OK is no longer if it is still to come when a policy is set that would never
// admit it.
func (r Reservation) Err() error {
	if r.keeper == nil {
		return cmp.Or(r.err, ErrNever)
	}
	_, err := r.look()
	return err
}

// Delay returns how long it is until its instant: 0 once that has passed, Never
// if it is not OK.
func (r Reservation) Delay() time.Duration {
	if r.keeper == nil {
		return Never
	}
	left, err := r.look()
	if err != nil {
		return Never
	}
	return max(0, left)
}

func (r Reservation) look() (left time.Duration, err error) {
	o := r.keeper.open(r.hash, 0, nil)
	defer o.close()
	at := r.at
	if t := r.ticket; t.turn == r.turn {
		if !t.pending && t.era != 0 {
			return 0, t.err
		}
		at = t.at
	}
	return time.Duration(saturatingSub(at, o.reading)), nil
}

// Cancel takes it back before its instant, as if it had never been. After that it
// does nothing, nor when it was cancelled or settled before.
func (r Reservation) Cancel() {
	if r.keeper == nil {
		return
	}
	o := r.keeper.open(r.hash, 0, nil)
	defer o.close()
	if o.advance(o.reading); r.stands() && r.ticket.pending {
		o.line.strike(o.line.find(r.ticket))
		o.ledger.redeem(r.ticket)
	}
}

// Settle says what the work cost in the end: actual, instead of what was
// reserved. Of what it did not cost, that is given back which time has not given
// back already, as what is taken first drains first; what it cost more is
// charged, as Charge does. A negative actual counts as 0. Only the first call
// counts, and Cancel does nothing after it. A receipt from before a change of
// policy gives nothing back.
func (r Reservation) Settle(actual int) {
	if r.keeper == nil {
		return
	}
	less := r.n - int64(max(0, actual))
	o := r.keeper.open(r.hash, min(1, max(0, -less)), nil)
	defer o.close()
	now := o.advance(o.reading)
	t := r.ticket
	if !r.stands() {
		return
	}
	switch {
	case less < 0:
		o.charge(now, -less)
	case less > 0 && t.pending && less == r.n:
		o.line.strike(o.line.find(t))
		t.pending = false
	case less > 0 && t.pending:
		o.line.pending[o.line.find(t)].n -= less
		o.changed()
	case less > 0 && t.era == o.decider.era:
		o.giveBack(t, now, less)
	}
	if t.settled = t.pending; !t.settled {
		o.ledger.redeem(t)
	}
}

// stands reports whether the receipt is still good for anything.
func (r Reservation) stands() bool {
	return r.ticket.turn == r.turn && r.ticket.err == nil && !r.ticket.settled
}

// reserve makes a reservation of n that is not further off than most.
func (o *opened) reserve(n int64, most time.Duration) (*ticket, error) {
	p := o.decider.policy
	switch {
	case n < 0 || n > p.capacity:
		return nil, ErrNever
	case o.refused:
		return nil, ErrQueueFull
	}
	now := o.advance(o.reading)
	if n > 0 && !o.under(p) {
		// What is refused leaves the account under the policy that it has.
		trial := o.ledger.trial(o.account)
		trial.carry(p, now)
		if _, _, err := trial.turn(o.reading, now, n, most); err != nil {
			return nil, err
		}
		o.become(p, o.reading)
	}
	t := o.ledger.issue(o.decider.era)
	if n == 0 {
		t.at = o.reading
		return t, nil
	}
	wait, way, err := o.turn(o.reading, now, n, most)
	if err != nil {
		o.ledger.redeem(t)
		return nil, err
	}
	o.enter(t, way, now, n, int64(wait))
	return t, nil
}

// turn returns how long after an instant n would be admitted, behind those who
// wait, and in which way, if that is not further off than most from a reading.
func (a *account) turn(reading, now, n int64, most time.Duration) (time.Duration, way, error) {
	p, s := a.front(now)
	full := []bool(nil)
	wait := p.wait(s, now, n)
	if wait > 0 && p.queues {
		full = a.fullQueues(p, s)
		wait = p.waitWithout(full, 0, s, now, n)
	}
	switch {
	case wait == forFull:
		return 0, 0, ErrQueueFull
	case wait > maxSpan, now > math.MaxInt64-int64(wait), later(wait, saturatingSub(now, reading)) > max(0, most):
		return 0, 0, ErrTooLong
	}
	return wait, p.way(full, 0, s, now+int64(wait), n), nil
}

// fullQueues says of each leaf whether it is a LeakyBucket for which as many are
// pending as may be.
func (a *account) fullQueues(p *spec, s state) []bool {
	l := a.ledger
	l.queued = slices.Grow(l.queued[:0], p.leaves)[:p.leaves]
	l.full = slices.Grow(l.full[:0], p.leaves)[:p.leaves]
	clear(l.queued)
	if a.line != nil {
		for _, e := range a.line.pending {
			p.eachPayer(e.way, s, func(number int, _ *spec, _ state) { l.queued[number]++ })
		}
	}
	number := 0
	p.eachLeaf(s, func(p *spec, _ state) {
		l.full[number] = p.queues && l.queued[number] >= p.queue
		number++
	})
	return l.full
}

// reserve is what Reserve and Wait come to.
func (c *core) reserve(k keeper, hash uint64, n int, most time.Duration) Reservation {
	if c.shadow {
		most = 0
	}
	o := k.open(hash, int64(n), nil)
	t, err := o.reserve(int64(n), most)
	r := Reservation{n: int64(n), err: err}
	switch {
	case err == nil:
		r.keeper, r.hash, r.ticket, r.turn, r.at = o.keeper, hash, t, t.turn, t.at
	case c.shadow:
		// A receipt that stands for nothing: it is spent.
		t = o.ledger.issue(o.decider.era)
		r = Reservation{keeper: o.keeper, hash: hash, ticket: t, turn: t.turn, at: o.reading}
		o.ledger.redeem(t)
	}
	o.close()
	c.tally.count(n, err == nil, c.shadow)
	return r
}

// wait is what Wait and WaitN come to.
func (c *core) wait(ctx context.Context, k keeper, hash uint64, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ok := k.try(hash, int64(n)); ok || c.shadow {
		c.tally.count(n, ok, c.shadow)
		return nil
	}
	most, hurry := Never, false
	if deadline, ok := ctx.Deadline(); ok && neverStepsBack(c.clock) {
		most, hurry = time.Until(deadline), true
	}
	r := c.reserve(k, hash, n, most)
	switch {
	case r.keeper != nil:
		return c.sleep(ctx, r)
	case r.err == ErrTooLong && hurry:
		return errPastDeadline
	}
	return r.err
}

// sleep waits for a reservation's instant, also if that is laid out anew.
func (c *core) sleep(ctx context.Context, r Reservation) error {
	t := r.ticket
	slept := false
	for at := r.at; ; {
		o := r.keeper.open(r.hash, 0, nil)
		o.advance(o.reading)
		if !t.pending || slept && t.at == at {
			err := t.err
			o.line.detach(t)
			o.ledger.redeem(t)
			o.close()
			return err
		}
		awake, wake := context.WithCancel(ctx)
		at, t.wake = t.at, wake
		o.close()

		err := c.clock.SleepUntil(awake, time.Duration(at))
		slept = err == nil
		woken := awake.Err() != nil && ctx.Err() == nil
		wake()
		if !slept && !woken {
			return c.leave(r, err)
		}
	}
}

// leave gives up waiting because of an error, unless it is the turn now.
func (c *core) leave(r Reservation, err error) error {
	o := r.keeper.open(r.hash, 0, nil)
	defer o.close()
	o.advance(o.reading)
	t := r.ticket
	if t.pending {
		o.line.strike(o.line.find(t))
	} else {
		err = t.err
	}
	o.ledger.redeem(t)
	return err
}

func (c *core) charge(k keeper, hash uint64, n int) {
	if n <= 0 {
		return
	}
	o := k.open(hash, 1, nil)
	defer o.close()
	o.account.charge(o.advance(o.reading), int64(n))
}

func (c *core) refund(k keeper, hash uint64, n int) {
	if n <= 0 {
		return
	}
	o := k.open(hash, 0, nil)
	defer o.close()
	o.account.refund(o.advance(o.reading), int64(n))
}
