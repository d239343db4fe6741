package model

import (
	"math"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// A Key is the state of one client: what was taken, what is reserved for later,
// and under which policy. Its methods are told what the clock reads.
type Key struct {
	tree    *tree
	newest  number  // the newest instant at which something was charged; nil for never
	pending []entry // by instant, then by age
	life    *life

	// lingers is until when it is open if weir counts the key as full: what was given
	// back out of the middle is noted with it as long as somebody could ask, and since
	// when it is full that something made so other than time is not noted at all.
	lingers number
	// denied is what the key is under another policy by which it was denied since
	// it last changed: RetryAfter counts from then.
	denied *Key
	// before is what the key was before something was reserved under another
	// policy, to which it returns if that is all cancelled and nothing else has
	// changed.
	before *Key
}

// An entry is what is reserved for an instant still to come.
type entry struct {
	at, n  number
	payers []int // which leaves
	by     *Reservation
}

// A life is how often a key began anew: what was taken in another is not given
// back. It outlasts the Key.
type life struct{ n int }

// NewKey returns the state of a client that was never seen.
func NewKey(p weir.Policy) *Key { return newKey(p, new(life)) }

func newKey(p weir.Policy, l *life) *Key { return &Key{tree: newTree(p), life: l} }

// Policy is the one that the key is under.
func (k *Key) Policy() weir.Policy { return k.tree.policy }

// clone returns a key that goes its own way, without what it remembers and without
// those who wait for it.
func (k *Key) clone() *Key {
	c := &Key{tree: k.tree.clone(), newest: k.newest, pending: slices.Clone(k.pending), life: new(life)}
	for i := range c.pending {
		by := *c.pending[i].by
		c.pending[i].by = &by
	}
	return c
}

// instant is what a reading counts as: one below the newest instant is that.
func (k *Key) instant(reading int64) number {
	if k.newest != nil {
		return most(whole(reading), k.newest)
	}
	return whole(max(reading, math.MinInt64+1)) // weir's words have no place for the least
}

// notice takes what is no longer to come at a reading, at its instant, and returns
// what the reading counts as.
func (k *Key) notice(reading int64) number {
	now := k.instant(reading)
	for len(k.pending) > 0 && !less(now, k.pending[0].at) {
		e := k.pending[0]
		k.pending = k.pending[1:]
		k.pay(e)
		e.by.taken(k, e.payers)
	}
	return now
}

// pay takes an entry from the leaves that pay for it.
func (k *Key) pay(e entry) {
	for _, i := range e.payers {
		k.tree.leaves()[i].meter.take(e.at, e.n, e.by)
	}
	k.newest = e.at
	k.changed()
}

// changed forgets what was found out about the key as it was.
func (k *Key) changed() { k.denied, k.before = nil, nil }

// numbers are those of some leaves among all of a tree.
func numbers(of, among []*tree) (all []int) {
	for _, leaf := range of {
		all = append(all, slices.Index(among, leaf))
	}
	return all
}

// front is the tree with all that is reserved taken at its instant: those who come
// now are looked at in it.
func (k *Key) front() *tree {
	front := k.tree.clone()
	leaves := front.leaves()
	for _, leaf := range leaves {
		if l, ok := leaf.meter.(*log); ok && len(k.pending) > 0 {
			l.ahead = true
		}
	}
	for _, e := range k.pending {
		for _, i := range e.payers {
			leaves[i].meter.take(e.at, e.n, e.by)
		}
	}
	return front
}

// Take decides about n at a reading, and consumes it or nothing.
func (k *Key) Take(reading int64, n int) weir.Decision {
	now := k.notice(reading)
	wait, binding := k.front().wait(now, whole(n), nil)
	if wait.Sign() == 0 && n > 0 {
		k.charge(now, n)
	}
	free, scarcest := k.front().free(now)
	if wait.Sign() == 0 {
		binding = scarcest
	}
	late := minus(now, whole(reading)) // the clock has to catch up first
	return weir.Decision{
		Allowed:    wait.Sign() == 0,
		Remaining:  asCount(free),
		RetryAfter: later(wait, late),
		Policy:     binding.policy.Name(),
		Limit:      asCount(binding.capacity),
		ResetAfter: later(binding.reset(now), late),
	}
}

// later is a wait as seen by a clock that is so late.
func later(wait, late number) time.Duration {
	switch {
	case wait.Sign() == 0:
		return 0
	case equal(wait, never):
		return weir.Never
	}
	return asDuration(plus(wait, late))
}

// charge takes n whether it is there or not: in FirstOf from the part that would
// admit it, or as much of it as the key could ever, first.
func (k *Key) charge(now number, n int) {
	front := k.front()
	payers := front.payers(now, least(whole(n), k.tree.capacity), nil)
	k.pay(entry{at: now, n: whole(n), payers: numbers(payers, front.leaves())})
}

// Charge takes n whether it is there or not.
func (k *Key) Charge(reading int64, n int) {
	if n > 0 {
		k.charge(k.notice(reading), n)
	}
}

// Refund gives back up to n of what was taken last.
func (k *Key) Refund(reading int64, n int) {
	if n > 0 {
		k.newest = k.notice(reading)
		k.linger()
		k.tree.refund(k.newest, whole(n))
		k.changed()
	}
}

// linger notes that something is given back now.
func (k *Key) linger() {
	until := plus(k.newest, k.tree.full(k.newest))
	if k.lingers == nil || less(k.lingers, until) {
		k.lingers = until
	}
}

// Reset makes the key full, and lays out anew what is reserved.
func (k *Key) Reset(reading int64) {
	now := k.notice(reading)
	k.life.n++
	k.tree, k.newest = newTree(k.Policy()), nil
	k.changed()
	k.layOut(now)
}

// stale reports whether the key has been full for as long as it is kept: it is
// then worth no more than one that was never seen.
func (k *Key) stale(reading int64, staleAfter time.Duration) bool {
	k.notice(reading)
	then := minus(whole(reading), whole(staleAfter))
	full := len(k.pending) == 0 && (k.newest == nil || !less(then, k.newest)) && k.tree.full(then).Sign() == 0
	return full && (k.denied == nil || k.denied.stale(reading, staleAfter))
}
