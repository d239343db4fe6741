package weir

import (
	"math"
	"time"
)

// A spec is what a Policy points to. It never changes once it is made.
type spec struct {
	algorithm Algorithm
	limit     Limit
	queue     int
	parts     []Policy
	name      string // as Named gave it; otherwise text
	text      string
	err       error

	meter    meter  // of a leaf; nil in a combination
	size     int    // words of state
	capacity int64  // the most that a full state admits at once
	leaves   int    // how many algorithms there are in it
	ways     uint64 // in how many ways it can be paid
	queues   bool   // a LeakyBucket is in it

	// ahead is the same policy for states that others are looked at ahead in;
	// nil if that is this one.
	ahead *spec

	// buckets are the leaves, if all of them are token buckets that must all
	// admit: the most common policies are asked without a walk through a tree.
	buckets buckets
}

// is reports whether both are of equal policies.
func (p *spec) is(q *spec) bool { return p == q || Policy{p}.Equal(Policy{q}) }

func (p *spec) combined() bool { return p.algorithm >= AlgorithmAll }

func (p *spec) maxWithin(d time.Duration) int64 {
	switch p.algorithm {
	case AlgorithmAll:
		least := int64(math.MaxInt64)
		for _, part := range p.parts {
			least = min(least, part.maxWithin(d))
		}
		return least
	case AlgorithmFirstOf:
		var sum int64
		for _, part := range p.parts {
			sum = saturatingAdd(sum, part.maxWithin(d))
		}
		return sum
	}
	return p.meter.maxWithin(d)
}

// wait returns how long until n would be admitted: 0 for now, Never if n is
// negative or above the capacity.
func (p *spec) wait(s state, now, n int64) (wait time.Duration) {
	switch {
	case p.buckets != nil:
		return p.buckets.wait(s.words, now, s.furthest(now), n)
	case !p.combined():
		return p.leafWait(s, now, n)
	}
	from := 0
	for i, part := range p.parts {
		w := part.wait(s.part(from, from+part.size), now, n)
		if i == 0 || p.binds(w, wait) {
			wait = w
		}
		from += part.size
	}
	return wait
}

// binds reports whether a part's wait counts, not that of those before it.
func (p *spec) binds(wait, before time.Duration) bool {
	if p.algorithm == AlgorithmAll {
		return wait > before
	}
	return wait < before
}

func (p *spec) leafWait(s state, now, n int64) time.Duration {
	switch {
	case n < 0 || n > p.capacity:
		return Never
	case n == 0:
		return 0
	}
	return p.meter.wait(s, now, n)
}

// blocker returns what wait does, and the leaf that sets it, with its state.
func (p *spec) blocker(s state, now, n int64) (time.Duration, leaf) {
	if !p.combined() {
		return p.leafWait(s, now, n), leaf{p, s, 0}
	}
	var (
		wait    time.Duration
		binding leaf
	)
	from := 0
	for i, part := range p.parts {
		w, b := part.blocker(s.part(from, from+part.size), now, n)
		if i == 0 || p.binds(w, wait) {
			wait, binding = w, b
		}
		from += part.size
	}
	return wait, binding
}

// room returns the most that would be admitted after n, for which there is no
// wait, was taken now, and the leaf that sets it.
func (p *spec) room(s state, now, n int64) (int64, leaf) {
	if !p.combined() {
		return p.meter.room(s, now, n), leaf{p, s, n}
	}
	var (
		room    int64
		binding leaf
	)
	from, paid := 0, false
	for i, part := range p.parts {
		t, pays := s.part(from, from+part.size), n
		if p.algorithm == AlgorithmFirstOf {
			if paid || part.wait(t, now, n) > 0 {
				pays = 0
			} else {
				paid = true
			}
		}
		r, b := part.room(t, now, pays)
		if i == 0 || p.algorithm == AlgorithmAll && r < room || p.algorithm == AlgorithmFirstOf && r > room {
			room, binding = r, b
		}
		from += part.size
	}
	return room, binding
}

// take consumes n, for which there is no wait.
func (p *spec) take(s state, now, n int64) {
	switch {
	case p.buckets != nil:
		p.buckets.take(s.words, now, s.furthest(now), n)
		return
	case !p.combined():
		p.meter.take(s, now, n)
		return
	}
	from, paid := 0, false
	for _, part := range p.parts {
		t := s.part(from, from+part.size)
		switch {
		case p.algorithm == AlgorithmAll:
			part.take(t, now, n)
		case !paid && part.wait(t, now, n) == 0:
			part.take(t, now, n)
			paid = true
		default:
			part.refresh(t, now)
		}
		from += part.size
	}
}

// eachLeaf calls f for each leaf with its state, from the first to the last.
func (p *spec) eachLeaf(s state, f func(*spec, state)) {
	if !p.combined() {
		f(p, s)
		return
	}
	from := 0
	for _, part := range p.parts {
		part.eachLeaf(s.part(from, from+part.size), f)
		from += part.size
	}
}

// refresh forgets what no longer counts in a part that was not charged: it
// would be misread when it is much older than the state.
func (p *spec) refresh(s state, now int64) {
	p.eachLeaf(s, func(p *spec, s state) {
		if m, ok := p.meter.(refresher); ok {
			m.refresh(s, now)
		}
	})
}

// reset returns how long until all of its leaves are full: then the state is
// worth no more than one that was never used.
func (p *spec) reset(s state, now int64) (longest time.Duration) {
	p.eachLeaf(s, func(p *spec, s state) {
		longest = max(longest, p.meter.reset(s, now, 0))
	})
	return longest
}

// share returns how much of the capacity is used, from 0 to 1, in the leaf of
// which the most is.
func (p *spec) share(s state, now int64) (most float64) {
	p.eachLeaf(s, func(p *spec, s state) {
		if p.capacity > 0 {
			most = max(most, float64(p.capacity-p.meter.room(s, now, 0))/float64(p.capacity))
		}
	})
	return most
}

// release gives back what the state keeps outside of its words.
func (p *spec) release(s state) {
	p.eachLeaf(s, func(p *spec, s state) {
		if m, ok := p.meter.(releaser); ok {
			m.release(s)
		}
	})
}
