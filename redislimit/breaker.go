package redislimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// ErrUnavailable is the error of a decision for which the store was not asked,
// because it has not answered lately. It is asked again four times a second.
var ErrUnavailable = errors.New("the store does not answer")

const (
	// tripAfter is how many failures in a row it takes not to ask the store any more.
	tripAfter = 3
	// probeAfter is when it is asked again, by one.
	probeAfter = 250 * time.Millisecond
)

// A breaker keeps those who would ask a store from one that fails.
//
//	a failure counts  =>  its request began after the last failure that counted, and
//	                      it was not late because it began late
//
// A connection that breaks may take many requests with it, and is one failure.
type breaker struct {
	*gobreaker.CircuitBreaker[Reply]
	start time.Time
	last  atomic.Int64 // since start, in nanoseconds, of the failure that counted last
}

func newBreaker() *breaker {
	return &breaker{start: time.Now(), CircuitBreaker: gobreaker.NewCircuitBreaker[Reply](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      probeAfter,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		IsSuccessful: func(err error) bool { return err == nil || !unavailable(err) },
		IsExcluded: func(err error) bool {
			var gone *abandoned
			return errors.As(err, &gone) && !gone.failure || errors.As(err, new(*echo))
		},
	})}
}

// breakers are one, or one for each of so many parts of a cluster's slots: who is in a
// node that fails has no breaker in common with the others.
type breakers []*breaker

// clusterParts is in how many parts a cluster's slots are divided.
const clusterParts = 64

func newBreakers(parts int) breakers {
	b := make(breakers, parts)
	for i := range b {
		b[i] = newBreaker()
	}
	return b
}

// of returns the breaker for those who have a key.
func (b breakers) of(key string) *breaker {
	if len(b) == 1 {
		return b[0]
	}
	return b[slotOf(key)*len(b)/slots]
}

// first reports whether a failure is the first one of requests that began by then.
func (b *breaker) first(began time.Duration) bool {
	last := b.last.Load()
	return int64(began) >= last && b.last.CompareAndSwap(last, int64(time.Since(b.start)))
}

// abandoned is the error of a caller who did not wait for the answer.
type abandoned struct {
	error
	failure bool // of the store, too: for others, it would have taken too long
}

func (a *abandoned) Unwrap() error { return a.error }

// echo is the error of a request that was under way when another failed.
type echo struct{ error }

func (e *echo) Unwrap() error { return e.error }

// A reply is an error that the store itself answered with.
type reply interface {
	error
	RedisError()
}

func isReply(err error) bool { return errors.As(err, new(reply)) }

// unavailable reports whether an error says that the store cannot decide about
// anything. Another reply of it, to a key that is not ours, say, is about that one.
func unavailable(err error) bool {
	var reply reply
	if !errors.As(err, &reply) {
		return true
	}
	text := reply.Error()
	code, _, _ := strings.Cut(text, " ")
	switch code {
	case "LOADING", "READONLY", "OOM", "MISCONF", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "BUSY", "UNKILLABLE":
		return true
	}
	return strings.HasPrefix(text, "ERR max number of clients")
}

// A bounded context is a caller's, until the timeout of one decision.
type bounded struct {
	context.Context
	caller context.Context
	by     time.Time
}

func (c *PerClient) within(ctx context.Context) (bounded, context.CancelFunc) {
	return until(ctx, time.Now().Add(c.timeout))
}

func until(ctx context.Context, by time.Time) (bounded, context.CancelFunc) {
	if b, ok := ctx.(bounded); ok {
		return b, func() {}
	}
	within, cancel := context.WithDeadline(ctx, by)
	return bounded{within, ctx, by}, cancel
}

// gone returns why the caller does not wait any more; nil if it does. A library may
// see a deadline that has passed before the context does.
func (b bounded) gone() error {
	if deadline, ok := b.caller.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return b.caller.Err()
}

// run calls the store, if it has answered lately, and there is time for it.
func (c *PerClient) run(ctx bounded, l *Library, keys, args []string) (Reply, error) {
	left := time.Until(ctx.by)
	if gone := ctx.gone(); gone != nil {
		return Reply{}, c.failed(&abandoned{error: gone})
	} else if left <= 0 {
		return Reply{}, c.failed(context.DeadlineExceeded)
	}
	breaker := c.breakers.of(keys[0])
	reply, err := breaker.Execute(func() (Reply, error) {
		began := time.Since(breaker.start)
		reply, err := c.store.Call(ctx, l, keys, args)
		if err == nil {
			c.took.Store(int64(time.Since(breaker.start) - began))
			return reply, nil
		}
		if gone := ctx.gone(); gone != nil {
			slow := time.Since(breaker.start)-began >= c.timeout/2 || breaker.State() == gobreaker.StateHalfOpen
			return reply, &abandoned{gone, slow && gone == context.DeadlineExceeded && breaker.first(began)}
		}
		late := ctx.Err() != nil && left < c.timeout/2 // which another store would be, too
		if unavailable(err) && (late || !breaker.first(began)) {
			return reply, &echo{err}
		}
		return reply, err
	})
	switch {
	case err == nil:
		return reply, nil
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		err = ErrUnavailable
	}
	return Reply{}, c.failed(err)
}

// latest returns how long the store took to answer last.
func (c *PerClient) latest() time.Duration { return time.Duration(c.took.Load()) }

// failed names the limit in an error, and no client.
func (c *PerClient) failed(err error) error {
	return fmt.Errorf("redislimit: %s*: %w", c.keys.prefix, err)
}
