package model

import (
	"slices"

	"github.com/goweir/weir"
)

// alike reports whether what was taken under one policy means the same under
// another: they differ in names and queues at the most.
func alike(p, q weir.Policy) bool {
	l, _ := p.Limit()
	m, _ := q.Limit()
	return p.Algorithm() == q.Algorithm() && l == m && slices.EqualFunc(p.Parts(), q.Parts(), alike)
}

// carried is what becomes of a tree at t under another policy. Alike leaves keep
// what they have, buckets carry fractions, logs the part of each entry's life that
// is left, combinations of the same form go part by part; of everything else it
// is the number that is used.
func (p *tree) carried(to weir.Policy, t number) *tree {
	q := newTree(to)
	switch {
	case p.meter == nil && q.meter == nil && p.policy.Algorithm() == to.Algorithm() && len(p.parts) == len(q.parts):
		for i, part := range p.parts {
			q.parts[i] = part.carried(q.parts[i].policy, t)
		}
		return q
	case p.meter == nil || q.meter == nil:
		q.spend(t, p.use(t))
		return q
	}
	switch was := p.meter.(type) {
	case *bucket:
		if is, ok := q.meter.(*bucket); ok {
			is.carry(was, t)
			return q
		}
	case *log:
		if is, ok := q.meter.(*log); ok {
			is.carry(was, t)
			return q
		}
	default:
		if alike(p.policy, to) {
			q.meter = was.clone()
			return q
		}
	}
	q.spend(t, p.use(t))
	return q
}

// carry has a bucket begin with the debt of another, in tokens, rounded up to
// whole eighths of a nanosecond, up to the capacity. One that is no different keeps
// what it is overdrawn by.
func (b *bucket) carry(from *bucket, t number) {
	debt := from.debt(t)
	if !equal(b.burst, from.burst) || !equal(b.interval, from.interval) {
		eighths := ceil(times(times(debt, b.interval), whole(8)))
		debt = least(b.burst, over(over(eighths, whole(8)), b.interval))
	}
	if debt.Sign() > 0 {
		b.take(t, debt, nil)
	}
}

// carry has a log begin with the entries of another, each with the part of its
// life that is left, the newest ones if not all fit.
func (l *log) carry(from *log, t number) {
	room := l.count
	for _, e := range slices.Backward(from.taken) {
		if n := least(room, e.n); from.inView(t)(e.at) && n.Sign() > 0 {
			age := floor(over(times(minus(t, e.at), l.period), from.period))
			l.taken = append(l.taken, taking{minus(t, age), n})
			room = minus(room, n)
		}
	}
	slices.Reverse(l.taken)
}

// use is how much is used at t: by the part of All that uses the most, and by all
// of FirstOf together.
func (p *tree) use(t number) number {
	if p.meter != nil {
		return p.meter.used(t)
	}
	use := zero
	for _, part := range p.parts {
		if p.policy.Algorithm() == weir.AlgorithmAll {
			use = most(use, part.use(t))
		} else {
			use = plus(use, part.use(t))
		}
	}
	return use
}

// spend has a tree of which nothing is taken begin with a use, as far as it goes,
// and returns how far that is: in All as far as in all parts, in FirstOf one part
// after the other.
func (p *tree) spend(t, use number) number {
	if p.meter != nil {
		spent := least(use, p.capacity)
		if spent.Sign() > 0 {
			p.meter.take(t, spent, nil)
		}
		return spent
	}
	if p.policy.Algorithm() == weir.AlgorithmFirstOf {
		rest := use
		for _, part := range p.parts {
			rest = minus(rest, part.spend(t, rest))
		}
		return minus(use, rest)
	}
	spent := use
	for _, part := range p.parts {
		spent = least(spent, part.spend(t, use))
	}
	return spent
}
