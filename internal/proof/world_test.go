package proof

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"pgregory.net/rapid"
)

// clock reads what the program sets.
type clock struct{ now int64 }

func (c *clock) Now() time.Duration { return time.Duration(c.now) }

func (c *clock) SleepUntil(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// A world is what a program runs on.
type world struct {
	*rapid.T
	program  []string
	clock    weir.Clock
	now      func() int64
	move     func(to int64)
	back     bool // it may step back
	limiters []pair[limiter]
	keys     []pair[verbs]
	receipts []pair[receipt]
	policies []weir.Policy // that have been seen
	last     weir.Decision
	crowded  bool // there are more clients than are held, and no policy admits all or nothing
	swept    bool
}

func newWorld(t *rapid.T) *world {
	c := new(clock)
	w := &world{T: t, clock: c, now: func() int64 { return c.now }, back: true}
	w.move = func(to int64) { c.now = to }
	start := oneOf(t, 0, 1_700_000_000_000_000_000, -int64(250*year), int64(100*year))
	w.advance(start, "start")
	return w
}

func (w *world) advance(to int64, how string) {
	w.say("clock.now = %d // %s", to, how)
	w.move(to)
}

// say adds a line to the program.
func (w *world) say(format string, args ...any) {
	w.program = append(w.program, fmt.Sprintf(format, args...))
}

// wrong ends the program.
func (w *world) wrong(format string, args ...any) {
	w.Helper()
	w.Fatalf("%s\n// %s", strings.Join(w.program, "\n"), fmt.Sprintf(format, args...))
}

// same holds an answer of weir's against that of the model.
func (w *world) same(what string, real, model any) {
	w.Helper()
	if real != model {
		w.wrong("%s\n// weir:  %+v\n// model: %+v", what, real, model)
	}
}

// run is a random program.
func (w *world) run(more map[string]func(*rapid.T)) {
	actions := map[string]func(*rapid.T){
		"":        func(*rapid.T) { w.check() },
		"Take":    w.take,
		"Allow":   w.allow,
		"Peek":    w.peek,
		"Reserve": w.reserve,
		"Cancel":  w.cancel,
		"Settle":  w.settle,
		"Time":    w.time,
		"Others":  w.others,
		"Look":    w.look,
	}
	for name, action := range more {
		actions[name] = action
	}
	w.Repeat(actions)
}

func (w *world) key(t *rapid.T) pair[verbs] { return oneOf(t, w.keys...) }

func (w *world) take(t *rapid.T) {
	k, n := w.key(t), drawN(t, w.last)
	w.say("%s%d)", k.call("Take"), n)
	w.decided(k.real.Take(n), k.model.Take(n))
}

// decided is what weir decided, and what it should have. (Of what is done to both,
// weir comes first: the model may have to ask what it has chosen.)
func (w *world) decided(got, want weir.Decision) {
	w.program[len(w.program)-1] += fmt.Sprintf(" // %+v", want)
	w.same("the decision", got, want)
	w.last = want
}

// call is a call as text up to its arguments.
func (p pair[T]) call(verb string) string {
	return strings.Replace(p.name, ".(", "."+verb+"(", 1)
}

func (w *world) takeAs(t *rapid.T) {
	k, n, p := w.key(t), drawN(t, w.last), w.policy(t, 1)
	w.say("%s%d, %s)", k.call("TakeAs"), n, source(p))
	w.decided(k.real.TakeAs(n, p), k.model.TakeAs(n, p))
}

// policy draws one, often one that has been in force.
func (w *world) policy(t *rapid.T, depth int) weir.Policy {
	switch draw(t, rapid.IntRange(0, 3)) {
	case 0:
		return oneOf(t, w.policies...)
	case 1:
		return oneOf(t, w.policies...).Named(oneOf(t, "a", "c"))
	}
	return w.newPolicy(t, depth)
}

// newPolicy draws one and keeps it in mind.
func (w *world) newPolicy(t *rapid.T, depth int) weir.Policy {
	p := drawPolicy(t, depth)
	if w.crowded { // who is held is found out by asking for what is never admitted
		switch weir.New(p).Tokens() {
		case 0:
			p = weir.FirstOf(p, weir.TokenBucket(weir.PerSecond(2)))
		case math.MaxInt:
			p = weir.All(p, weir.TokenBucket(weir.PerSecond(100)))
		}
	}
	w.policies = append(w.policies, p)
	return p
}

func (w *world) allow(t *rapid.T) {
	k, n := w.key(t), drawN(t, w.last)
	w.say("%s%d)", k.call("AllowN"), n)
	w.same("the answer", k.real.AllowN(n), k.model.AllowN(n))
	if w.back && k.model.Peek(n).RetryAfter == weir.Never { // denied without a look at the key
		w.look(t)
	}
}

func (w *world) peek(t *rapid.T) {
	k, n := w.key(t), drawN(t, w.last)
	w.say("%s%d)", k.call("Peek"), n)
	w.decided(k.real.Peek(n), k.model.Peek(n))
}

func (w *world) reserve(t *rapid.T) {
	k, n, within := w.key(t), drawN(t, w.last), weir.Never
	if oneIn(t, 4) {
		within = oneOf(t, w.last.RetryAfter, w.last.RetryAfter-1, w.last.ResetAfter/2, -1)
	}
	name := fmt.Sprintf("r%d", len(w.receipts))
	w.say("%s := %s%d, %d)", name, k.call("ReserveWithin"), n, within)
	w.receipts = append(w.receipts, pair[receipt]{name, k.real.Reserve(n, within), k.model.Reserve(n, within)})
}

func (w *world) cancel(t *rapid.T) {
	if len(w.receipts) == 0 {
		return // nothing is reserved
	}
	r := oneOf(t, w.receipts...)
	w.say("%s.Cancel()", r.name)
	r.real.Cancel()
	r.model.Cancel()
}

func (w *world) settle(t *rapid.T) {
	if len(w.receipts) == 0 {
		return // nothing is reserved
	}
	r, actual := oneOf(t, w.receipts...), draw(t, rapid.IntRange(-1, 7))
	if w.back && w.swept && r.model.(*model.Reservation).Taken() {
		return // a sweep makes worthless what time has given back, and the clock may have stepped back since
	}
	w.say("%s.Settle(%d)", r.name, actual)
	r.real.Settle(actual)
	r.model.Settle(actual)
}

// time moves the clock, now and then backwards.
func (w *world) time(t *rapid.T) {
	spans := []time.Duration{w.last.RetryAfter, w.last.ResetAfter, 1}
	if len(w.receipts) > 0 {
		spans = append(spans, w.delay(oneOf(t, w.receipts...)))
	}
	step := max(1, drawStep(t, w.now(), oneOf(t, w.policies...), spans...))
	if w.back && oneIn(t, 6) {
		step = -step
	}
	to := w.now() + int64(step)
	if (to > w.now()) == (step > 0) && to < int64(260*year) { // it is a reading
		w.advance(to, step.String())
	}
}

// others are the verbs that a program has seldom.
func (w *world) others(t *rapid.T) {
	k, n, l := w.key(t), drawN(t, w.last), oneOf(t, w.limiters...)
	switch verb := oneOf(t, "Charge", "Refund", "SetPolicy", "Sweep", "Reset", "TakeAs", "TakeAs"); verb {
	case "Charge":
		w.say("%s%d)", k.call(verb), n)
		k.real.Charge(n)
		k.model.Charge(n)
	case "Refund":
		w.say("%s%d)", k.call(verb), n)
		k.real.Refund(n)
		k.model.Refund(n)
	case "Reset":
		w.say("%s)", strings.TrimSuffix(k.call(verb), ", "))
		k.real.Reset()
		k.model.Reset()
	case "SetPolicy":
		p := w.policy(t, 2)
		w.say("%s.SetPolicy(%s)", l.name, source(p))
		l.real.SetPolicy(p)
		l.model.SetPolicy(p)
	case "Sweep":
		if m, ok := l.model.(modelClients); ok && m.Lingers() {
			return // what a sweep leaves is not said
		}
		w.say("%s.Sweep()", l.name)
		w.swept = true
		w.same("swept", l.real.Sweep(), l.model.Sweep())
	case "TakeAs":
		if _, one := k.real.(realLimiter); one {
			return // a Limiter has one policy
		}
		w.takeAs(t)
	}
}

// look asks all receipts, which has their keys notice what is no longer to come:
// after a step back it is not to come again.
func (w *world) look(*rapid.T) {
	for _, r := range w.receipts {
		w.delay(r)
		w.same(r.name+".Err()", r.real.Err(), r.model.Err())
	}
}

func (w *world) delay(r pair[receipt]) time.Duration {
	want := r.model.Delay()
	if w.back { // otherwise it makes no difference
		w.say("%s.Delay() // %v", r.name, want)
	}
	w.same(r.name+".Delay()", r.real.Delay(), want)
	return want
}

// check holds what can be seen of weir against the model.
func (w *world) check() {
	w.Helper()
	if !w.back {
		w.look(w.T)
	}
	n := len(w.program) % 2 // what is left, or what one more is told
	for _, k := range w.keys {
		w.same(fmt.Sprintf("%s%d)", k.call("Peek"), n), k.real.Peek(n), k.model.Peek(n))
	}
	for _, l := range w.limiters {
		w.same(l.name+".Stats()", l.real.Stats(), l.model.Stats())
		w.same(l.name+".Policy()", l.real.Policy().Equal(l.model.Policy()), true)
	}
}
