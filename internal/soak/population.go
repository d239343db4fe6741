package main

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// clientsEach is how many clients of a population each worker has.
const clientsEach = 1024

// A population is many clients of one PerClient, asked for as a Zipf
// distribution says: the first ones all the time, the last ones hardly ever.
// Each has one worker who asks for it.
type population struct {
	clients *weir.PerClient[uint64]
	rule    atomic.Pointer[weir.Policy] // in force; nil while it is changed
	plans   []*weir.Policy              // of a client's own, of which nil is the rule
	coarse  *weir.CoarseClock           // nil for the system's
	owned   []owned                     // by worker

	mostHeld int  // 0 for any number
	crowded  bool // an answer says nothing of the next: there may be no room then
	forgives bool // clients are forgotten before they are full

	ask func(key uint64, n int, plan *weir.Policy, tell bool) weir.Decision
}

// Owned clients are those of one worker.
type owned struct {
	clients   []client
	random    *rand.Rand
	zipf      *rand.Zipf
	favourite uint64
}

func newOwned(st *stage, worker, n int) owned {
	const ring = 32
	clients, newest := make([]client, n), make([]admission, ring*n)
	for i := range clients {
		clients[i].newest = newest[i*ring : (i+1)*ring]
	}
	random := rand.New(rand.NewPCG(st.seed, uint64(worker)))
	return owned{clients: clients, random: random, zipf: rand.NewZipf(random, 1.3, 1, uint64(n-1))}
}

// next returns a client and its number. Who comes also comes again soon.
func (o *owned) next() (number uint64, c *client) {
	number = o.favourite
	switch i := o.random.IntN(400); {
	case i == 0:
		number = uint64(o.random.IntN(len(o.clients)))
		o.favourite = number
	case i > 100:
		number = o.zipf.Uint64()
	}
	return number, &o.clients[number]
}

func newPopulation(st *stage, p weir.Policy, opts ...weir.Option) *population {
	opts = append([]weir.Option{weir.WithSweepEvery(300 * time.Millisecond)}, opts...)
	o := &population{clients: weir.NewPerClient[uint64](p, opts...)}
	o.ask = o.decide
	o.rule.Store(&p)
	for id := range st.workers {
		o.owned = append(o.owned, newOwned(st, id, clientsEach))
	}
	return o
}

func (o *population) scenario(st *stage, name string) *scenario {
	s := newScenario(st, name, o.clients)
	s.turn = o.turn
	return s
}

// inForce returns the policy by which a client with that plan is decided.
func (o *population) inForce(plan *weir.Policy) *weir.Policy {
	if plan != nil {
		return plan
	}
	return o.rule.Load()
}

func (o *population) turn(w *worker, l *lane) {
	own := &o.owned[w.id]
	for range callsATurn {
		number, c := own.next()
		key := number*uint64(len(o.owned)) + uint64(w.id)
		if len(o.plans) > 0 && (!c.known || w.random.IntN(500) == 0) {
			c.plan = o.plans[w.random.IntN(len(o.plans))]
		}
		if !c.known {
			c.known = true
			l.keys.Add(1)
		}
		rule := o.inForce(c.plan)
		a := o.call(w, l, key, c.plan)
		switch {
		case rule == nil || rule != o.inForce(c.plan):
			c.forget(nil) // it may have been decided by another
			continue
		case rule != c.rule:
			c.forget(rule)
		}
		o.see(l, c, key, a)
	}
	if o.mostHeld > 0 {
		if n := o.clients.Len(); n > o.mostHeld {
			l.judge("of any", false, fmt.Errorf("%d clients held, of at most %d", n, o.mostHeld))
		}
	}
}

// call makes one call of a random kind.
func (o *population) call(w *worker, l *lane, key uint64, plan *weir.Policy) answer {
	a := answer{n: 1, told: w.random.IntN(4) == 0}
	if w.random.IntN(8) == 0 {
		a.n += w.random.IntN(3)
	}
	a.before = l.start()
	if o.coarse != nil {
		a.before = o.coarse.Now()
	}
	a.Decision = o.ask(key, a.n, plan, a.told)
	a.after = l.lap()
	if o.coarse != nil {
		a.after = o.coarse.Now()
	}
	l.count(a.Allowed)
	return a
}

// decide asks the PerClient, which is to tell more or only whether it is allowed.
func (o *population) decide(key uint64, n int, plan *weir.Policy, tell bool) (d weir.Decision) {
	switch {
	case plan != nil && (tell || n > 1):
		return o.clients.TakeAs(key, n, *plan)
	case plan != nil:
		d.Allowed = o.clients.AllowAs(key, *plan)
	case tell:
		return o.clients.Take(key, n)
	case n > 1:
		d.Allowed = o.clients.AllowN(key, n)
	default:
		d.Allowed = o.clients.Allow(key)
	}
	return d
}

func (o *population) see(l *lane, c *client, key uint64, a answer) {
	switch {
	case o.forgives:
	case !o.crowded:
		full, err := c.see(a)
		l.judge(key, full, err)
	case a.Allowed:
		full, err := c.add(*c.rule, a.before, a.after, a.n)
		l.judge(key, full, err)
	}
}

// reload puts another of some policies in force.
func (o *population) reload(random *rand.Rand, policies []weir.Policy) error {
	next := policies[random.IntN(len(policies))]
	o.rule.Store(nil)
	err := o.clients.SetPolicy(next)
	o.rule.Store(&next) // each time another pointer, so that nobody takes it for the one before
	return err
}
