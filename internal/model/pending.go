package model

import (
	"slices"
	"time"

	"github.com/goweir/weir"
)

// longest is how long somebody may have to wait at the most.
var longest = whole(30 * 365.25 * 24 * time.Hour)

// latest is the last instant that there is.
var latest = whole(weir.Never)

// turn is when n would be admitted, behind those who wait, and what it takes then.
func (k *Key) turn(reading int64, n int, within time.Duration) (entry, error) {
	now := k.notice(reading)
	front := k.front()
	full := map[*tree]bool{}
	wait, _ := front.wait(now, whole(n), nil)
	if wait.Sign() > 0 {
		full = k.fullQueues(front)
		wait, _ = front.wait(now, whole(n), full)
	}
	at := plus(now, wait)
	switch {
	case equal(wait, never):
		return entry{}, weir.ErrNever
	case equal(wait, queueFull):
		return entry{}, weir.ErrQueueFull
	case less(longest, wait), less(latest, at), later(wait, minus(now, whole(reading))) > max(0, within):
		return entry{}, weir.ErrTooLong
	}
	payers := front.payers(at, whole(n), full)
	return entry{at: at, n: whole(n), payers: numbers(payers, front.leaves())}, nil
}

// fullQueues are the LeakyBuckets that as many wait for as may.
func (k *Key) fullQueues(front *tree) map[*tree]bool {
	full := map[*tree]bool{}
	for i, leaf := range front.leaves() {
		waiting := 0
		for _, e := range k.pending {
			if slices.Contains(e.payers, i) {
				waiting++
			}
		}
		full[leaf] = leaf.policy.Algorithm() == weir.AlgorithmLeakyBucket && waiting >= queue(leaf.policy)
	}
	return full
}

// reserve takes n under a policy at the earliest instant that admits it, if that
// is not further off.
func (k *Key) reserve(reading int64, n int, within time.Duration, p weir.Policy, by *Reservation) error {
	by.at = whole(reading)
	switch {
	case n < 0 || less(capacity(p), whole(n)):
		return weir.ErrNever
	case n == 0:
		return nil
	}
	var before *Key
	if !k.Policy().Equal(p) {
		if _, err := k.as(reading, p).turn(reading, n, within); err != nil {
			return err
		}
		before = k.clone()
		k.become(reading, p)
		k.before = before
	}
	turn, err := k.turn(reading, n, within)
	if err != nil {
		return err
	}
	turn.by = by
	k.enter(turn, k.instant(reading))
	return nil
}

// enter takes an entry, now or once its instant comes.
func (k *Key) enter(e entry, now number) {
	e.by.at = e.at
	if !less(now, e.at) {
		k.pay(e)
		e.by.taken(k, e.payers)
		return
	}
	if e.by.stage != stageSettled {
		e.by.stage = stagePending
	}
	k.denied = nil
	i := slices.IndexFunc(k.pending, func(other entry) bool { return less(e.at, other.at) })
	if i < 0 {
		i = len(k.pending)
	}
	k.pending = slices.Insert(slices.Clone(k.pending), i, e)
}

// strike takes out what is reserved, as if it had never been.
func (k *Key) strike(by *Reservation) {
	k.pending = slices.DeleteFunc(slices.Clone(k.pending), func(e entry) bool { return e.by == by })
	if k.before != nil && len(k.pending) == 0 {
		k.recall(k.before)
	}
}

// layOut gives each that is reserved the earliest instant that there is for it
// now, in order. One that there is none for is struck. Queues have no say: they are
// in line already.
func (k *Key) layOut(now number) {
	pending := k.pending
	k.pending = nil
	for _, e := range pending {
		front := k.front()
		wait, _ := front.wait(now, e.n, nil)
		switch {
		case equal(wait, never):
			e.by.struck(weir.ErrNever)
		case less(longest, wait), less(latest, plus(now, wait)):
			e.by.struck(weir.ErrTooLong)
		default:
			e.at = plus(now, wait)
			e.payers = numbers(front.payers(e.at, e.n, nil), front.leaves())
			k.enter(e, now)
		}
	}
}

// waiting is how many are still to come at a reading.
func (k *Key) waiting(reading int64) (n int) {
	for _, e := range k.pending {
		if less(whole(reading), e.at) {
			n++
		}
	}
	return n
}
