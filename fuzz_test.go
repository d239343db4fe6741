package weir_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// admission is one that was granted, at the instant that its reading counted as.
type admission struct {
	at int64
	n  int
}

// walk draws a trace of decisions and holds each of a limiter, and of a client among many, against the
// model.
type walk struct {
	t        testing.TB
	policy   weir.Policy
	clock    setClock
	limiter  *weir.Limiter
	clients  *weir.PerClient[string]
	model    *model.Limiter
	newest   int64 // reading at which it was charged
	admitted []admission
	history  []string
}

func newWalk(t testing.TB, p weir.Policy) *walk {
	w := &walk{t: t, policy: p, newest: math.MinInt64}
	w.model = model.NewLimiter(p, model.Options{Now: w.clock.Now})
	w.limiter = weir.New(p, weir.WithClock(&w.clock))
	w.clients = weir.NewPerClient[string](p, weir.WithClock(&w.clock), weir.WithSweepEvery(0))
	return w
}

func (w *walk) fatalf(format string, args ...any) {
	w.t.Helper()
	recent := w.history[max(0, len(w.history)-40):]
	w.t.Fatalf("%v, of %d steps the last:\n%s\n%s", w.policy, len(w.history), strings.Join(recent, "\n"), fmt.Sprintf(format, args...))
}

func (w *walk) run(c choose, steps int, more func() bool, backwards bool) {
	w.t.Helper()
	limits := leafLimits(w.policy)
	now := pick(c, 0, -1, 1_700_000_000_000_000_000, oldestTime, newestTime-int64(40*year))
	var last weir.Decision
	for i := 0; i < steps && more(); i++ {
		now = chooseReading(c, now, last, limits, backwards)
		n := chooseN(c, last, limits)
		if c.oneIn(200) {
			w.reset()
		}
		last = w.step(now, n, !c.oneIn(4))
	}
	w.checkCounters()
	w.checkMaxWithin()
}

func (w *walk) reset() {
	w.history = append(w.history, "Reset()")
	w.limiter.Reset()
	w.clients.Reset("client")
	w.model.Reset()
	w.newest, w.admitted = math.MinInt64, nil
}

// step asks for n at a reading: first Peek, then, if charge is set, Take.
func (w *walk) step(now int64, n int, charge bool) weir.Decision {
	w.t.Helper()
	w.clock.now = now
	ask := w.model.Peek
	if charge {
		ask = w.model.Take
	}
	want := ask(n)
	w.history = append(w.history, fmt.Sprintf("at %d (charge %v) %d: %+v", now, charge, n, want))
	w.same("Peek", w.limiter.Peek(n), want)
	w.same("PerClient.Peek", w.clients.Peek("client", n), want)
	if charge {
		w.same("Take", w.limiter.Take(n), want)
		w.same("PerClient.Take", w.clients.Take("client", n), want)
		if want.Allowed && n > 0 {
			w.newest = max(w.newest, now)
			w.admitted = append(w.admitted, admission{w.newest, n})
		}
	}
	w.checkRemaining()
	if !want.Allowed && n > 0 {
		w.checkRetry(now, n, want.RetryAfter)
	}
	if charge && w.policy.Parts() == nil {
		w.checkReset(now, want)
	}
	return want
}

func (w *walk) same(verb string, got, want weir.Decision) {
	w.t.Helper()
	if got != want {
		w.fatalf("%s says %+v", verb, got)
	}
}

// checkRemaining asks for all that is said to remain, and for one more.
func (w *walk) checkRemaining() {
	w.t.Helper()
	remaining := w.limiter.Tokens()
	if !w.limiter.Peek(remaining).Allowed {
		w.fatalf("%d remain and are denied", remaining)
	}
	if remaining < math.MaxInt && w.limiter.Peek(remaining+1).Allowed {
		w.fatalf("%d remain and one more is allowed", remaining)
	}
}

// checkRetry asks again when the denial said, and a nanosecond before.
func (w *walk) checkRetry(now int64, n int, retry time.Duration) {
	w.t.Helper()
	if retry <= 0 {
		w.fatalf("denied with RetryAfter %d", retry)
	}
	if !readable(now, retry) {
		return
	}
	w.clock.now = now + int64(retry) - 1
	if w.limiter.Peek(n).Allowed {
		w.fatalf("%d allowed before RetryAfter", n)
	}
	w.clock.now++
	if !w.limiter.Peek(n).Allowed {
		w.fatalf("%d denied at RetryAfter", n)
	}
	w.clock.now = now
}

// readable says whether a clock can read now + d, and d is the whole time.
func readable(now int64, d time.Duration) bool {
	return d < weir.Never-1 && int64(d) <= math.MaxInt64-max(now, 0)
}

// checkReset looks whether a policy of one part is full when the decision said, and not before.
func (w *walk) checkReset(now int64, d weir.Decision) {
	w.t.Helper()
	if !readable(now, d.ResetAfter) {
		return
	}
	w.clock.now = now + int64(d.ResetAfter)
	if got := w.limiter.Tokens(); got != d.Limit {
		w.fatalf("%d of %d at ResetAfter", got, d.Limit)
	}
	w.clock.now--
	if got := w.limiter.Tokens(); d.ResetAfter > 0 && got == d.Limit {
		w.fatalf("full before ResetAfter")
	}
	w.clock.now = now
}

func (w *walk) checkCounters() {
	w.t.Helper()
	limiter, client, want := w.limiter.Stats(), w.clients.Stats(), w.model.Stats()
	if client.Clients = 0; limiter != want || client != want {
		w.fatalf("%+v and %+v counted, not %+v", limiter, client, want)
	}
}

// checkMaxWithin sums up what was admitted in every span from one admission to another.
func (w *walk) checkMaxWithin() {
	w.t.Helper()
	for i, first := range w.admitted {
		sum := 0
		for _, last := range w.admitted[i:] {
			sum += last.n
			if sum < 0 {
				break // more than an int holds: of an unlimited part
			}
			d := time.Duration(last.at - first.at)
			if d < 0 || d == weir.Never {
				break // further apart than a Duration holds
			}
			if most := w.policy.MaxWithin(d + 1); sum > most {
				w.fatalf("%d admitted from %v to %v, more than %d", sum, first.at, last.at, most)
			}
		}
	}
}

// FuzzPolicy decodes a policy and a trace, and holds every decision against the model.
func FuzzPolicy(f *testing.F) {
	for seed := range uint64(40) {
		data := make([]byte, 400)
		generator := rand.New(rand.NewPCG(seed, 1))
		for i := range data {
			data[i] = byte(generator.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, more := fromBytes(data)
		newWalk(t, choosePolicy(c, 2)).run(c, 100, more, !c.oneIn(3))
	})
}
