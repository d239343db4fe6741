package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// A crowd is clients that come once and go for ever, by the million, and among
// them a few that all workers ask for all the time. So the table grows and
// shrinks while its states are changed.
type crowd struct {
	clients *weir.PerClient[uint64]
	policy  weir.Policy
	hot     []*contest
	next    []uint64 // newcomer, by worker
}

func newCrowd(st *stage, p weir.Policy) *scenario {
	c, s := crowdOf(st, p)
	s.finish = func() error { return c.finish(s) }
	return s
}

// newRenamed returns the scenario of a crowd whose policy gets another name now
// and then: all states move, and none changes. It is in few shards, which take the
// longer, and too large for them: newcomers, of whom little is used, have to go.
func newRenamed(st *stage) *scenario {
	p := weir.TokenBucket(weir.PerSecond(20_000).WithBurst(2000))
	c, s := crowdOf(st, p.Named("renamed"), weir.WithMaxClients(2048, weir.EvictFullest))
	s.reload = func(random *rand.Rand) error {
		return c.clients.SetPolicy(p.Named(strconv.Itoa(random.IntN(100))))
	}
	return s
}

func crowdOf(st *stage, p weir.Policy, opts ...weir.Option) (*crowd, *scenario) {
	c := &crowd{
		clients: weir.NewPerClient[uint64](p, append(opts, weir.WithSweepEvery(500*time.Millisecond))...),
		policy:  p,
		next:    make([]uint64, st.workers),
	}
	for range 2 {
		c.hot = append(c.hot, newContest(p, 64))
	}
	s := newScenario(st, "crowd/"+p.Name(), c.clients)
	s.turn, s.weight = c.turn, 2
	return c, s
}

func (c *crowd) turn(w *worker, l *lane) {
	if w.random.IntN(2) == 0 {
		// The same one for all, so that they meet.
		i := uint64(system.Now()/time.Millisecond) % uint64(len(c.hot))
		c.hot[i].compete(l, i, func() bool { return c.clients.Allow(i) })
		return
	}
	for range callsATurn / 2 {
		c.next[w.id]++
		key := uint64(len(c.hot)) + c.next[w.id]*uint64(len(c.next)) + uint64(w.id)
		c.welcome(l, key, 1+w.random.IntN(4))
	}
}

// welcome asks for a newcomer a few times.
func (c *crowd) welcome(l *lane, key uint64, calls int) {
	l.keys.Add(1)
	allowed := 0
	before := l.start()
	for i := range calls {
		ok := c.clients.Allow(key)
		after := l.lap()
		l.count(ok)
		if !ok {
			if i == 0 {
				l.judge(key, false, errors.New("denied, although it was never seen before"))
			}
			continue
		}
		allowed++
		full, err := within(c.policy, after-before+1, allowed)
		l.judge(key, full, err)
	}
}

// finish reports newcomers that were never evicted.
func (c *crowd) finish(s *scenario) error {
	_, _, keys := s.seen()
	if evicted := c.clients.Stats().Evicted; evicted < keys {
		return fmt.Errorf("%d evicted, of %d that came and went", evicted, keys)
	}
	return nil
}
