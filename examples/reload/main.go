// Reload changes the limit of a running service again and again while it is under load, and counts:
// whatever the policy is at a moment, nobody gets a request more than their limit for it, or less.
package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/goweir/weir"
)

const (
	users   = 200
	askers  = 8  // goroutines
	limit   = 20 // for each user; nobody gets one back while this runs
	reloads = 60
)

// Twenty, said in several ways: what is used under one policy is used under the next.
var policies = []weir.Policy{
	weir.TokenBucket(weir.PerHour(limit)),
	weir.TokenBucket(weir.PerDay(limit)),
	weir.SlidingWindow(weir.PerHour(limit)),
	weir.All(weir.SlidingWindow(weir.PerHour(limit)), weir.TokenBucket(weir.PerDay(limit))),
}

func main() {
	if !run(os.Stdout) {
		os.Exit(1)
	}
}

// run reports whether the counts are as they have to be. It takes options so that a test can pass a
// clock of its own.
func run(w io.Writer, opts ...weir.Option) bool {
	api := weir.NewPerClient[int](policies[0], opts...)
	defer api.Close()
	var stop atomic.Bool
	var all sync.WaitGroup
	var allowed [users]atomic.Int64
	var asked atomic.Int64
	ask := func(user int) {
		asked.Add(1)
		if api.Allow(user) {
			allowed[user].Add(1)
		}
	}
	for i := range askers {
		all.Go(func() {
			for user := i; !stop.Load(); user++ {
				ask(user % users)
			}
		})
	}
	// Each policy stays for some thousand requests.
	for i := range reloads {
		for seen := asked.Load(); asked.Load() < seen+1000; {
			ask(i % users)
		}
		if err := api.SetPolicy(policies[(i+1)%len(policies)]); err != nil {
			fmt.Fprintln(w, err)
		}
	}
	// A mistake in a configuration changes nothing.
	if err := api.SetPolicy(weir.SlidingWindow(weir.PerHour(-1))); err != nil {
		fmt.Fprintln(w, "refused:", err)
	}
	stop.Store(true)
	all.Wait()
	for user := range users { // whoever did not come to it before uses up the rest now
		for range limit {
			ask(user)
		}
	}

	ok := true
	for user := range users {
		if n := allowed[user].Load(); n != limit {
			fmt.Fprintf(w, "user %d was allowed %d\n", user, n)
			ok = false
		}
	}
	s := api.Stats()
	ok = ok && s.Allowed == users*limit && s.Allowed+s.Denied == uint64(asked.Load())
	fmt.Fprintf(w, "%d reloads, %d users, %d requests allowed of %d\n", reloads, users, s.Allowed, users*limit)
	fmt.Fprintf(w, "each user %d, each request decided once: %v\n", limit, ok)

	// Who has used 20 of 20 has 30 of 50 left.
	if err := api.SetPolicy(weir.TokenBucket(weir.PerHour(50))); err != nil {
		fmt.Fprintln(w, err)
	}
	fmt.Fprintf(w, "%s: %d more for each\n", api.Policy(), api.Tokens(0))
	return ok
}
