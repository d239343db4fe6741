package weir

import (
	"math/bits"
	"slices"
)

// carry brings a state to another policy, to its words, which are all 0. Both
// are in the same logbook, and at the same instant, now. What was used stays used:
//
//	the same leaf                   as it is
//	bucket to bucket                debt' = ceil(debt * interval' / interval)
//	log to log                      what is left of a stamp's life is the same part of it
//	combinations of the same form   part by part
//	otherwise                       use(state) is taken now
//
// and all of it up to the capacity, so that nobody waits longer than one that
// starts empty.
func (from *spec) carry(s state, to *spec, t state, now int64) {
	switch {
	case from.size == 0 || to.size == 0:
		from.release(s)
	case from.combined() || to.combined():
		if from.algorithm != to.algorithm || len(from.parts) != len(to.parts) {
			to.spend(t, now, from.use(s, now))
			from.release(s)
			return
		}
		at, next := 0, 0
		for i, part := range from.parts {
			other := to.parts[i]
			part.carry(s.part(at, at+part.size), other.spec, t.part(next, next+other.size), now)
			at, next = at+part.size, next+other.size
		}
	default:
		from.carryLeaf(s, to, t, now)
	}
}

func (from *spec) carryLeaf(s state, to *spec, t state, now int64) {
	switch m := to.meter.(type) {
	case tokenBucket:
		if b, ok := from.meter.(tokenBucket); ok {
			t.words[0] = b.carry(b.debtOf(s, now), m, now)
			return
		}
	case slidingWindow:
		if w, ok := from.meter.(slidingWindow); ok {
			w.carry(s, m, t, now)
			return
		}
	default:
		if from.alike(to) {
			copy(t.words, s.words)
			return
		}
	}
	to.spend(t, now, from.use(s, now))
	from.release(s)
}

// alike reports whether both have the same algorithms with the same limits: a
// state of one is a state of the other, and means the same.
func (p *spec) alike(q *spec) bool {
	return p == q || p.algorithm == q.algorithm && p.limit == q.limit &&
		slices.EqualFunc(p.parts, q.parts, func(a, b Policy) bool { return a.alike(b.spec) })
}

// use returns how much of a state is used, at the most of All's parts, and of all
// of FirstOf's together.
func (p *spec) use(s state, now int64) (used int64) {
	if !p.combined() {
		return p.meter.used(s, now)
	}
	from := 0
	for _, part := range p.parts {
		of := part.use(s.part(from, from+part.size), now)
		if p.algorithm == AlgorithmAll {
			used = max(used, of)
		} else {
			used = saturatingAdd(used, of)
		}
		from += part.size
	}
	return used
}

// spend takes what another state has used from one that is full, as far as each
// leaf goes, and returns how much all who must pay did: in FirstOf one part pays
// what those before it could not.
func (p *spec) spend(s state, now, used int64) (spent int64) {
	if !p.combined() {
		spent = min(used, p.capacity)
		if spent > 0 {
			p.meter.take(s, now, spent)
		}
		return spent
	}
	from := 0
	for i, part := range p.parts {
		t := s.part(from, from+part.size)
		switch {
		case p.algorithm == AlgorithmFirstOf:
			spent += part.spend(t, now, used-spent)
		case i == 0:
			spent = part.spend(t, now, used)
		default:
			spent = min(spent, part.spend(t, now, used))
		}
		from += part.size
	}
	return spent
}

// carry returns the word of another bucket of which as much is used. One that is
// no different keeps what it is overdrawn by.
func (b tokenBucket) carry(debt uint64, to tokenBucket, now int64) uint64 {
	if b != to {
		hi, lo := bits.Mul64(debt, to.interval)
		if hi >= b.interval {
			debt = to.capacity
		} else {
			carried, rest := bits.Div64(hi, lo, b.interval)
			debt = min(carried+min(1, rest), to.capacity)
		}
	}
	return to.wordOrFull(debt, now)
}

// carry moves a log to another policy's state: each stamp with the part of its
// life that it has left, the newest ones if not all fit.
func (w slidingWindow) carry(s state, to slidingWindow, t state, now int64) {
	old, i, used := w.look(s, now)
	if w.format == to.format && w.period == to.period && used <= to.count {
		w.refresh(s, now)
		t.words[0] = s.words[0]
		return
	}
	for over := used - to.count; i < old.len; i++ {
		n := old.since(i) - old.since(i+1)
		skipped := min(n, max(0, over))
		over -= skipped
		if n -= skipped; n > 0 {
			age, _ := divMul(uint64(now-old.at(i)), uint64(to.period), uint64(w.period))
			to.take(t, now-int64(age), n)
		}
	}
	w.release(s)
}
