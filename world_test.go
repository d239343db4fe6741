package weir_test

import (
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// A world is limiters of weir's and, beside each, one of the model's, under one clock. A program does the
// same to both, and they have to answer the same.
type world struct {
	testing.TB
	choose
	clock     weir.Clock
	move      func(to int64)
	back      bool  // the clock may step back
	from      int64 // the first reading
	until     int64 // the last one
	uncounted bool  // what is counted is not compared
	build     func(*world)
	real      side
	model     side

	program  []op
	policies []weir.Policy // that were in force
	last     weir.Decision
	swept    bool
}

// newWorld makes a world with a clock that is set. build fills it, and may be called again for another one
// that is the same.
func newWorld(t testing.TB, c choose, build func(*world)) *world {
	clock := &setClock{}
	w := &world{TB: t, choose: c, clock: clock, build: build, from: -era, until: era}
	w.move = func(to int64) { clock.now = to }
	build(w)
	return w
}

// era is how far the readings of a world go from 0: a delay from any one to any other is a Duration.
const era = int64(120 * year)

// inBubble runs a test of a world with the system's clock. A word alone is read rightly for 36 years: a sweep
// is to come before.
func inBubble(t *testing.T, c choose, build func(*world), test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{TB: t, choose: c, clock: weir.SystemClock()}
		w.from, w.until = w.now(), w.now()+int64(36*year)
		w.move = func(to int64) { time.Sleep(time.Duration(to - w.now())) }
		build(w)
		test(w)
	})
}

func (w *world) now() int64 { return int64(w.clock.Now()) }

func (w *world) options(o model.Options) ([]weir.Option, model.Options) {
	o.Now = w.clock.Now
	opts := []weir.Option{weir.WithClock(w.clock), weir.WithSweepEvery(0), weir.WithStaleAfter(o.StaleAfter)}
	if o.Shadow {
		opts = append(opts, weir.WithShadow())
	}
	if o.MaxClients > 0 {
		opts = append(opts, weir.WithMaxClients(o.MaxClients, o.Overflow))
	}
	return opts, o
}

func (w *world) addLimiter(p weir.Policy, o model.Options) (*weir.Limiter, *model.Limiter) {
	opts, o := w.options(o)
	real, model := weir.New(p, opts...), model.NewLimiter(p, o)
	w.real.keys = append(w.real.keys, realLimiter{real})
	w.model.keys = append(w.model.keys, modelLimiter{model})
	w.policies = append(w.policies, p)
	return real, model
}

func (w *world) addClients(p weir.Policy, o model.Options, keys int) (*weir.PerClient[int], *model.PerClient[int]) {
	opts, o := w.options(o)
	real, model := &realClients{PerClient: weir.NewPerClient[int](p, opts...)}, model.NewPerClient[int](p, o)
	model.Choose = real.forgotten
	for key := range keys {
		w.real.keys = append(w.real.keys, client{real, key})
		w.model.keys = append(w.model.keys, client{modelClients{model}, key})
	}
	w.policies = append(w.policies, p)
	return real.PerClient, model
}

// fatalf ends the program.
func (w *world) fatalf(format string, args ...any) {
	w.Helper()
	var steps []string
	for i, k := range w.real.keys {
		steps = append(steps, fmt.Sprintf("key %d: %T, now %v", i, k, k.Policy()))
	}
	for _, o := range w.program {
		steps = append(steps, o.String())
	}
	w.Fatalf("%s\n%s", strings.Join(steps, "\n"), fmt.Sprintf(format, args...))
}

func (w *world) same(what string, got, want any) {
	w.Helper()
	if got != want {
		w.fatalf("%s\nis    %+v\nmodel %+v", what, got, want)
	}
}

// step takes a step on both sides, which have to answer the same, and returns that.
func (w *world) step(o op) any {
	w.Helper()
	defer func() {
		if reason := recover(); reason != nil {
			w.fatalf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	w.program = append(w.program, o)
	if o.verb == "Advance" {
		w.move(w.now() + int64(o.d))
		return nil
	}
	got := w.real.do(o) // first: the model may have to ask what weir has chosen
	want := w.model.do(o)
	w.same(o.verb, got, want)
	switch o.verb {
	case "SetPolicy", "TakeAs":
		w.policies = append(w.policies, o.policy)
	case "Sweep":
		w.swept = true
	}
	if d, ok := want.(weir.Decision); ok {
		w.last = d
	}
	return want
}

// check holds what can be seen of one side against the other, of a key, and asks for all that is said to
// remain to weir's, and for one more.
func (w *world) check(key int) {
	w.Helper()
	k, m, n := w.real.keys[key], w.model.keys[key], len(w.program)%2
	w.same(fmt.Sprint("afterwards key ", key), k.Peek(n), m.Peek(n))
	w.same("its policy", k.Policy().Equal(m.Policy()), true)
	if !w.uncounted {
		w.same("its stats", k.Stats(), m.Stats())
	}
	w.checkRemaining(k)
	if !w.back && w.oneIn(2) { // otherwise it makes a difference: what has been seen to come is not undone
		for i := range w.real.receipts {
			o := op{verb: "Look", receipt: i}
			w.same(o.String(), w.real.do(o), w.model.do(o))
		}
	}
}

// checkRemaining asks for all that is said to remain, and for one more.
func (w *world) checkRemaining(k verbs) {
	w.Helper()
	remaining := k.Peek(0).Remaining
	if d := k.Peek(remaining); !d.Allowed || d.Shadowed {
		w.fatalf("%d remain: %+v", remaining, d)
	}
	if d := k.Peek(remaining + 1); remaining < math.MaxInt && d.Allowed && !d.Shadowed {
		w.fatalf("%d remain, and one more is allowed", remaining)
	}
}

// run takes so many steps of some verbs, and looks each time whether all is well.
func (w *world) run(steps int, verbs ...string) {
	w.Helper()
	for range steps {
		o := w.next(verbs...)
		w.step(o)
		if w.oneIn(2) {
			o.key = w.draw(len(w.real.keys))
		}
		w.check(o.key)
	}
}
