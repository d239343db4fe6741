package weir_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// mixEntry is an admission, and between which instants it was: after a step back it is open whether a
// reservation that came meanwhile was noticed before it.
type mixEntry struct {
	low, high int64
	n         int
	receipt   int // -1 for none
	settled   bool
}

// mixAccount is what a key was admitted since its policy last changed.
type mixAccount struct {
	policy  weir.Policy
	unsure  bool // whether that is its policy
	entries []mixEntry
	charged int64 // the newest reading that surely was
}

// mixRun is a program in the making.
type mixRun struct {
	t        testing.TB
	seed     uint64
	c        choose
	first    weir.Policy
	policy   weir.Policy // of the plain verbs
	keys     int
	leaves   []*plainPolicy
	world    *mixWorld
	ops      []mixOp
	accounts []*mixAccount
	highest  int64 // reading
	stale    int   // so many receipts are from before a refund, which may have been of theirs
	last     weir.Decision
}

func newMixRun(t *testing.T, seed uint64, keys int) *mixRun {
	c := randomly(seed)
	p := choosePolicy(c, 2)
	r := &mixRun{t: t, seed: seed, c: c, first: p, policy: p, keys: keys, world: newMixWorld(p, keys), leaves: newPlainPolicy(p).leaves()}
	for range max(1, keys) {
		r.accounts = append(r.accounts, &mixAccount{policy: p, charged: math.MinInt64})
	}
	return r
}

func (r *mixRun) fatalf(format string, args ...any) {
	r.t.Helper()
	var steps []string
	for _, o := range r.ops {
		steps = append(steps, o.String())
	}
	r.t.Fatalf("seed %d, %d keys, %v:\n%s\n%s", r.seed, r.keys, r.first, strings.Join(steps, "\n"), fmt.Sprintf(format, args...))
}

func (r *mixRun) now() int64 { return int64(r.world.clock.Now()) }

// mixEra is how far readings go from 0: a delay from any one to any other is a Duration.
const mixEra = int64(120 * year)

// next draws a step.
func (r *mixRun) next(changes bool) mixOp {
	c, receipts := r.c, int64(len(r.world.receipts))
	o := mixOp{verb: "Take", key: int(c(int64(len(r.accounts)))), n: chooseN(c, r.last, r.leaves)}
	switch k := c(32); {
	case k < 8:
		reading := chooseReading(c, r.now(), r.last, r.leaves, true)
		o.verb, o.d = "Advance", time.Duration(min(max(reading, -mixEra), mixEra)-r.now())
	case k < 10:
		o.verb = "AllowN"
	case k < 11:
		o.verb = "Peek"
	case k < 16:
		o.verb = "Reserve"
	case k < 17:
		o.verb, o.d = "ReserveWithin", time.Duration(c(int64(r.last.RetryAfter/2)+2))
	case k < 19 && receipts > 0:
		o.verb, o.receipt = "Cancel", int(c(receipts))
	case k < 21 && receipts > 0:
		o.verb, o.receipt, o.n = "Settle", int(c(receipts)), int(c(4))
		if o.receipt < r.stale {
			o.verb = "Cancel"
		}
	case k < 22:
		o.verb = "Charge"
	case k < 23:
		o.verb = "Sweep"
	case k < 24 && changes:
		o.verb = "Refund"
	case k < 25 && changes:
		o.verb, o.policy = "SetPolicy", choosePolicy(c, 2)
	case k < 27 && changes && r.keys > 0:
		o.verb, o.policy = "TakeAs", pick(c, r.first, choosePolicy(c, 2), r.accounts[o.key].policy)
	}
	return o
}

// step takes a step and looks whether all is well.
func (r *mixRun) step(o mixOp) {
	r.t.Helper()
	r.ops = append(r.ops, o)
	var peeked weir.Decision
	if o.verb == "Take" {
		peeked = r.world.keys[o.key].Peek(o.n)
	}
	d := r.do(o)
	if o.verb == "Take" && d != peeked {
		r.fatalf("Peek: %+v\nTake: %+v", peeked, d)
	}
	r.highest = max(r.highest, r.now())
	r.count(o, d)
	under := r.policy
	switch a := r.accounts[o.key]; o.verb {
	case "TakeAs":
		under = o.policy
		fallthrough
	case "Take", "Peek":
		r.last = d
		if !d.Allowed && o.n > 0 && !a.unsure && a.policy.Equal(under) && r.c.oneIn(2) {
			r.checkRetry(o, d)
		}
	}
	r.checkRemaining(o, d)
}

func (r *mixRun) do(o mixOp) weir.Decision {
	r.t.Helper()
	defer func() {
		if reason := recover(); reason != nil {
			r.fatalf("panic: %v", reason)
		}
	}()
	return r.world.do(o)
}

// checkRetry runs the program again and asks again a nanosecond before the denial said, and then.
func (r *mixRun) checkRetry(o mixOp, d weir.Decision) {
	r.t.Helper()
	if d.RetryAfter <= 0 {
		r.fatalf("denied: %+v", d)
	}
	if !readable(r.now(), d.RetryAfter) {
		return
	}
	again := newMixWorld(r.first, r.keys)
	for _, o := range r.ops {
		again.do(o)
	}
	again.clock.Advance(d.RetryAfter - 1)
	if got := again.do(o); got.Allowed {
		r.fatalf("%+v, but a nanosecond before that: %+v", d, got)
	}
	again.clock.Advance(1)
	if got := again.do(o); !got.Allowed {
		r.fatalf("%+v, but then: %+v", d, got)
	}
}

// checkRemaining asks for all that is said to remain, and for one more.
func (r *mixRun) checkRemaining(o mixOp, d weir.Decision) {
	r.t.Helper()
	k := r.world.keys[o.key]
	remaining := k.Tokens()
	if got := k.Peek(remaining); remaining < 0 || !got.Allowed {
		r.fatalf("%d remain: %+v", remaining, got)
	}
	if remaining < math.MaxInt && k.Peek(remaining+1).Allowed {
		r.fatalf("%d remain, and one more is allowed", remaining)
	}
	if o.verb == "TakeAs" {
		remaining = k.TakeAs(0, o.policy).Remaining
	}
	if (o.verb == "Take" || o.verb == "TakeAs" && d.Allowed) && d.Remaining != remaining {
		r.fatalf("%d remain after %+v", remaining, d)
	}
}

// count keeps the accounts.
func (r *mixRun) count(o mixOp, d weir.Decision) {
	r.t.Helper()
	now, key := r.now(), r.accounts[o.key]
	switch o.verb {
	case "Take", "AllowN":
		if d.Allowed && o.n > 0 {
			r.admit(key, r.policy, mixEntry{max(now, key.charged), r.highest, o.n, -1, false})
		}
	case "TakeAs":
		if d.Allowed && o.n > 0 {
			r.admit(key, o.policy, mixEntry{max(now, key.charged), r.highest, o.n, -1, false})
		}
	case "Reserve", "ReserveWithin":
		i := len(r.world.receipts) - 1
		made := r.world.receipts[i]
		if e := (mixEntry{max(now, key.charged), r.highest, o.n, i, false}); made.OK() && o.n > 0 {
			if made.Delay() > 0 {
				e.low, e.high = now+int64(made.Delay()), now+int64(made.Delay())
			}
			r.admit(key, r.policy, e)
		} else {
			key.unsure = key.unsure || !key.policy.Equal(r.policy)
		}
	case "Cancel", "Settle":
		for _, a := range r.accounts {
			for i, e := range a.entries {
				if e.receipt == o.receipt && (o.verb == "Settle" || e.low > now) {
					a.entries[i].n, a.entries[i].settled = min(e.n, o.n), true
					if o.verb == "Cancel" {
						a.entries[i].n = 0
					}
				}
			}
		}
	case "Charge", "Refund":
		if o.n > 0 { // in place
			if o.verb == "Refund" {
				r.rebase(key, key.policy, true)
				r.stale = len(r.world.receipts)
			}
			key.unsure = key.unsure || !key.policy.Equal(r.policy)
		}
	case "SetPolicy":
		if o.policy.Equal(r.policy) {
			return
		}
		for _, a := range r.accounts {
			r.checkMaxWithin(a)
			a.unsure = true
		}
		r.policy = o.policy
	}
}

func (r *mixRun) admit(a *mixAccount, p weir.Policy, e mixEntry) {
	r.t.Helper()
	r.rebase(a, p, false)
	a.entries = append(a.entries, e)
	if e.low <= r.now() || e.low == a.charged {
		a.charged = e.low
	}
}

// rebase begins the account anew, with what is pending, if there is a reason to: what was admitted
// before does not count under another policy, nor after a refund.
func (r *mixRun) rebase(a *mixAccount, p weir.Policy, refund bool) {
	r.t.Helper()
	if !refund && !a.unsure && a.policy.Equal(p) {
		return
	}
	r.checkMaxWithin(a)
	a.policy, a.unsure, a.charged = p, false, math.MinInt64
	was := a.entries
	a.entries = nil
	for _, e := range was {
		if e.receipt >= 0 && e.n > 0 && !e.settled && r.world.receipts[e.receipt].OK() {
			if delay := r.world.receipts[e.receipt].Delay(); delay > 0 && r.now()+int64(delay) > r.highest {
				e.low, e.high = r.now()+int64(delay), r.now()+int64(delay)
				a.entries = append(a.entries, e)
			}
		}
	}
}

// checkMaxWithin sums up what was admitted in every span from one admission to another.
func (r *mixRun) checkMaxWithin(a *mixAccount) {
	r.t.Helper()
	if a.unsure {
		return
	}
	for _, first := range a.entries {
		for _, last := range a.entries {
			d := between(bigInt(first.low), bigInt(last.high))
			if last.high < first.low || d == weir.Never-1 {
				continue
			}
			sum, most := 0, a.policy.MaxWithin(d+1)
			for _, e := range a.entries {
				if e.low >= first.low && e.high <= last.high && sum >= 0 {
					sum += e.n
				}
			}
			if sum > most {
				r.fatalf("%d admitted from %d to %d, more than %d: %+v", sum, first.low, last.high, most, a.entries)
			}
		}
	}
}

// Whatever is asked for in whatever order: Peek says what Take does, what remains is there and no
// more, a denial says when, and no span admits more than MaxWithin.
func TestMixKeepsEveryPromise(t *testing.T) {
	for name, c := range map[string]struct {
		keys, programs int
		changes        bool
	}{
		"Limiter":                {0, 400, false},
		"Limiter, changed":       {0, 400, true},
		"one client":             {1, 60, false},
		"one client, changed":    {1, 100, true},
		"a few clients":          {3, 60, false},
		"a few clients, changed": {3, 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range programs(uint64(c.programs)) {
				r := newMixRun(t, seed, c.keys)
				for range 60 {
					r.step(r.next(c.changes))
				}
				for _, a := range r.accounts {
					r.checkMaxWithin(a)
				}
			}
		})
	}
}

// Reservations of a limit of decades: what is ahead of now is more than a word of eighths of a
// nanosecond tells apart.
func TestMixDecadesAhead(t *testing.T) {
	clock := weir.NewManualClock()
	limiter := weir.New(weir.TokenBucket(weir.Per(3, 29*year)), weir.WithClock(clock))
	require.True(t, limiter.AllowN(3))
	for range 3 {
		require.True(t, limiter.Reserve(1).OK())
	}
	clock.Advance(29*year - time.Second)
	require.Equal(t, 29*year+time.Second, limiter.Reserve(3).Delay())
	require.Equal(t, 29*year+29*year/3+time.Second, limiter.Peek(1).RetryAfter)
	require.False(t, limiter.Allow())
	require.Zero(t, limiter.Tokens())
}
