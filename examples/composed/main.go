// Composed builds one policy out of several: All, where every part must admit, and FirstOf, where
// one that admits is enough. A composed policy is asked like any other, once, and a denial costs
// nothing in any part.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/goweir/weir"
)

// plan is what a customer bought: a pace, and an amount a day.
var plan = weir.All(
	weir.TokenBucket(weir.PerMinute(10)).Named("pace"),
	weir.SlidingWindow(weir.PerDay(25)).Named("daily quota"),
)

// urgent has lanes: normal traffic, and a small reserve that is touched when the first is used up.
var urgent = weir.FirstOf(
	weir.TokenBucket(weir.PerMinute(3)).Named("normal"),
	weir.FixedWindow(weir.PerHour(2)).Named("reserve"),
)

func main() {
	// A clock moved by hand, so that a day passes at once. A program leaves the option out.
	clock := weir.NewManualClock()
	run(os.Stdout, clock)
}

func run(w io.Writer, clock *weir.ManualClock) {
	fmt.Fprintln(w, plan)
	customer := weir.New(plan, weir.WithClock(clock))
	ask := func(n int) {
		d := customer.Take(n)
		if d.Allowed {
			fmt.Fprintf(w, "  %d: yes, %d more now (%s)\n", n, d.Remaining, d.Policy)
		} else {
			fmt.Fprintf(w, "  %d: no, in %v (%s)\n", n, d.RetryAfter, d.Policy)
		}
	}
	ask(10)
	ask(1) // the pace binds
	clock.Advance(time.Minute)
	ask(10)
	clock.Advance(time.Minute)
	ask(6) // the quota binds: 20 of 25 are gone
	ask(5)
	ask(1)

	fmt.Fprintln(w, urgent)
	calls := weir.New(urgent, weir.WithClock(clock))
	for range 6 {
		d := calls.Take(1)
		fmt.Fprintf(w, "  allowed=%v, %d left\n", d.Allowed, d.Remaining)
	}

	// What can the provider be asked for at most? Every policy knows.
	fmt.Fprintf(w, "at most in an hour: plan %d, urgent %d\n", plan.MaxWithin(time.Hour), urgent.MaxWithin(time.Hour))
}
