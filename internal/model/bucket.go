package model

import (
	"slices"
	"time"
)

// A bucket is a queue of the tokens that were taken and are not refilled yet.
// Time refills them in the order in which they were taken, one each interval.
type bucket struct {
	burst    number
	interval number
	last     number    // the instant at which the queue is as it stands; nil for never
	queue    []stretch // the oldest first
}

// A stretch is the tokens from one to another of those that one take took,
// numbered from 0 on.
type stretch struct {
	by       *Reservation
	from, to number
}

// overdraft is by how much time to refill a bucket may owe more than its
// capacity: 365 days.
var overdraft = whole(365 * 24 * time.Hour)

func (b *bucket) clone() meter {
	c := *b
	c.queue = slices.Clone(b.queue)
	return &c
}

// drain has time refill the queue up to t.
func (b *bucket) drain(t number) {
	if b.last == nil {
		b.last = t
	}
	if !less(b.last, t) {
		return
	}
	refilled := over(minus(t, b.last), b.interval)
	b.last = t
	for len(b.queue) > 0 {
		head := &b.queue[0]
		if of := minus(head.to, head.from); less(refilled, of) {
			head.from = plus(head.from, refilled)
			return
		} else {
			refilled = minus(refilled, of)
		}
		b.queue = b.queue[1:]
	}
}

func (b *bucket) length() number {
	sum := zero
	for _, s := range b.queue {
		sum = plus(sum, minus(s.to, s.from))
	}
	return sum
}

// debt is how many tokens are missing at t.
func (b *bucket) debt(t number) number {
	c := b.clone().(*bucket)
	c.drain(t)
	debt := c.length()
	if debt.Sign() > 0 { // what is taken later is missing all the time until then
		debt = plus(debt, over(minus(c.last, t), b.interval))
	}
	return debt
}

func (b *bucket) free(t number) number { return most(zero, floor(minus(b.burst, b.debt(t)))) }

func (b *bucket) when(t, n number) number {
	missing := minus(plus(b.debt(t), n), b.burst)
	return plus(t, ceil(times(most(zero, missing), b.interval)))
}

func (b *bucket) take(t, n number, by *Reservation) {
	b.drain(t)
	room := minus(plus(b.burst, over(overdraft, b.interval)), b.length())
	b.queue = append(b.queue, stretch{by, zero, least(n, most(zero, room))})
}

func (b *bucket) used(t number) number { return ceil(b.debt(t)) }

func (b *bucket) refund(t, n number) number {
	b.drain(t)
	rest := n
	for i := len(b.queue) - 1; i >= 0; i-- {
		s := &b.queue[i]
		given := least(rest, minus(s.to, s.from))
		s.to, rest = minus(s.to, given), minus(rest, given)
	}
	return ceil(minus(n, rest))
}

func (b *bucket) settle(t, n number, by *Reservation) {
	b.drain(t)
	for i := range b.queue {
		if s := &b.queue[i]; s.by == by {
			s.to = most(s.from, least(s.to, minus(whole(by.n), n)))
		}
	}
}
