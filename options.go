package weir

import (
	"strconv"
	"time"
)

// An Option changes how a Limiter or a PerClient works. One that makes no sense
// panics where it is made, and a nil one where it is used.
type Option func(*options)

// Overflow says what a PerClient does with a new client when it holds as many
// as WithMaxClients lets it. Whichever it is, a few of the clients are looked at
// first: if one of those is full, it makes room and nobody loses anything.
type Overflow uint8

const (
	// EvictFullest makes room: of at least five clients, or all of them if there
	// are fewer, the one of whose capacity the least is used is forgotten.
	EvictFullest Overflow = iota
	// DenyNew denies new clients until there is room. Their RetryAfter is an
	// estimate: whether there is room then depends on the others.
	DenyNew
	// ShareOverflow lets all clients that do not fit share one state, in which
	// they limit each other. New clients share it until it is full again, as they
	// might be those who spent it.
	ShareOverflow
)

type options struct {
	clock      Clock
	shadow     bool
	maxClients int // 0 for no bound
	overflow   Overflow
	staleAfter time.Duration
	sweepEvery time.Duration // 0 for never
	topDenied  int           // 0 for none
}

func newOptions(opts []Option) options {
	o := options{clock: SystemClock(), sweepEvery: time.Minute}
	for _, option := range opts {
		if option == nil {
			panic("weir: a nil Option")
		}
		option(&o)
	}
	return o
}

// WithClock sets the clock; the default is SystemClock.
func WithClock(c Clock) Option {
	coarse, ok := c.(*CoarseClock)
	manual, ok2 := c.(*ManualClock)
	if c == nil || ok && coarse == nil || ok2 && manual == nil {
		panic("weir: WithClock(nil): leave it out for the system clock")
	}
	return func(o *options) { o.clock = c }
}

// WithMaxClients bounds how many clients a PerClient holds to n, at least 1,
// and says what becomes of those that do not fit. The default is no bound.
func WithMaxClients(n int, overflow Overflow) Option {
	if n < 1 {
		panic("weir: WithMaxClients(" + strconv.Itoa(n) + "): it must be at least 1; leave it out for no bound")
	}
	if overflow > ShareOverflow {
		panic("weir: WithMaxClients with an unknown Overflow of " + strconv.Itoa(int(overflow)))
	}
	return func(o *options) { o.maxClients, o.overflow = n, overflow }
}

// WithStaleAfter sets how long a PerClient keeps a client at least after time has
// made it full again. The default, 0, is until the next sweep. One that is full
// since something was given back, or since SetPolicy, may go with the next sweep.
func WithStaleAfter(d time.Duration) Option {
	if d < 0 {
		panic("weir: WithStaleAfter(" + d.String() + "): it must not be negative")
	}
	return func(o *options) { o.staleAfter = d }
}

// WithSweepEvery sets how often a PerClient that holds clients looks for those
// that are stale; the default is a minute. With 0 only Sweep does.
func WithSweepEvery(d time.Duration) Option {
	if d < 0 {
		panic("weir: WithSweepEvery(" + d.String() + "): it must not be negative; 0 is for no sweeps but Sweep's")
	}
	return func(o *options) { o.sweepEvery = d }
}

// WithShadow makes decisions that are counted and reported but deny nobody:
// Allowed is true of a denial too, and Shadowed says so.
func WithShadow() Option { return func(o *options) { o.shadow = true } }

// verdict returns what the caller is told of a decision.
func (o *options) verdict(ok bool, d *Decision) bool {
	if ok || !o.shadow {
		return ok
	}
	if d != nil {
		d.Allowed, d.Shadowed = true, true
	}
	return true
}
