package redislimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"
)

// ErrUnavailable is the error of a decision for which the store was not asked,
// because it has not answered lately. It is asked again twice a second.
var ErrUnavailable = errors.New("the store does not answer")

const (
	// tripAfter is how many errors in a row it takes not to ask the store any more.
	tripAfter = 5
	// probeAfter is when it is asked again, by one.
	probeAfter = 500 * time.Millisecond
)

func newBreaker() *gobreaker.CircuitBreaker[Reply] {
	return gobreaker.NewCircuitBreaker[Reply](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      probeAfter,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		IsSuccessful: func(err error) bool { return err == nil || !unavailable(err) },
		IsExcluded:   func(err error) bool { return errors.As(err, new(*abandoned)) },
	})
}

// abandoned is the error of a caller who did not wait for the answer.
type abandoned struct{ error }

func (a *abandoned) Unwrap() error { return a.error }

// unavailable reports whether an error says that the store cannot decide about
// anything. Another reply of it, to a key that is not ours, say, is about that one.
func unavailable(err error) bool {
	var reply interface{ RedisError() }
	if !errors.As(err, &reply) {
		return true
	}
	code, _, _ := strings.Cut(err.Error(), " ")
	switch code {
	case "LOADING", "READONLY", "OOM", "MISCONF", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "TRYAGAIN", "BUSY", "UNKILLABLE":
		return true
	}
	return false
}

// run calls the store, if it has answered lately.
func (c *PerClient) run(ctx context.Context, keys, args []string) (Reply, error) {
	reply, err := c.breaker.Execute(func() (Reply, error) {
		within, cancel := context.WithTimeout(ctx, c.timeout)
		defer cancel()
		reply, err := c.store.Call(within, library, keys, args)
		if err != nil && ctx.Err() != nil {
			err = &abandoned{ctx.Err()}
		}
		return reply, err
	})
	switch {
	case err == nil:
		return reply, nil
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		err = ErrUnavailable
	}
	return Reply{}, fmt.Errorf("redislimit: %s*: %w", c.keys.prefix, err)
}
