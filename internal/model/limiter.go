package model

import (
	"time"

	"github.com/goweir/weir"
)

// Options are those of weir that decisions depend on. The zero Options are
// weir's defaults, but for the clock, which must be there.
type Options struct {
	// Now reads the clock.
	Now        func() time.Duration
	Shadow     bool
	MaxClients int // 0 for no bound
	Overflow   weir.Overflow
	StaleAfter time.Duration
}

func (o *Options) reading() int64 { return int64(o.Now()) }

// verdict is what the caller is told of a decision.
func (o *Options) verdict(d weir.Decision) weir.Decision {
	if o.Shadow && !d.Allowed {
		d.Allowed, d.Shadowed = true, true
	}
	return d
}

// count counts a decision about n.
func count(s *weir.Stats, n int, ok, shadow bool) {
	switch {
	case n <= 0:
	case ok:
		s.Allowed++
	default:
		s.Denied++
		if shadow {
			s.Shadowed++
		}
	}
}

// A Limiter is the model of weir.Limiter.
type Limiter struct {
	Options
	state   *Key
	changes int // of policy, to one that is not alike
	counted weir.Stats
}

// NewLimiter returns a Limiter that is full.
func NewLimiter(p weir.Policy, o Options) *Limiter { return &Limiter{Options: o, state: NewKey(p)} }

// Take is weir's.
func (l *Limiter) Take(n int) weir.Decision {
	d := l.state.Take(l.reading(), n)
	count(&l.counted, n, d.Allowed, l.Shadow)
	return l.verdict(d)
}

// Peek is weir's.
func (l *Limiter) Peek(n int) weir.Decision {
	return l.verdict(l.state.PeekAs(l.reading(), n, l.Policy()))
}

// Reserve is weir's ReserveWithin.
func (l *Limiter) Reserve(n int, within time.Duration) *Reservation {
	return l.reserve(&l.counted, l.state, l, n, within, l.Policy())
}

// reserve is what the Reserve of a Limiter and of a PerClient have in common.
func (o *Options) reserve(counted *weir.Stats, k *Key, of keeper, n int, within time.Duration, p weir.Policy) *Reservation {
	if o.Shadow {
		within = 0
	}
	r := &Reservation{keeper: of, n: n, stage: stageTaken, era: of.era(), policy: p, life: k.life.n}
	r.err = k.reserve(o.reading(), n, within, p, r)
	count(counted, n, r.err == nil, o.Shadow)
	switch {
	case r.err == nil:
	case o.Shadow: // a receipt that stands for nothing
		r.stage, r.err = stageSpent, nil
	default:
		r.stage = stageFailed
	}
	return r
}

// Charge is weir's.
func (l *Limiter) Charge(n int) { l.state.Charge(l.reading(), n) }

// Refund is weir's.
func (l *Limiter) Refund(n int) { l.state.Refund(l.reading(), n) }

// Reset is weir's.
func (l *Limiter) Reset() { l.state.Reset(l.reading()) }

// Policy is the one in force.
func (l *Limiter) Policy() weir.Policy { return l.state.Policy() }

// SetPolicy is weir's, for a valid policy.
func (l *Limiter) SetPolicy(p weir.Policy) {
	if l.Policy().Equal(p) {
		return
	}
	if !alike(l.Policy(), p) {
		l.changes++
	}
	l.state.carry(p, l.state.notice(l.reading()))
}

// Stats is weir's.
func (l *Limiter) Stats() weir.Stats {
	s := l.counted
	s.Waiting = l.state.waiting(l.reading())
	return s
}

func (l *Limiter) now() int64   { return l.reading() }
func (l *Limiter) key() *Key    { return l.state }
func (l *Limiter) charge(n int) { l.Charge(n) }
func (l *Limiter) era() int     { return l.changes }
