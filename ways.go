package weir

import (
	"math/bits"
	"time"
)

// A way is which of a policy's leaves pay, as a number: all of those of All, one
// part's of FirstOf.
//
//	a leaf    0
//	All       the parts' ways as digits, the first part's the lowest
//	FirstOf   the part's way, above the ways of the parts before it
type way = uint64

// waysOf returns how many ways there are with one more part, 0 for too many.
func waysOf(a Algorithm, ways, more uint64, first bool) uint64 {
	const most = 1 << 63
	switch {
	case first:
		return more
	case a == AlgorithmAll:
		if hi, lo := bits.Mul64(ways, more); hi == 0 && lo <= most {
			return lo
		}
		return 0
	case ways+more <= most:
		return ways + more
	}
	return 0
}

// forFull is how long to wait for a LeakyBucket whose queue is full.
const forFull = Never - 1

// waitWithout is wait without the leaves, numbered from some number on, that
// others keep from being waited for; nil for none.
func (p *spec) waitWithout(full []bool, number int, s state, now, n int64) (wait time.Duration) {
	switch {
	case full == nil:
		return p.wait(s, now, n)
	case p.combined():
		from := 0
		for i, part := range p.parts {
			w := part.waitWithout(full, number, s.part(from, from+part.size), now, n)
			if i == 0 || p.binds(w, wait) {
				wait = w
			}
			from += part.size
			number += part.leaves
		}
		return wait
	case full[number] && n <= p.capacity:
		return forFull
	}
	return p.leafWait(s, now, n)
}

// way returns the way in which n is paid at an instant: in FirstOf by the part
// that has to wait least for it.
func (p *spec) way(full []bool, number int, s state, now, n int64) way {
	if p.ways == 1 {
		return 0
	}
	var (
		chosen way
		least  time.Duration
		digit  uint64 = 1
		before uint64
	)
	from := 0
	for i, part := range p.parts {
		t := s.part(from, from+part.size)
		if p.algorithm == AlgorithmAll {
			chosen += digit * part.way(full, number, t, now, n)
			digit *= part.ways
		} else if wait := part.waitWithout(full, number, t, now, n); i == 0 || wait < least {
			chosen, least = before+part.way(full, number, t, now, n), wait
		}
		before += part.ways
		from += part.size
		number += part.leaves
	}
	return chosen
}

// eachPayer calls f for each leaf that pays in a way, with its number among all
// leaves and its state.
func (p *spec) eachPayer(w way, s state, f func(number int, p *spec, s state)) {
	p.eachPayerFrom(0, w, s, f)
}

func (p *spec) eachPayerFrom(number int, w way, s state, f func(int, *spec, state)) {
	if !p.combined() {
		f(number, p, s)
		return
	}
	from := 0
	for _, part := range p.parts {
		t := s.part(from, from+part.size)
		switch {
		case p.algorithm == AlgorithmAll:
			part.eachPayerFrom(number, w%part.ways, t, f)
			w /= part.ways
		case w < part.ways:
			part.eachPayerFrom(number, w, t, f)
			return
		default:
			w -= part.ways
		}
		from += part.size
		number += part.leaves
	}
}

// pay takes n in a way, whether it is there or not.
func (p *spec) pay(w way, s state, now, n int64) {
	p.eachPayer(w, s, func(_ int, p *spec, s state) { p.meter.take(s, now, n) })
}

// refund gives back up to n of what was taken last, and returns how many: of
// FirstOf's parts, the last ones paid when those before them had nothing left.
func (p *spec) refund(s state, now, n int64) (given int64) {
	if !p.combined() {
		return p.meter.refund(s, now, n)
	}
	to := p.size
	for i := len(p.parts) - 1; i >= 0; i-- {
		part := p.parts[i]
		t := s.part(to-part.size, to)
		to -= part.size
		if p.algorithm == AlgorithmAll {
			given = max(given, part.refund(t, now, n))
		} else {
			given += part.refund(t, now, n-given)
		}
	}
	return given
}

// with returns the same leaf with another meter.
func (p *spec) with(m meter) *spec {
	other := *p
	other.meter = m
	return &other
}

// withPartsAhead returns the same combination of its parts' ahead.
func (p *spec) withPartsAhead() *spec {
	other := *p
	other.parts = make([]Policy, len(p.parts))
	for i, part := range p.parts {
		other.parts[i] = Policy{part.lookingAhead()}
	}
	return &other
}

// lookingAhead returns the policy for states that others are looked at ahead in.
func (p *spec) lookingAhead() *spec {
	if p.ahead != nil {
		return p.ahead
	}
	return p
}
