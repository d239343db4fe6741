package weir_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/goweir/weir"
)

// Everybody together, each address, and each user who is logged in: a request has
// to pass all of them, and one that is denied takes nothing from any.
func ExampleLayers() {
	type request struct {
		addr netip.Addr
		user string // empty for nobody
	}
	clock := weir.NewManualClock() // a program leaves it out
	everybody := weir.New(weir.TokenBucket(weir.PerSecond(100)).Named("everybody"), weir.WithClock(clock))
	addrs := weir.NewPerClient[netip.Addr](weir.TokenBucket(weir.PerSecond(5)).Named("address"), weir.WithClock(clock))
	users := weir.NewPerClient[string](weir.SlidingWindow(weir.PerMinute(3)).Named("user"), weir.WithClock(clock))

	limits := weir.NewLayers(
		weir.Global[request](everybody),
		weir.By(addrs, func(r request) (netip.Addr, bool) { return r.addr, true }),
		weir.By(users, func(r request) (string, bool) { return r.user, r.user != "" }),
	)

	office := netip.MustParseAddr("192.0.2.7")
	for _, user := range []string{"ann", "ann", "ann", "ann", "bob", "", ""} {
		if d := limits.Take(request{office, user}, 1); d.Allowed {
			fmt.Printf("%q: yes, %d more (%s)\n", user, d.Remaining, d.Policy)
		} else {
			fmt.Printf("%q: no, in %v (%s)\n", user, d.RetryAfter, d.Policy)
		}
	}
	fmt.Println(everybody.Tokens(), "of 100 are left to everybody")
	// Output:
	// "ann": yes, 2 more (user)
	// "ann": yes, 1 more (user)
	// "ann": yes, 0 more (user)
	// "ann": no, in 1m0s (user)
	// "bob": yes, 1 more (address)
	// "": yes, 0 more (address)
	// "": no, in 200ms (address)
	// 95 of 100 are left to everybody
}

// 60 requests and 100,000 tokens a minute, where one request costs one of those
// and some thousand of these: both, or neither.
func ExampleLayer_WithCost() {
	type call struct {
		tenant string
		tokens int
	}
	tenant := func(c call) (string, bool) { return c.tenant, true }
	clock := weir.NewManualClock()
	requests := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(60)).Named("requests"), weir.WithClock(clock))
	tokens := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(100_000)).Named("tokens"), weir.WithClock(clock))

	limits := weir.NewLayers(
		weir.By(requests, tenant),
		weir.By(tokens, tenant).WithCost(func(c call) int { return c.tokens }),
	)

	for _, n := range []int{30_000, 60_000, 25_000, 10_000} {
		d := limits.Take(call{"acme", n}, 1)
		fmt.Printf("%d tokens: %v, retry after %v (%s)\n", n, d.Allowed, d.RetryAfter, d.Policy)
	}
	fmt.Println(requests.Tokens("acme"), "requests and", tokens.Tokens("acme"), "tokens are left")
	// Output:
	// 30000 tokens: true, retry after 0s (requests)
	// 60000 tokens: true, retry after 0s (tokens)
	// 25000 tokens: false, retry after 9s (tokens)
	// 10000 tokens: true, retry after 0s (tokens)
	// 57 requests and 0 tokens are left
}

// A key is any comparable type; a struct cannot mix up its parts, as joined
// strings can. With false the layer does not apply.
func ExampleBy() {
	type upload struct {
		project, branch string
		draft           bool
	}
	type target struct{ project, branch string }
	uploads := weir.NewPerClient[target](weir.FixedWindow(weir.PerHour(1)), weir.WithClock(weir.NewManualClock()))

	limits := weir.NewLayers(weir.By(uploads, func(u upload) (target, bool) {
		return target{u.project, u.branch}, !u.draft
	}))

	fmt.Println(limits.Allow(upload{project: "a:b", branch: "c"}))
	fmt.Println(limits.Allow(upload{project: "a", branch: "b:c"}), "another one")
	fmt.Println(limits.Allow(upload{project: "a", branch: "b:c"}))
	fmt.Println(limits.Allow(upload{project: "a", branch: "b:c", draft: true}), "does not count")
	// Output:
	// true
	// true another one
	// false
	// true does not count
}

// Three failed logins an hour, of any number: what succeeds is given back. While
// it is under way it counts as one that fails, so no more than three can be tried
// at once.
func ExampleLayers_Hold() {
	clock := weir.NewManualClock()
	accounts := weir.NewPerClient[string](weir.SlidingWindow(weir.PerHour(3)), weir.WithClock(clock))
	limits := weir.NewLayers(weir.By(accounts, func(user string) (string, bool) { return user, true }))

	for _, password := range []string{"guess", "right", "right", "guess", "right", "guess", "right"} {
		hold, err := limits.Hold(context.Background(), "ann", 1)
		if err != nil { // of a remote layer
			fmt.Println(err)
			return
		}
		if !hold.Allowed {
			fmt.Println("not asked, try again in", hold.RetryAfter)
			continue
		}
		cost := 1
		if password == "right" {
			cost = 0
		}
		_ = hold.Settle(context.Background(), cost) // an error, too, would be a remote layer's
		fmt.Println(password, "-", accounts.Tokens("ann"), "left")
	}
	// Output:
	// guess - 2 left
	// right - 2 left
	// right - 2 left
	// guess - 1 left
	// right - 1 left
	// guess - 0 left
	// not asked, try again in 1h0m0s
}
