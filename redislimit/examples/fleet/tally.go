package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A tally is what was asked and admitted.
//
//	admitted by Redis within d         <= policy.MaxWithin(d)
//	admitted by themselves within d    <= processes * byItself.MaxWithin(d)
//
// Within d are those that were sent and answered in it: then so were they admitted.
type tally struct {
	begin time.Time
	mu    sync.Mutex
	asked []time.Duration // when they were sent; all of these are since begin
	redis []span
	alone []span
	err   error // the last one of requests that were not decided
}

// A span is from when a request was sent until it was answered.
type span struct{ sent, answered time.Duration }

func newTally(begin time.Time) *tally { return &tally{begin: begin} }

func (t *tally) add(sent, answered time.Time, answer string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := span{sent.Sub(t.begin), answered.Sub(t.begin)}
	t.asked = append(t.asked, s.sent)
	switch {
	case err != nil:
		t.err = err
	case answer == admittedByRedis:
		t.redis = append(t.redis, s)
	case answer == admittedByItself:
		t.alone = append(t.alone, s)
	}
}

func within(admitted []span, from, to time.Duration) (n int) {
	for _, s := range admitted {
		if from <= s.sent && s.answered <= to {
			n++
		}
	}
	return n
}

// bounds returns the most that may be admitted within d. Redis's instants are whole microseconds,
// so that some from just before may seem to be in it.
func bounds(d time.Duration) (redis, alone int) {
	return policy.MaxWithin(d + 2*time.Microsecond), processes * byItself.MaxWithin(d+2*time.Microsecond)
}

func (t *tally) header(out io.Writer) {
	fmt.Fprintln(out, "                admitted by Redis                  by the processes themselves")
	fmt.Fprintln(out, "second  asked   in the second   since the start    in the second, of at most")
}

// row prints the second that ends at an instant.
func (t *tally) row(out io.Writer, at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := 0
	for _, sent := range t.asked {
		if at-time.Second <= sent && sent < at {
			asked++
		}
	}
	inAll, _ := bounds(at)
	redis, alone := bounds(time.Second)
	fmt.Fprintf(out, "%6.0f %6d %8d of %d %8d of %4d %11d of %d\n", at.Seconds(), asked,
		within(t.redis, at-time.Second, at), redis, within(t.redis, 0, at), inAll, within(t.alone, at-time.Second, at), alone)
}

// check returns an error if in any seconds on end more was admitted than may be, or if nothing was
// admitted that should be.
func (t *tally) check(out io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return fmt.Errorf("a request was not decided: %w", t.err)
	}
	if len(t.redis) == 0 || len(t.alone) == 0 {
		return errors.New("nothing was admitted by Redis, or nothing without it")
	}
	checked, end := 0, t.asked[len(t.asked)-1]+time.Second
	for from := time.Duration(0); from < end; from += time.Second {
		for to := from + time.Second; to <= end; to += time.Second {
			redis, alone := bounds(to - from)
			if n := within(t.redis, from, to); n > redis {
				return fmt.Errorf("from %v to %v Redis admitted %d, and at most %d may be", from, to, n, redis)
			}
			if n := within(t.alone, from, to); n > alone {
				return fmt.Errorf("from %v to %v the processes admitted %d, and at most %d may be", from, to, n, alone)
			}
			checked++
		}
	}
	fmt.Fprintf(out, "\nThe bounds held in all %d spans of seconds.\n", checked)
	return nil
}
