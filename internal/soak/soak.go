package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// together is how long the workers prefer one scenario, so that they meet in it.
const together = 10 * time.Millisecond

// soak lets workers loose on scenarios, and returns what became of them.
func soak(ctx context.Context, length time.Duration, seed uint64, scenarios func(*stage) []*scenario, progress io.Writer) *report {
	st := &stage{workers: min(2*runtime.NumCPU(), 16), seed: seed}
	r := &report{faults: &st.faults, before: measure()}
	began := time.Now()
	exercise(ctx, length, st, scenarios(st), r, progress)
	// Nothing refers to the scenarios any more.
	var err error
	if r.closed, err = backTo(r.before); err != nil {
		st.faults.add("with all closed", "%v", err)
	}
	r.length = time.Since(began)
	return r
}

// exercise runs all scenarios, for a quarter of the time first to find out what
// they hold when idle.
func exercise(ctx context.Context, length time.Duration, st *stage, all []*scenario, r *report, progress io.Writer) {
	b := &background{
		stage: st, scenarios: all, procs: runtime.GOMAXPROCS(0),
		// So that there is a spell of each activity in a quarter of the time.
		length: min(time.Second, length/4/time.Duration(activities)),
		random: rand.New(rand.NewPCG(st.seed, 1)),
		churn:  newChurn(),
		before: make(map[counter]weir.Stats),
	}
	p := newProgress(progress, length, b)
	p.during(func() { drive(ctx, length/4, b) })
	idle(all)
	r.idle = measure()
	p.during(func() { drive(ctx, length-length/4, b) })
	idle(all)
	var err error
	if r.after, err = backTo(r.idle); err != nil {
		st.faults.add("idle at the end", "%v", err)
	}
	for _, s := range all {
		s.check()
		if allowed, denied, _ := s.seen(); allowed == 0 && ctx.Err() == nil {
			st.faults.add(s.name, "none allowed, of %d", denied)
		}
	}
	r.fill(all, b)
	for _, s := range all {
		s.shut()
	}
}

// drive has the workers work beside the background.
func drive(ctx context.Context, length time.Duration, b *background) {
	working, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for id := range b.stage.workers {
		w := &worker{id, rand.New(rand.NewPCG(b.random.Uint64(), uint64(id)))}
		wg.Go(func() { w.work(working, b.scenarios) })
	}
	b.run(ctx, length)
	cancel()
	wg.Wait()
}

// work takes turns at all scenarios: first each once, then mostly the one at which
// the other workers are as well.
func (w *worker) work(ctx context.Context, all []*scenario) {
	var turns []*scenario
	for _, s := range all {
		if s.turn == nil {
			continue
		}
		s.turn(w, s.lanes[w.id])
		for range max(1, s.weight) {
			turns = append(turns, s)
		}
	}
	for ctx.Err() == nil {
		i := int(system.Now() / together % time.Duration(len(turns)))
		if w.random.IntN(4) == 0 {
			i = w.random.IntN(len(turns))
		}
		s := turns[i]
		s.turn(w, s.lanes[w.id])
		runtime.Gosched() // between calls, or others would stop it in the middle of one
	}
}

// idle waits until all clients are full, and sweeps them.
func idle(all []*scenario) {
	time.Sleep(refill)
	for _, s := range all {
		for _, k := range s.keepers() {
			k.Sweep()
		}
	}
}

// check reports what an idle scenario, swept, does not hold.
func (s *scenario) check() {
	fail := func(format string, args ...any) { s.stage.faults.add(s.name+", idle", format, args...) }
	for _, k := range s.keepers() {
		if n := k.Len(); n > 0 {
			fail("%d clients left %v after the last call", n, refill)
		}
	}
	if err := s.addUp(); err != nil {
		fail("%v", err)
	}
	if s.finish != nil {
		if err := s.finish(); err != nil {
			fail("%v", err)
		}
	}
}

// addUp holds the limiters' Stats against what the callers saw.
func (s *scenario) addUp() error {
	var sum weir.Stats
	allowed, denied, _ := s.seen()
	for _, l := range s.limiters {
		st := l.Stats()
		sum.Allowed += st.Allowed
		sum.Denied += st.Denied
		sum.Waiting += st.Waiting
		if s.layered && st.Allowed != allowed {
			return fmt.Errorf("the callers counted %d allowed, a layer %d", allowed, st.Allowed)
		}
	}
	if s.layered {
		sum.Allowed = allowed
	}
	switch {
	case sum.Waiting > 0:
		return fmt.Errorf("nobody waits, and Stats say %d", sum.Waiting)
	case s.vague && sum.Allowed >= allowed && sum.Allowed+sum.Denied <= allowed+denied:
	case sum.Allowed != allowed || sum.Denied != denied:
		return fmt.Errorf("the callers counted %d allowed and %d denied, Stats %d and %d",
			allowed, denied, sum.Allowed, sum.Denied)
	}
	return nil
}

func (s *scenario) shut() {
	for _, k := range s.keepers() {
		_ = k.Close()
	}
	if s.close != nil {
		_ = s.close()
	}
}
