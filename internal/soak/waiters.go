package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// mostWaiters is how many wait at once.
const mostWaiters = 1000

// Waiters come by the thousand for the same few states. Some have their turn, the
// others are cancelled or run out of time.
type waiters struct {
	queues []queue
}

// A queue is what some of them wait for.
type queue struct {
	*contest
	name    string
	wait    func(context.Context) error
	peek    func() weir.Decision
	soonest time.Duration // in which one more is allowed, if nobody waits
}

func newWaiters(st *stage) *scenario {
	bucket := weir.TokenBucket(weir.PerSecond(500).WithBurst(20))
	leaky := weir.LeakyBucket(weir.PerSecond(500), 200)
	window := weir.SlidingWindow(weir.Per(40, 100*time.Millisecond))
	b, k := weir.New(bucket), weir.New(leaky)
	c := weir.NewPerClient[string](window, weir.WithSweepEvery(200*time.Millisecond))
	v := &waiters{queues: []queue{
		{newContest(bucket, mostWaiters), "bucket", b.Wait, func() weir.Decision { return b.Peek(1) }, 2 * time.Millisecond},
		{newContest(leaky, mostWaiters), "leaky", k.Wait, func() weir.Decision { return k.Peek(1) }, 2 * time.Millisecond},
		{
			newContest(window, mostWaiters), "window",
			func(ctx context.Context) error { return c.Wait(ctx, "waiter") },
			func() weir.Decision { return c.Peek("waiter", 1) }, 100 * time.Millisecond,
		},
	}}
	s := newScenario(st, "waiters", b, k, c)
	s.vague = true
	s.spell = func(ctx context.Context, length time.Duration, random *rand.Rand) { v.spell(ctx, length, random, s) }
	s.lanes[0].keys.Store(uint64(len(v.queues)))
	return s
}

// spell lets a thousand wait for as long as a spell is, and at most until ctx
// ends.
func (v *waiters) spell(ctx context.Context, length time.Duration, random *rand.Rand, s *scenario) {
	l := s.lanes[0]
	var wg sync.WaitGroup
	for i := range mostWaiters {
		// Every other one of them would wait for longer.
		within := time.Duration(2 * random.Float64() * float64(length))
		wg.Go(func() { v.queues[i%len(v.queues)].attend(ctx, within, i%2 == 0, l) })
	}
	wg.Wait()
	for _, q := range v.queues {
		if d := q.peek(); d.RetryAfter > q.soonest {
			l.judge(q.name, false, fmt.Errorf("nobody waits any more, and the next one would for %v", d.RetryAfter))
		}
	}
	for _, k := range s.limiters {
		if n := k.Stats().Waiting; n > 0 {
			l.judge("any", false, fmt.Errorf("nobody waits any more, and Stats say %d", n))
		}
	}
}

// attend waits for one, until a deadline or until it is cancelled by surprise.
func (q *queue) attend(ctx context.Context, within time.Duration, surprise bool, l *lane) {
	var cancel context.CancelFunc
	if surprise {
		ctx, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(within, cancel).Stop()
	} else {
		ctx, cancel = context.WithTimeout(ctx, within)
	}
	defer cancel()
	before := system.Now()
	err := q.wait(ctx)
	l.count(err == nil)
	switch {
	case err == nil:
		full, err := q.add(before, 1)
		l.judge(q.name, full, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, weir.ErrQueueFull):
	default:
		l.judge(q.name, false, err)
	}
}
