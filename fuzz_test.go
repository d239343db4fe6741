package weir_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
)

const (
	year       = 8766 * time.Hour
	oldestTime = int64(-250 * year)
	newestTime = int64(250 * year)
)

// choose draws a number in [0, n). Random tests and the fuzz target draw the same policies and traces
// through it, the one from a generator, the other from its input.
type choose func(n int64) int64

func (c choose) oneIn(n int64) bool { return c(n) == 0 }

func always() bool { return true }

func pick[T any](c choose, from ...T) T { return from[c(int64(len(from)))] }

func randomly(seed uint64) choose { return rand.New(rand.NewPCG(seed, 2)).Int64N }

// fromBytes spends as many bytes as the range needs; after the last one everything is 0.
func fromBytes(data []byte) (c choose, more func() bool) {
	c = func(n int64) int64 {
		var word [8]byte
		need := 1
		if n > 1<<8 {
			need = 8
		}
		data = data[copy(word[:need], data):]
		return int64(binary.LittleEndian.Uint64(word[:]) % uint64(n))
	}
	return c, func() bool { return len(data) > 0 }
}

func chooseLimit(c choose, burst bool) weir.Limit {
	if c.oneIn(20) {
		return pick(c, weir.Limit{}, weir.Unlimited())
	}
	l := pick(c, awkward...)
	if c.oneIn(3) {
		l = weir.Per(1+int(c(20)), time.Duration(1+c(int64(10*time.Second))))
	}
	if burst && !c.oneIn(3) {
		with := l.WithBurst(pick(c, 0, 1, 2, 3, 5, 20, 1000, 1<<30))
		if with.Validate() == nil {
			return with
		}
	}
	return l
}

func chooseLeaf(c choose) weir.Policy {
	var p weir.Policy
	switch c(5) {
	case 0:
		p = weir.TokenBucket(chooseLimit(c, true))
	case 1:
		p = weir.LeakyBucket(chooseLimit(c, true), int(c(3)))
	case 2:
		p = weir.FixedWindow(chooseLimit(c, false))
	case 3:
		p = weir.SlidingWindow(chooseLimit(c, false))
	case 4:
		p = weir.SlidingCounter(chooseLimit(c, false))
	}
	if c.oneIn(4) {
		p = p.Named(pick(c, "a", "b", "per \"client\""))
	}
	return p
}

func choosePolicy(c choose, depth int64) weir.Policy {
	if depth == 0 || c.oneIn(3) {
		return chooseLeaf(c)
	}
	if c.oneIn(8) {
		return weir.BurstReserve(chooseLimit(c, true), chooseLimit(c, true))
	}
	parts := make([]weir.Policy, 1+c(3))
	for i := range parts {
		parts[i] = choosePolicy(c, depth-1)
	}
	if c.oneIn(2) {
		return weir.FirstOf(parts...)
	}
	return weir.All(parts...)
}

// later is t + d within the readings that are tried.
func later(t int64, d time.Duration) int64 {
	sum := plus(bigInt(t), bigInt(int64(d)))
	switch {
	case sum.Cmp(bigInt(newestTime)) > 0:
		return newestTime
	case sum.Cmp(bigInt(oldestTime)) < 0:
		return oldestTime
	}
	return sum.Int64()
}

// chooseStep draws how far the next reading is from this one, often so that it hits an instant at
// which the answer changes, or misses it by one nanosecond.
func chooseStep(c choose, now int64, last weir.Decision, leaves []*plainPolicy) time.Duration {
	around := time.Duration(c(3) - 1)
	leaf := leaves[c(int64(len(leaves)))]
	period := max(leaf.period, 1)
	switch c(16) {
	case 0, 1, 2:
		return 0
	case 3:
		return 1
	case 4, 5, 6:
		return min(last.RetryAfter, 290*year) + around
	case 7, 8:
		return min(last.ResetAfter, 290*year) + around
	case 9:
		if leaf.interval == nil {
			return 1
		}
		k := new(big.Rat).SetInt64(1 + c(4))
		return time.Duration(ceilRat(k.Mul(k, leaf.interval)).Int64()) + around
	case 10, 11:
		inWindow := new(big.Int).Mod(bigInt(now), bigInt(int64(period))).Int64()
		return time.Duration(int64(period)-inWindow) + around
	case 12:
		return time.Duration(c(int64(period) * 2))
	case 13:
		return time.Duration(c(int64(time.Second)))
	case 14:
		return time.Duration(c(int64(period)/16 + 1))
	default:
		return time.Duration(1+c(40)) * year
	}
}

func chooseReading(c choose, now int64, last weir.Decision, leaves []*plainPolicy, backwards bool) int64 {
	step := chooseStep(c, now, last, leaves)
	if backwards && c.oneIn(12) {
		if c.oneIn(6) {
			return pick(c, oldestTime, newestTime, 0, -1, 1)
		}
		return later(now, -max(step, 1))
	}
	return later(now, max(step, 0))
}

func chooseN(c choose, last weir.Decision, leaves []*plainPolicy) int {
	capacity := leaves[c(int64(len(leaves)))].capacity
	switch c(16) {
	case 0, 1, 2, 3:
		return 1
	case 4, 5:
		return 2
	case 6:
		return 3
	case 7, 8:
		return last.Remaining
	case 9:
		return last.Remaining + 1 // wraps to the least int after the greatest
	case 10:
		return capacity
	case 11:
		return pick(c, capacity-1, capacity+1)
	case 12:
		return pick(c, 0, -1, -5, math.MinInt, math.MaxInt, math.MaxInt/2+1)
	default:
		return 1 + int(c(max(1, min(int64(capacity), 1<<40))))
	}
}

// admission is one that was granted, at the instant that its reading counted as.
type admission struct {
	at *big.Int
	n  int
}

// walk draws a trace and holds every decision of a limiter, of a twin that is never asked what is
// denied, and of a client among many, against the oracle.
type walk struct {
	t        testing.TB
	policy   weir.Policy
	clock    setClock
	limiter  *weir.Limiter
	twin     *weir.Limiter
	clients  *weir.PerClient[string]
	oracle   *plainKey
	admitted []admission
	allowed  uint64
	denied   uint64
	history  []string
}

func newWalk(t testing.TB, p weir.Policy) *walk {
	w := &walk{t: t, policy: p, oracle: newPlainKey(p)}
	w.limiter = weir.New(p, weir.WithClock(&w.clock))
	w.twin = weir.New(p, weir.WithClock(&w.clock))
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
	leaves := w.oracle.policy.leaves()
	now := pick(c, 0, -1, 1_700_000_000_000_000_000, oldestTime, newestTime-int64(40*year))
	var last weir.Decision
	for i := 0; i < steps && more(); i++ {
		now = chooseReading(c, now, last, leaves, backwards)
		n := chooseN(c, last, leaves)
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
	w.twin.Reset()
	w.clients.Reset("client")
	w.oracle, w.admitted = newPlainKey(w.policy), nil
}

// step asks for n at a reading: first Peek, then, if charge is set, Take.
func (w *walk) step(now int64, n int, charge bool) weir.Decision {
	w.t.Helper()
	w.clock.now = now
	want, after := w.oracle.take(now, n)
	w.history = append(w.history, fmt.Sprintf("at %d (charge %v) %d: %+v", now, charge, n, want))
	if got := w.limiter.Peek(n); got != want {
		w.fatalf("Peek(%d) = %+v", n, got)
	}
	if got := w.clients.Peek("client", n); got != want {
		w.fatalf("PerClient.Peek(%d) = %+v", n, got)
	}
	if charge {
		if got := w.limiter.Take(n); got != want {
			w.fatalf("Take(%d) = %+v", n, got)
		}
		if got := w.clients.Take("client", n); got != want {
			w.fatalf("PerClient.Take(%d) = %+v", n, got)
		}
		if want.Allowed {
			if got := w.twin.Take(n); got != want {
				w.fatalf("Take(%d) = %+v of one that was never asked in vain", n, got)
			}
		}
		w.count(now, n, want.Allowed)
		w.oracle = after
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

func (w *walk) count(now int64, n int, allowed bool) {
	switch {
	case n <= 0:
	case allowed:
		w.allowed++
		w.admitted = append(w.admitted, admission{w.oracle.instant(now), n})
	default:
		w.denied++
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
	limiter, client, twin := w.limiter.Stats(), w.clients.Stats(), w.twin.Stats()
	if limiter.Allowed != w.allowed || limiter.Denied != w.denied || limiter.Shadowed != 0 {
		w.fatalf("%+v counted of %d allowed and %d denied", limiter, w.allowed, w.denied)
	}
	if client.Allowed != w.allowed || client.Denied != w.denied {
		w.fatalf("%+v counted by PerClient of %d allowed and %d denied", client, w.allowed, w.denied)
	}
	if twin.Allowed != w.allowed || twin.Denied != 0 {
		w.fatalf("%+v counted by the twin of %d allowed", twin, w.allowed)
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
			d := between(first.at, last.at)
			if d == weir.Never-1 {
				break // further apart than a Duration holds
			}
			if most := w.policy.MaxWithin(d + 1); sum > most {
				w.fatalf("%d admitted from %v to %v, more than %d", sum, first.at, last.at, most)
			}
		}
	}
}

// FuzzPolicy decodes a policy and a trace, and holds every decision against the oracle.
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
		newWalk(t, choosePolicy(c, 2)).run(c, 300, more, !c.oneIn(3))
	})
}
