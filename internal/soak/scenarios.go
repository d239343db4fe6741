package main

import (
	"math/rand/v2"
	"time"

	"github.com/goweir/weir"
)

// allScenarios returns a new set of all of them.
func allScenarios(st *stage) (all []*scenario) {
	for _, p := range populous() {
		all = append(all, newPopulation(st, p).scenario(st, "zipf/"+p.Name()))
	}
	for _, p := range contested() {
		all = append(all, newHot(st, p))
	}
	for _, p := range crowding() {
		all = append(all, newCrowd(st, p))
	}
	return append(all,
		newRenamed(st),
		newFlood(st),
		newOverflow(st, "evict-fullest", 1100, weir.EvictFullest), // of more than one shard
		newOverflow(st, "deny-new", 400, weir.DenyNew),
		newOverflow(st, "share-overflow", 400, weir.ShareOverflow),
		newReloaded(st),
		newReformed(st),
		newPlanned(st),
		newCoarse(st),
		newLayered(st),
		newReserving(st),
		newCorrecting(st),
		newWaiters(st),
	)
}

// newOverflow returns the scenario of a population that there is not room for. It
// comes and goes as a whole, so that there is room now and then.
func newOverflow(st *stage, name string, room int, overflow weir.Overflow) *scenario {
	const tide = 250 * time.Millisecond
	p := weir.TokenBucket(weir.PerSecond(50).WithBurst(10))
	o := newPopulation(st, p, weir.WithMaxClients(room, overflow), weir.WithSweepEvery(50*time.Millisecond))
	o.mostHeld, o.crowded, o.forgives = room, true, overflow == weir.EvictFullest
	s := o.scenario(st, "overflow/"+name)
	s.turn = func(w *worker, l *lane) {
		if l.allowed.Load() == 0 || system.Now()/tide%2 == 0 {
			o.turn(w, l)
		}
	}
	return s
}

// newReloaded returns the scenario of a population whose policy is set anew all
// the time.
func newReloaded(st *stage) *scenario {
	policies := append(populous(), weir.TokenBucket(weir.PerSecond(60).WithBurst(4)),
		weir.SlidingWindow(weir.Per(6, 40*time.Millisecond)), weir.FixedWindow(weir.Per(20, 100*time.Millisecond)))
	o := newPopulation(st, policies[0])
	s := o.scenario(st, "setpolicy")
	s.reload = func(random *rand.Rand) error { return o.reload(random, policies) }
	return s
}

// newReformed returns the scenario of a population whose policy changes only in
// form, for all and for single clients. The bound is the same all the time, and no
// change gives anything back.
func newReformed(st *stage) *scenario {
	bucket := weir.TokenBucket(weir.PerSecond(100).WithBurst(8))
	forms := []weir.Policy{bucket, bucket.Named("another"), weir.All(bucket), weir.FirstOf(bucket), weir.All(bucket, bucket)}
	o := newPopulation(st, bucket)
	o.crowded = true
	o.ask = func(key uint64, n int, _ *weir.Policy, tell bool) weir.Decision {
		var form *weir.Policy
		if i := rand.IntN(4 * len(forms)); i < len(forms) {
			form = &forms[i]
		}
		return o.decide(key, n, form, tell)
	}
	s := o.scenario(st, "reform")
	s.reload = func(random *rand.Rand) error { return o.clients.SetPolicy(forms[random.IntN(len(forms))]) }
	return s
}

// newPlanned returns the scenario of a population in which some have a policy of
// their own, and change it now and then.
func newPlanned(st *stage) *scenario {
	o := newPopulation(st, weir.TokenBucket(weir.PerSecond(100).WithBurst(8)))
	o.plans = []*weir.Policy{nil}
	for _, p := range []weir.Policy{
		weir.TokenBucket(weir.PerSecond(200).WithBurst(16)),
		weir.SlidingWindow(weir.Per(5, 50*time.Millisecond)),
		weir.BurstReserve(weir.PerSecond(50).WithBurst(4), weir.PerSecond(10).WithBurst(4)),
	} {
		o.plans = append(o.plans, &p)
	}
	return o.scenario(st, "plans")
}

// newCoarse returns the scenario of a population on a CoarseClock.
func newCoarse(st *stage) *scenario {
	clock := weir.NewCoarseClock(time.Millisecond)
	o := newPopulation(st, weir.TokenBucket(weir.PerSecond(100).WithBurst(8)), weir.WithClock(clock))
	o.coarse = clock
	s := o.scenario(st, "coarse-clock")
	s.close = clock.Close
	return s
}
