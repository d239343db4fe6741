package conformance

import (
	"time"
)

// The instants of random traces are such that those behind them, as far as a period
// of the longest goes, are nanoseconds of an int64 too.
const (
	oldest = -6_300_000_000_000_000
	latest = 6_300_000_000_000_000
)

// draw draws what comes next: a step, or several that belong together.
func (p *program) draw() []Step {
	p.tick()
	key := string(rune('a' + p.choose(2)))
	n := p.asked()
	switch p.choose(16) {
	case 0, 1:
		return p.one(Peek, key, n)
	case 2:
		if !p.Plans { // it would be the last policy's, which is not the same everywhere
			return p.one(Refund, key, n)
		}
	case 3:
		if p.choose.oneIn(4) {
			return p.one(Reset, key, 0)
		}
	case 4, 5:
		if p.Plans && len(p.carried) == 0 {
			return []Step{{At: p.now, Verb: TakeAs, Key: key, N: n, Policy: int(p.choose(4))}}
		}
	case 6:
		if p.Plans && len(p.carried) == 0 && len(p.denied) == 0 {
			return p.setPolicy()
		}
	}
	return p.one(Take, key, n)
}

func (p *program) one(v Verb, key string, n int) []Step {
	return []Step{{At: p.now, Verb: v, Key: key, N: n}}
}

// setPolicy changes the policy, and takes of each client then, so that it is brought
// to it at that instant in whatever way an implementation does that.
func (p *program) setPolicy() []Step {
	return []Step{
		{At: p.now, Verb: SetPolicy, Policy: int(p.choose(4))},
		{At: p.now, Verb: Take, Key: "a", N: 1},
		{At: p.now, Verb: Take, Key: "b", N: 1},
	}
}

// asked draws how many to ask for: often what the last answer says is the edge.
func (p *program) asked() int {
	most := int64(1)<<min(p.Bits-1, 53) - 1
	limit := int64(pick(p.choose, p.listed[p.inForce].Parts...).Limit)
	n := p.choose(6)
	switch p.choose(12) {
	case 6:
		n = int64(p.last.Remaining)
	case 7:
		n = int64(p.last.Remaining) + 1
	case 8:
		n = limit - p.choose(3) + 1
	case 9:
		n = 1 + p.choose(max(1, limit))
	case 10:
		n = max(1, limit/(2+p.choose(4)))
	case 11:
		n = pick(p.choose, -1, 0, 8, 100, 1<<30, -most, most)
	}
	return int(max(-most, min(n, most)))
}

// tick moves the clock: often so that it hits an instant at which an answer changes,
// or misses it by a microsecond.
func (p *program) tick() {
	if p.Back && p.choose.oneIn(12) {
		p.now -= 1 + p.choose(pick(p.choose, int64(3), 5000, 1e9))
	}
	p.now = max(p.now, p.floor)
	around := p.choose(3) - 1
	l, _ := pick(p.choose, leaves(p.policies[p.inForce])...).Limit()
	period := max(1, int64((l.Period()+time.Microsecond-1)/time.Microsecond))
	interval := max(1, period/int64(max(1, l.Count())))
	step := int64(0)
	switch p.choose(12) {
	case 3:
		step = 1
	case 4:
		step = p.last.Retry / 2
	case 5, 6:
		step = p.last.Retry + around
	case 7:
		step = p.last.Reset + around
	case 8: // where a window begins
		step = period - (p.now%period+period)%period + around
	case 9:
		step = 1 + p.choose(2*period)
	case 10:
		step = 1 + p.choose(3*interval)
	case 11:
		step = period*(1+p.choose(3)) + around
	}
	if step > 0 && step < latest-p.now {
		p.now += step
	}
}
