package redislimit

import (
	"fmt"
	"time"
)

// An Option changes how a PerClient is made. One that makes no sense panics where it is
// made, and a nil one, or a prefix that New cannot use, in New.
type Option func(*options)

type options struct {
	prefix    string
	timeout   time.Duration
	fallback  Fallback
	denyCache int
	lease     int
	leaseMax  time.Duration
	shadow    bool
}

func newOptions(opts []Option) options {
	o := options{prefix: "weir:", timeout: 50 * time.Millisecond}
	for _, opt := range opts {
		if opt == nil {
			panic("redislimit: a nil Option")
		}
		opt(&o)
	}
	return o
}

// WithPrefix sets what all keys in the store begin with; the default is "weir:".
// PerClients of the same prefix share the states of their clients: give each limit
// one of its own, with which no other begins. A hash tag in it, as in "{login}:", keeps
// all clients in one slot of a cluster. New panics if there is any other brace in it.
func WithPrefix(s string) Option {
	return func(o *options) { o.prefix = s }
}

// WithTimeout bounds how long one decision waits for the store, however often it asks;
// the default is 50 ms. A connection has to be made in that time, too. A store that hangs
// is noticed by those who wait for half of that or longer: let the timeout be less than
// the deadlines of the callers. It panics if d is not positive.
func WithTimeout(d time.Duration) Option {
	if d <= 0 {
		panic(fmt.Sprintf("redislimit: WithTimeout(%v): it must be positive", d))
	}
	return func(o *options) { o.timeout = d }
}

// WithFallback says what is decided when the store does not answer; the default is
// FailClosed. It panics if f is none of FailClosed, FailOpen and what Local returns.
func WithFallback(f Fallback) Option {
	if f != FailClosed && f != FailOpen && !f.isShare() {
		panic(fmt.Sprintf("redislimit: WithFallback(%v): it must be FailClosed, FailOpen or Local(share)", float64(f)))
	}
	return func(o *options) { o.fallback = f }
}

// WithDenyCache has what was denied be denied here, without asking the store, until
// its RetryAfter: the same client asking for the same n under the same policy. So many
// clients that were denied last are remembered, and up to three times as many. A
// Refund or Reset by another process is not seen before. It panics if clients is
// negative; 0 is the default, and no cache.
func WithDenyCache(clients int) Option {
	if clients < 0 {
		panic(fmt.Sprintf("redislimit: WithDenyCache(%d): it must not be negative", clients))
	}
	return func(o *options) { o.denyCache = clients }
}

// WithLease has a client that asks twice within max take up to n tokens at a time,
// which are then spent here, without asking the store. Those that are left once max
// has passed without a request are given back. In a fleet of k processes, up to
// k * n more than MaxWithin are admitted in any span: tokens that were taken before
// it began. One request waits for another's lease at most for WithTimeout, and then asks
// for itself. Decisions that are made here say what was left in the store when it was
// asked last. Close gives back what is leased. It panics if n is negative, or max not positive;
// with n of 0, the default, nothing is leased.
func WithLease(n int, max time.Duration) Option {
	if n < 0 || max <= 0 {
		panic(fmt.Sprintf("redislimit: WithLease(%d, %v): n must not be negative, and max positive", n, max))
	}
	return func(o *options) { o.lease, o.leaseMax = n, max }
}

// WithShadow decides, counts and reports, and lets everything pass, as in memory; also what
// FailClosed would return an error for, which is a denial then, but that of a context that
// is done.
func WithShadow() Option {
	return func(o *options) { o.shadow = true }
}
