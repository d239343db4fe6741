// Plans gives every user the limits of the plan that they have at the moment of the request. Users
// change plans, and the operator changes what a plan offers, while requests come in: what somebody
// has used goes with them, so changing to and fro gains nothing.
package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// plan returns a policy for a plan: a pace, and a quota a day. All plans are of the same shape, so
// that when a user changes, the pace is carried to the pace and the quota to the quota.
func plan(name string, perMinute, perDay int) weir.Policy {
	return weir.All(
		weir.TokenBucket(weir.PerMinute(perMinute)).Named(name+" pace"),
		weir.FixedWindow(weir.PerDay(perDay)).Named(name+" quota"),
	)
}

// Plans knows what each plan offers and which one each user has.
type Plans struct {
	mu     sync.RWMutex
	offers map[string]weir.Policy // by the name of the plan
	users  map[string]string      // the names of their plans; without one: free
}

// NewPlans returns the three plans that there are, without any user.
func NewPlans() *Plans {
	return &Plans{
		offers: map[string]weir.Policy{
			"free":       plan("free", 5, 50),
			"pro":        plan("pro", 60, 5000),
			"enterprise": plan("enterprise", 600, 100_000),
		},
		users: map[string]string{},
	}
}

// Of returns a user's policy.
func (p *Plans) Of(user string) weir.Policy {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if name, ok := p.users[user]; ok {
		return p.offers[name]
	}
	return p.offers["free"]
}

// Move gives a user another plan.
func (p *Plans) Move(user, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.offers[name]; !ok {
		return fmt.Errorf("no plan %q", name)
	}
	p.users[user] = name
	return nil
}

// Offer changes a plan, for everybody who has it.
func (p *Plans) Offer(name string, policy weir.Policy) error {
	if err := policy.Validate(); err != nil { // TakeAs would panic
		return fmt.Errorf("plan %q: %w", name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offers[name] = policy
	return nil
}

func main() {
	// A clock moved by hand, so that a day passes at once. A program leaves the option out.
	run(os.Stdout, weir.NewManualClock())
}

func run(w io.Writer, clock *weir.ManualClock) {
	plans := NewPlans()
	// The policy given here is that of calls that name none.
	users := weir.NewPerClient[string](plans.Of(""), weir.WithClock(clock))
	defer users.Close()

	ask := func(user string, n int) {
		d := users.TakeAs(user, n, plans.Of(user))
		if d.Allowed {
			fmt.Fprintf(w, "  %s, %d: yes, %d more now (%s)\n", user, n, d.Remaining, d.Policy)
		} else {
			fmt.Fprintf(w, "  %s, %d: no, in %v (%s)\n", user, n, d.RetryAfter, d.Policy)
		}
	}
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(w, " ", err)
		}
	}

	fmt.Fprintln(w, "ann is on free, bob on enterprise")
	check(plans.Move("bob", "enterprise"))
	ask("ann", 5)
	ask("ann", 1)
	ask("bob", 500)

	fmt.Fprintln(w, "ann buys pro: the 5 that she used are used")
	check(plans.Move("ann", "pro"))
	ask("ann", 55)
	ask("ann", 1)

	fmt.Fprintln(w, "pro now offers 120 a minute: the 60 that she used are used")
	check(plans.Offer("pro", plan("pro", 120, 5000)))
	ask("ann", 60)

	fmt.Fprintln(w, "ann goes back to free: she has used up its pace and its quota, and owes no more than that")
	check(plans.Move("ann", "free"))
	ask("ann", 1)
	clock.Advance(24 * time.Hour)
	ask("ann", 1)

	fmt.Fprintln(w, "mistakes change nothing")
	check(plans.Move("ann", "gold"))
	check(plans.Offer("pro", plan("pro", -1, 5000)))
	ask("bob", 1)
}
