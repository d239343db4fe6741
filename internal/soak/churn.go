package main

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// batch is how many are made in a turn.
const batch = 32

// A churn makes limiters that do not live long.
type churn struct {
	policies          []weir.Policy
	closed, abandoned atomic.Uint64
}

func newChurn() *churn {
	// Clients of the last one are not full, and so not swept, while the run lasts.
	return &churn{policies: append(populous(), weir.TokenBucket(weir.PerDay(10)))}
}

// newAndClose makes some, uses them, and closes those that can be, long before
// they would be swept.
func (c *churn) newAndClose(random *rand.Rand) {
	for range batch {
		_ = c.use(random, time.Minute).Close()
		c.closed.Add(1)
	}
}

// newAndAbandon does not close them. Their timers ring soon, perhaps after they
// have been collected.
func (c *churn) newAndAbandon(random *rand.Rand) {
	for range batch {
		c.use(random, time.Millisecond+time.Duration(random.IntN(20_000))*time.Microsecond)
		c.abandoned.Add(1)
	}
}

// use makes a Limiter and a PerClient, and has both decide.
func (c *churn) use(random *rand.Rand, sweepEvery time.Duration) *weir.PerClient[int] {
	p := c.policies[random.IntN(len(c.policies))]
	weir.New(p).Allow()
	opts := []weir.Option{weir.WithSweepEvery(sweepEvery)}
	if random.IntN(128) > 0 { // the others have a thousand shards, which take a hundred times as long to make
		opts = append(opts, weir.WithMaxClients(100, weir.Overflow(random.IntN(3))))
	}
	clients := weir.NewPerClient[int](p, opts...)
	for key := range 3 {
		clients.Allow(key)
	}
	clients.Reserve(0, 1)
	clients.Reserve(1, 1).Cancel()
	return clients
}
