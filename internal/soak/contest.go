package main

import (
	"sync"
	"time"

	"github.com/goweir/weir"
)

// A contest is one state that all workers ask for at the same time. A life of its
// meter begins when the state is full. If the state is never full again but used
// up all the time, then a single admission too many is one above the bound.
type contest struct {
	policy weir.Policy
	mu     sync.Mutex
	meter  meter
}

// life is how long a state has been left alone when another life of its meter
// begins: those that workers compete for are full by then.
const life = 100 * time.Millisecond

func newContest(p weir.Policy, ring int) *contest {
	return &contest{policy: p, meter: meter{newest: make([]admission, ring)}}
}

// add adds n admitted between a reading and now.
func (c *contest) add(before time.Duration, n int) (full bool, err error) {
	if n == 0 {
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if before-c.meter.until >= life {
		c.meter.clear()
	}
	return c.meter.add(c.policy, before, system.Now(), n)
}

// compete asks a few times for one, and adds what was admitted as one admission,
// so that the workers race for the state and not for the meter.
func (c *contest) compete(l *lane, key any, allow func() bool) {
	const calls = 2 * callsATurn
	n := 0
	before := l.start()
	for range calls {
		ok := allow()
		l.lap()
		if ok {
			n++
		}
	}
	l.allowed.Add(uint64(n))
	l.denied.Add(uint64(calls - n))
	full, err := c.add(before, n)
	l.judge(key, full, err)
}

// newHot returns the scenario of a Limiter at which all workers are at once.
func newHot(st *stage, p weir.Policy) *scenario {
	limiter, contest := weir.New(p), newContest(p, 256)
	s := newScenario(st, "hot/"+p.Name(), limiter)
	s.turn = func(w *worker, l *lane) { contest.compete(l, "of everybody", limiter.Allow) }
	s.lanes[0].keys.Store(1)
	return s
}

// newFlood returns the scenario of a client that asks as often as it can.
func newFlood(st *stage) *scenario {
	p := weir.TokenBucket(weir.PerSecond(1000).WithBurst(100))
	clients, contest := weir.NewPerClient[string](p, weir.WithSweepEvery(100*time.Millisecond)), newContest(p, 256)
	s := newScenario(st, "flood", clients)
	s.weight = 4
	s.turn = func(w *worker, l *lane) {
		for range 8 {
			contest.compete(l, "flooder", func() bool { return clients.Allow("flooder") })
		}
	}
	s.lanes[0].keys.Store(1)
	return s
}
