package proof

import (
	"context"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/anishathalye/porcupine"
	"github.com/goweir/weir"
)

// A made is a call that was made, and which of the script's instants the clock
// may have shown meanwhile: from one to another.
type made struct {
	*call
	from, to int
}

// A batch is some runs of a script, one after the other, by goroutines that go from
// one to the next: new ones would seldom be at work at the same moment.
type batch struct {
	*script
	clock  weir.Clock
	move   func(to time.Duration)
	bubble bool // time passes only while all the others are blocked

	goroutines int32
	arrived    atomic.Int32 // of all goroutines, at all meetings
	runs       []run
}

// A run is one time that the calls of a script are made.
type run struct {
	start     time.Duration
	real      *subject
	gates     []chan struct{}         // of each round
	histories [][]porcupine.Operation // of each goroutine

	announced, shown atomic.Int32 // numbers of instants: the clock shows this one, or both
	events           atomic.Int64
}

// make makes so many runs, and returns their histories.
func (b *batch) make(runs int) (histories [][]porcupine.Operation) {
	for _, round := range b.rounds {
		b.goroutines = max(b.goroutines, int32(len(round.together)))
	}
	b.runs = make([]run, runs)
	for i := range b.runs {
		r := &b.runs[i]
		r.start, r.histories = b.start, make([][]porcupine.Operation, b.goroutines)
		if b.bubble {
			r.start += time.Duration(i) * time.Hour // of all periods a multiple: nothing else is different
		}
		for range b.rounds {
			r.gates = append(r.gates, make(chan struct{}))
		}
	}
	var done sync.WaitGroup
	for g := range int(b.goroutines) {
		done.Go(func() {
			for i := range b.runs {
				b.run(&b.runs[i], g)
			}
		})
	}
	done.Wait()
	for i := range b.runs {
		histories = append(histories, slices.Concat(b.runs[i].histories...))
	}
	return histories
}

// run makes the calls of one goroutine in one run.
func (b *batch) run(r *run, g int) {
	for i, round := range b.rounds {
		b.meet()
		if g == 0 {
			b.calls(r, g, round.alone)
			close(r.gates[i])
		} else if b.bubble {
			<-r.gates[i]
		}
		b.meet()
		if g < len(round.together) {
			for spins := rand.IntN(300); spins > 0; spins-- { // one sees sooner than another that all are there
				b.arrived.Load()
			}
			b.calls(r, g, round.together[g])
		}
	}
}

// meet returns when all goroutines are there, as soon as may be.
func (b *batch) meet() {
	n := b.goroutines
	all := (b.arrived.Add(1) + n - 1) / n * n
	for spins := 1; b.arrived.Load() < all; spins++ {
		if spins%1000 == 0 {
			runtime.Gosched() // there may be fewer processors than goroutines
		}
	}
}

func (b *batch) calls(r *run, g int, calls []*call) {
	for _, c := range calls {
		if c.yields && rand.IntN(2) == 0 {
			runtime.Gosched()
		}
		if c.verb == "Move" {
			r.announced.Store(int32(c.n))
			b.move(r.start + b.instants[c.n])
			r.shown.Store(int32(c.n))
			if c.n == 0 {
				r.real = b.real(b.clock)
			}
			continue
		}
		op := porcupine.Operation{ClientId: g, Call: r.events.Add(1)}
		from := r.shown.Load()
		op.Output = c.make(r.real)
		op.Input, op.Return = made{c, int(from), int(r.announced.Load())}, r.events.Add(1)
		if c.first != nil {
			first := op
			first.Input = made{c.first, int(from), op.Input.(made).to}
			r.histories[g] = append(r.histories[g], first)
		}
		if op.Output != tooSoon {
			r.histories[g] = append(r.histories[g], op)
		}
	}
}

// A handClock shows what it is set to. Now and then whoever reads it lets others
// go first, in the middle of a call: the reading is then a late one.
type handClock struct{ now atomic.Int64 }

func (c *handClock) set(to time.Duration) { c.now.Store(int64(to)) }

func (c *handClock) Now() time.Duration {
	now := c.now.Load()
	if rand.IntN(4) == 0 {
		runtime.Gosched()
	}
	return time.Duration(now)
}

func (c *handClock) SleepUntil(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// newSteeredClock returns a CoarseClock and what sets its reading. Nothing else is
// trusted never to step back and can be moved while a call is under way.
func newSteeredClock() (*weir.CoarseClock, func(to time.Duration)) {
	c := weir.NewCoarseClock(100 * year) // it does not tick
	field := reflect.ValueOf(c).Elem().FieldByName("reading")
	if field.Type() != reflect.TypeFor[atomic.Int64]() {
		panic("what a CoarseClock shows is not where it was")
	}
	reading := (*atomic.Int64)(unsafe.Pointer(field.UnsafeAddr()))
	return c, func(to time.Duration) { reading.Store(int64(to)) }
}
