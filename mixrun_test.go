package weir_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
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
	moved   bool // it was under another one
	entries []mixEntry
	charged int64 // the newest reading that surely was
}

// mixRun is a program in the making, of whose admissions accounts are kept.
type mixRun struct {
	*world
	policy   weir.Policy // of the plain verbs
	accounts []*mixAccount
	highest  int64 // reading
	stale    int   // so many receipts are from before a refund, which may have been of theirs
}

// newMixRun makes a Limiter for no keys, and else a PerClient.
func newMixRun(t testing.TB, seed uint64, keys int) *mixRun {
	c := randomly(seed)
	p := newPolicy(c)
	o := model.Options{MaxClients: 100, StaleAfter: pick(c, 0, 0, time.Second, time.Hour)}
	if keys == 1 && c.oneIn(4) {
		o.MaxClients = 0 // the others are in one shard, as those of the model
	}
	r := &mixRun{policy: p}
	r.world = newWorld(t, c, func(w *world) {
		if keys == 0 {
			w.addLimiter(p, o)
		} else {
			w.addClients(p, o, keys)
		}
	})
	r.back = !c.oneIn(3)
	for range r.real.keys {
		r.accounts = append(r.accounts, &mixAccount{policy: p, charged: math.MinInt64})
	}
	return r
}

// What a program consists of, as often as it has it: without, and with what changes a policy or gives back.
var (
	fewVerbs = []string{
		"Advance", "Advance", "Advance", "Take", "Take", "Take", "AllowN", "Peek", "Reserve", "Reserve", "Reserve",
		"Cancel", "Settle", "Settle", "Charge", "Sweep",
	}
	allVerbs = slices.Concat(fewVerbs, []string{"Refund", "Reset", "SetPolicy", "TakeAs", "TakeAs"})
)

// step takes a step and looks whether all is well.
func (r *mixRun) step(o op) {
	r.Helper()
	if o.verb == "Settle" && o.receipt < r.stale {
		o.verb = "Cancel"
	}
	answer := r.world.step(o)
	r.highest = max(r.highest, r.now())
	d, decided := answer.(weir.Decision)
	r.count(o, d.Allowed || answer == true)
	under := r.policy
	if o.verb == "TakeAs" {
		under = o.policy
	}
	if a := r.accounts[o.key]; decided && !d.Allowed && o.n > 0 && !a.unsure && a.policy.Equal(under) && r.oneIn(2) {
		r.checkRetry(o, d)
	}
	r.check(o.key)
}

// checkRetry runs the program again and asks again a nanosecond before the denial said, and then.
func (r *mixRun) checkRetry(o op, d weir.Decision) {
	r.Helper()
	if d.RetryAfter <= 0 {
		r.fatalf("denied: %+v", d)
	}
	if !readable(r.now(), d.RetryAfter) {
		return
	}
	again := newWorld(r, nil, r.build)
	for _, o := range r.program {
		if o.verb == "Advance" {
			again.move(again.now() + int64(o.d))
		} else {
			again.real.do(o)
		}
	}
	again.move(again.now() + int64(d.RetryAfter) - 1)
	if got := again.real.do(o).(weir.Decision); got.Allowed {
		r.fatalf("%+v, but a nanosecond before that: %+v", d, got)
	}
	again.move(again.now() + 1)
	if got := again.real.do(o).(weir.Decision); !got.Allowed {
		r.fatalf("%+v, but then: %+v", d, got)
	}
}

// count keeps the accounts.
func (r *mixRun) count(o op, allowed bool) {
	r.Helper()
	now, key := r.now(), r.accounts[o.key]
	e := mixEntry{max(now, key.charged), r.highest, o.n, -1, false}
	switch o.verb {
	case "Take", "AllowN":
		if allowed && o.n > 0 {
			r.admit(key, r.policy, e)
		}
	case "TakeAs":
		if allowed && o.n > 0 {
			r.admit(key, o.policy, e)
		}
	case "Reserve":
		e.receipt = len(r.real.receipts) - 1
		if made := r.look(e.receipt); made.err == nil && o.n > 0 {
			if made.delay > 0 {
				e.low, e.high = now+int64(made.delay), now+int64(made.delay)
			}
			r.admit(key, r.policy, e)
		} else {
			key.unsure = key.unsure || !key.policy.Equal(r.policy)
		}
	case "Cancel", "Settle":
		r.lessen(o)
	case "Charge", "Refund", "Reset":
		if o.verb != "Charge" && (o.n > 0 || o.verb == "Reset") {
			r.rebase(key, key.policy, true)
			r.stale = len(r.real.receipts)
		}
		key.unsure = key.unsure || !key.policy.Equal(r.policy)
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

// lessen has what was cancelled or settled count for what it cost.
func (r *mixRun) lessen(o op) {
	for _, a := range r.accounts {
		for i, e := range a.entries {
			if e.receipt != o.receipt || o.verb == "Cancel" && e.low <= r.now() {
				continue
			}
			if e.low > r.now() && a.moved { // it may have moved for this one only
				r.checkMaxWithin(a)
				a.unsure = true
			}
			a.entries[i].n, a.entries[i].settled = max(0, min(e.n, o.n)), true
			if o.verb == "Cancel" {
				a.entries[i].n = 0
			}
		}
	}
}

func (r *mixRun) admit(a *mixAccount, p weir.Policy, e mixEntry) {
	r.Helper()
	r.rebase(a, p, false)
	a.entries = append(a.entries, e)
	if e.low <= r.now() || e.low == a.charged {
		a.charged = e.low
	}
}

// rebase begins the account anew, with what is pending, if there is a reason to: what was admitted
// before does not count under another policy, nor after a refund.
func (r *mixRun) rebase(a *mixAccount, p weir.Policy, refund bool) {
	r.Helper()
	if !refund && !a.unsure && a.policy.Equal(p) {
		return
	}
	r.checkMaxWithin(a)
	a.moved = a.moved || !a.policy.Equal(p)
	a.policy, a.unsure, a.charged = p, false, math.MinInt64
	was := a.entries
	a.entries = nil
	for _, e := range was {
		if e.receipt < 0 || e.n <= 0 || e.settled {
			continue
		}
		if turn := r.look(e.receipt); turn.err == nil && turn.delay > 0 && r.now()+int64(turn.delay) > r.highest {
			e.low, e.high = r.now()+int64(turn.delay), r.now()+int64(turn.delay)
			a.entries = append(a.entries, e)
		}
	}
}

// checkMaxWithin sums up what was admitted in every span from one admission to another.
func (r *mixRun) checkMaxWithin(a *mixAccount) {
	r.Helper()
	if a.unsure {
		return
	}
	for _, first := range a.entries {
		for _, last := range a.entries {
			if last.high < first.low {
				continue
			}
			sum, most := 0, a.policy.MaxWithin(time.Duration(last.high-first.low)+1)
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
