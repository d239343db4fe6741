package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// A background goes through the activities, each for a spell, over and over.
type background struct {
	stage     *stage
	scenarios []*scenario
	length    time.Duration // of a spell
	procs     int           // GOMAXPROCS, but for while that changes
	random    *rand.Rand
	churn     *churn
	before    map[counter]weir.Stats // when they were last read
}

// run goes on for some time, and longer if there has not been one of each until
// then, unless ctx ends.
func (b *background) run(ctx context.Context, length time.Duration) {
	began := time.Now()
	for spells := 0; ctx.Err() == nil; spells++ {
		if spells >= int(activities) && time.Since(began) >= length {
			return
		}
		a := activity(spells) % activities
		b.reload(b.random)
		b.stage.activity.Store(int32(a))
		b.spell(ctx, a)
		b.stage.activity.Store(int32(quiet))
	}
}

func (b *background) spell(ctx context.Context, a activity) {
	// By a timer, as of a deadline Wait would know beforehand.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(b.length, cancel).Stop()
	if a != everything {
		b.do(ctx, a, rand.New(rand.NewPCG(b.random.Uint64(), 0)))
		return
	}
	var wg sync.WaitGroup
	for a := range everything {
		random := rand.New(rand.NewPCG(b.random.Uint64(), 0))
		wg.Go(func() { b.do(ctx, a, random) })
	}
	wg.Wait()
}

// do does one thing until ctx ends.
func (b *background) do(ctx context.Context, a activity, random *rand.Rand) {
	few := func() time.Duration { return time.Duration(random.IntN(5000)) * time.Microsecond }
	switch a {
	case quiet:
		<-ctx.Done()
	case collecting:
		repeat(ctx, few, runtime.GC)
	case sweeping:
		repeat(ctx, few, b.sweep)
	case reloading:
		repeat(ctx, few, func() { b.reload(random) })
	case threading:
		repeat(ctx, few, func() { runtime.GOMAXPROCS(1 + random.IntN(2*b.procs)) })
		runtime.GOMAXPROCS(b.procs)
	case allocating:
		allocate(ctx, random)
	case waiting:
		for _, s := range b.scenarios {
			if s.spell != nil {
				s.spell(ctx, b.length, random)
			}
		}
		<-ctx.Done()
	case closing:
		repeat(ctx, nil, func() { b.churn.newAndClose(random) })
	case abandoning:
		repeat(ctx, nil, func() { b.churn.newAndAbandon(random) })
	case reading:
		repeat(ctx, few, b.read)
	}
}

// repeat calls f, with pauses unless pause is nil, until ctx ends.
func repeat(ctx context.Context, pause func() time.Duration, f func()) {
	for ctx.Err() == nil {
		f()
		if pause == nil {
			runtime.Gosched() // the workers have turns as short
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause()):
		}
	}
}

func (b *background) sweep() {
	for _, s := range b.scenarios {
		for _, k := range s.keepers() {
			k.Sweep()
		}
	}
}

// reload is called by one activity at a time, and between them.
func (b *background) reload(random *rand.Rand) {
	for _, s := range b.scenarios {
		if s.reload == nil {
			continue
		}
		if err := s.reload(random); err != nil {
			b.stage.faults.add(s.name, "SetPolicy: %v", err)
		}
	}
}

// read reports Stats that have decreased.
func (b *background) read() {
	for _, s := range b.scenarios {
		for _, l := range s.limiters {
			was, is := b.before[l], l.Stats()
			if is.Allowed < was.Allowed || is.Denied < was.Denied || is.Evicted < was.Evicted || is.Overflowed < was.Overflowed {
				b.stage.faults.add(s.name, "Stats were %+v and then %+v", was, is)
			}
			b.before[l] = is
		}
	}
}

// allocate makes garbage, and holds on to some 64 MB of it for a while.
func allocate(ctx context.Context, random *rand.Rand) {
	held := make([][]byte, 1024)
	repeat(ctx, nil, func() { held[random.IntN(len(held))] = make([]byte, 1+random.IntN(1<<17)) })
}
