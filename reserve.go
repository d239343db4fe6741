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
// come. That instant is fixed when it is made; only another policy, for all or
// for its key, or Reset, lays out anew what is still to come. Copies are the same
// receipt. The zero Reservation is not OK. It is safe for concurrent use.
type Reservation struct {
	keeper keeper
	hash   uint64
	ticket *ticket
	use    uint64 // of the ticket
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
	o.advance(o.reading)
	switch t := r.ticket; {
	case t.use != r.use || t.stage == stageTaken:
		return 0, nil
	case t.stage == stageStruck:
		return 0, t.err
	default:
		return time.Duration(saturatingSub(t.at, o.reading)), nil
	}
}

// Cancel takes it back before its instant, as if it had never been. After that it
// does nothing, nor when it was cancelled or settled before.
func (r Reservation) Cancel() {
	if r.keeper == nil {
		return
	}
	o := r.keeper.open(r.hash, 0, nil)
	defer o.close()
	if o.advance(o.reading); r.ticket.use == r.use && r.ticket.stage == stagePending {
		o.strike(r.ticket)
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
	o := r.keeper.open(r.hash, 0, nil)
	first := o.settle(r, less)
	o.close()
	if first && less < 0 {
		chargeKey(r.keeper, r.hash, -less)
	}
}

// settle gives back what a reservation cost less, and reports whether it is the
// first to say so.
func (o *opened) settle(r Reservation, less int64) bool {
	now, t := o.advance(o.reading), r.ticket
	if t.use != r.use {
		return false
	}
	switch t.stage {
	case stageSettled, stageStruck:
		return false
	case stageTaken:
		if less > 0 && t.era == o.decider.era {
			o.giveBack(t, now, less)
		}
	case stagePending:
		if less == r.n {
			o.strike(t)
			break
		}
		if less > 0 {
			o.line.pending[o.line.find(t)].n -= less
			o.changed()
		}
		t.stage = stageSettled // SetPolicy may still lay it out anew
		return true
	}
	o.ledger.redeem(t)
	return true
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
	if n > 0 && !o.under(p) {
		// What is refused leaves the account under the policy that it has.
		if _, err := o.as(p, o.reading).turn(o.reading, n, most); err != nil {
			return nil, err
		}
		before := (*account)(nil).copyOf(o.account)
		o.become(p, o.reading)
		o.before = before
	}
	if n == 0 {
		return o.ledger.issue(o.decider.era), nil
	}
	turn, err := o.turn(o.reading, n, most)
	if err != nil {
		return nil, err
	}
	t := o.ledger.issue(o.decider.era)
	t.brief = o.brief
	o.enter(t, n, turn)
	return t, nil
}

// A turn is when something is admitted, and who pays.
type turn struct {
	now  int64 // when it was asked for
	wait int64 // from then on
	way  way
}

// turn returns when n, at most the capacity, would be admitted, behind those who wait,
// if that is not further off than most from a reading.
func (a *account) turn(reading, n int64, most time.Duration) (turn, error) {
	now := a.advance(reading)
	p, s := a.front(now)
	full := []bool(nil)
	wait := p.wait(s, now, n)
	if wait > 0 && p.queues {
		full = a.fullQueues(p, s)
		wait = p.waitWithout(full, 0, s, now, n)
	}
	switch {
	case wait == forFull:
		return turn{}, ErrQueueFull
	case wait > maxSpan, now > math.MaxInt64-int64(wait), later(wait, saturatingSub(now, reading)) > max(0, most):
		return turn{}, ErrTooLong
	}
	return turn{now, int64(wait), p.way(full, 0, s, now+int64(wait), n)}, nil
}

// fullQueues says of each leaf whether it is a LeakyBucket for which as many are
// pending as may be.
func (a *account) fullQueues(p *spec, s state) []bool {
	l := a.ledger
	l.queued = slices.Grow(l.queued[:0], p.leaves)[:p.leaves]
	l.full = slices.Grow(l.full[:0], p.leaves)[:p.leaves]
	clear(l.queued)
	if a.line.waited() && p.leaves == 1 {
		l.queued[0] = len(a.line.pending)
	} else if a.line.waited() {
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

// reserve is what Reserve and Wait come to. tried says that it was counted
// already if there was no room for the key.
func (c *core) reserve(k keeper, hash uint64, n int, most time.Duration, tried bool) Reservation {
	if c.shadow {
		most = 0
	}
	o := k.open(hash, int64(n), nil)
	if o.overflowed && !tried && n > 0 {
		c.tally.Add(countOverflowed)
	}
	t, err := o.reserve(int64(n), most)
	r := Reservation{n: int64(n), err: err}
	switch {
	case err == nil:
		r.keeper, r.hash, r.ticket, r.use, r.at = o.keeper, hash, t, t.use, t.at
	case c.shadow:
		// A receipt that stands for nothing: it is spent.
		t = o.ledger.issue(o.decider.era)
		r = Reservation{keeper: o.keeper, hash: hash, ticket: t, use: t.use, at: o.reading}
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
	line := c.tally.Line()
	if ok := k.try(line, hash, int64(n)); ok || c.shadow {
		count(line, n, ok, c.shadow)
		return nil
	}
	most, hurry := Never, false
	if deadline, ok := ctx.Deadline(); ok && neverStepsBack(c.clock) {
		most, hurry = time.Until(deadline), true
	}
	r := c.reserve(k, hash, n, most, true)
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
	left := false
	defer func() {
		if !left { // the clock has panicked
			_ = r.leave(context.Canceled)
		}
	}()
	slept := false
	for at := r.at; ; {
		awake, wake := context.WithCancel(ctx)
		next, waits := r.await(at, slept, wake)
		if !waits {
			wake()
			left = true
			return r.leave(nil)
		}
		at = next
		err := c.clock.SleepUntil(awake, time.Duration(at))
		slept = err == nil
		woken := awake.Err() != nil && ctx.Err() == nil
		wake()
		if !slept && !woken {
			left = true
			return r.leave(err)
		}
	}
}

// await returns until when it has to be waited for, and whether it has to be: not
// after having slept until at, if that is still its instant. wake is called when it
// is no longer.
func (r Reservation) await(at int64, slept bool, wake func()) (next int64, waits bool) {
	o := r.keeper.open(r.hash, 0, nil)
	defer o.close()
	o.advance(o.reading)
	t := r.ticket
	if t.stage != stagePending && t.stage != stageAbandoned || slept && t.at == at {
		return 0, false
	}
	t.wake = wake
	return t.at, true
}

// leave ends waiting: with nil because the turn has come, and otherwise because of
// an error, unless it has come all the same.
func (r Reservation) leave(err error) error {
	o := r.keeper.open(r.hash, 0, nil)
	defer o.close()
	o.advance(o.reading)
	t := r.ticket
	switch {
	case t.stage == stageStruck:
		err = t.err
	case t.stage == stageTaken || t.at <= o.reading:
		err = nil
	}
	if t.stage == stagePending {
		if err != nil {
			o.strike(t)
		} else {
			o.line.detach(t) // it is charged at its instant
		}
	}
	o.ledger.redeem(t)
	return err
}

// chargeKey is what Charge comes to.
func chargeKey(k keeper, hash uint64, n int64) {
	if n <= 0 {
		return
	}
	o := k.open(hash, 1, nil)
	defer o.close()
	o.account.charge(o.advance(o.reading), n)
}

// refundKey is what Refund comes to.
func refundKey(k keeper, hash uint64, n int64) {
	if n <= 0 {
		return
	}
	o := k.openCharged(hash)
	defer o.close()
	o.account.refund(o.advance(o.reading), n)
}
