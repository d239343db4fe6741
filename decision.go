package weir

import (
	"math"
	"time"
)

// Never is the RetryAfter of a request that would not be allowed however long
// it waited: n is negative or above the capacity.
const Never time.Duration = math.MaxInt64

// A Decision is what was decided, and what the caller may tell its client.
// In a combination, Policy, Limit and ResetAfter are those of the part that
// binds: of a denial the one that sets RetryAfter, of an admission the one that
// sets Remaining; of several, the first.
type Decision struct {
	// Allowed says whether the caller may go on.
	Allowed bool
	// Remaining is the largest n that Take would admit now, after this decision.
	Remaining int
	// RetryAfter is 0 if n is allowed, and otherwise the exact time until it
	// would be if nothing else were taken meanwhile, or Never. It is an estimate
	// for a client that DenyNew or ShareOverflow has no place for. With
	// WithShadow it stays that of the denial.
	RetryAfter time.Duration
	// Policy is the name of the part that binds.
	Policy string
	// Limit is its capacity.
	Limit int
	// ResetAfter is the time until it is full again, exactly.
	ResetAfter time.Duration
	// Shadowed says that the request was denied, and let through by WithShadow.
	Shadowed bool
	// Fallback says that the store of a remote limiter did not decide, and what else
	// did: nothing was consumed there. It is false of what is decided in memory.
	Fallback bool
}

// A leaf is one of a policy's algorithms with its state, and what a decision
// is about to take of it.
type leaf struct {
	*spec
	state state
	taken int64
}

// decide returns how long n has to wait at a reading of the clock, 0 if it is
// admitted, and the instant at which the state counts it. It fills d unless
// that is nil. The state is only read: to charge it, call take.
func (p *spec) decide(s state, reading, n int64, d *Decision) (now int64, wait time.Duration) {
	now = s.clamp(reading)
	return now, p.decideAt(s, now, reading, n, d)
}

// decideAt is decide for an instant that the reading counts as.
func (p *spec) decideAt(s state, now, reading, n int64, d *Decision) (wait time.Duration) {
	if d == nil {
		return p.wait(s, now, n)
	}
	wait, binding := p.blocker(s, now, n)
	var room int64
	if wait == 0 {
		room, binding = p.room(s, now, n)
	} else {
		room, _ = p.room(s, now, 0)
	}
	behind := saturatingSub(now, reading)
	*d = Decision{
		Allowed:    wait == 0,
		Remaining:  clampInt(room),
		RetryAfter: later(wait, behind),
		Policy:     binding.name,
		Limit:      clampInt(binding.capacity),
		ResetAfter: later(binding.meter.reset(binding.state, now, binding.taken), behind),
	}
	return wait
}

// later returns a wait as seen by a clock that is so far behind the state: it
// has to catch up first.
func later(wait time.Duration, behind int64) time.Duration {
	if wait == 0 || wait == Never {
		return wait
	}
	return min(saturatingAdd(wait, time.Duration(behind)), Never-1)
}
