package weir

// A Limiter is one policy with one state. Make it with New: the zero Limiter is
// of no use. It is safe for concurrent use.
type Limiter struct {
	policy Policy
	options
	decider decider
	cell    cell
	tally   tally
}

// New returns a Limiter that is full. It panics if p is invalid, with the text
// of p.Validate, and if an option makes no sense. Options that concern many
// keys have no effect.
func New(p Policy, opts ...Option) *Limiter {
	l := &Limiter{policy: mustBeValid(p), options: newOptions(opts)}
	l.decider = newDecider(p, l.clock)
	l.cell = newCell(&l.decider)
	l.tally = newTally()
	return l
}

func mustBeValid(p Policy) Policy {
	if err := p.Validate(); err != nil {
		panic(err.Error())
	}
	return p
}

// Allow reports whether one more is allowed now, and consumes it if so.
func (l *Limiter) Allow() bool { return l.decide(1, true, nil) }

// AllowN reports whether n are allowed now, and consumes them if so, or
// nothing. An n of 0 is always allowed, a negative one never.
func (l *Limiter) AllowN(n int) bool { return l.decide(n, true, nil) }

// Take consumes n or nothing, as AllowN does, and says more about it.
func (l *Limiter) Take(n int) Decision {
	var d Decision
	l.decide(n, true, &d)
	return d
}

// Peek returns what Take(n) would. It consumes nothing and counts nothing.
func (l *Limiter) Peek(n int) Decision {
	var d Decision
	l.decide(n, false, &d)
	return d
}

// Tokens returns how many are left now: the largest n that Take would admit.
func (l *Limiter) Tokens() int { return l.Peek(0).Remaining }

// Reset makes the limiter as full as a new one. Its Stats stay.
func (l *Limiter) Reset() { l.cell.reset() }

// Policy returns the policy in force.
func (l *Limiter) Policy() Policy { return l.policy }

// Stats returns the counters. Nobody waits for it.
func (l *Limiter) Stats() Stats { return l.tally.stats() }

// decide is what every verb comes to. It fills d unless that is nil.
func (l *Limiter) decide(n int, consume bool, d *Decision) bool {
	ok := l.cell.decide(&l.decider, int64(n), consume, d)
	if consume {
		l.tally.count(n, ok, l.shadow)
	}
	return l.verdict(ok, d)
}
