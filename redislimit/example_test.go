package redislimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/redislimit"
	"github.com/redis/go-redis/v9"
)

// These need a Redis, and are not run here. The README shows parts of them.

func ExampleNew() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	defer client.Close()
	logins := redislimit.New(client, weir.TokenBucket(weir.PerMinute(5)), redislimit.WithPrefix("login:"))
	defer logins.Close()

	d, err := logins.Take(context.Background(), "ann", 1)
	switch {
	case err != nil:
		log.Print(err) // Redis did not decide: neither allowed nor denied
	case !d.Allowed:
		fmt.Println("try again in", d.RetryAfter)
	}
}

func ExampleBy() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	everybody := weir.New(weir.TokenBucket(weir.PerSecond(1000))) // of this process
	users := redislimit.New(client, weir.TokenBucket(weir.PerSecond(10)), redislimit.WithPrefix("user:"))

	limit := httplimit.Limit(
		httplimit.Global(everybody),
		redislimit.By(users, httplimit.HeaderKey("X-Api-Key")),
	)
	http.Handle("/", limit(http.NotFoundHandler()))
}

func ExampleWithFallback() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true, MaxRetries: -1})
	users := redislimit.New(client, weir.TokenBucket(weir.PerSecond(100)),
		redislimit.WithFallback(redislimit.Local(1./4)), // of a fleet of four
		redislimit.WithTimeout(20*time.Millisecond),
	)
	defer users.Close()
}

func ExampleWithLease() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	tenants := redislimit.New(client, weir.TokenBucket(weir.PerSecond(50_000)),
		redislimit.WithLease(500, 100*time.Millisecond), // a hundredth of a second's
		redislimit.WithDenyCache(10_000),
	)
	defer tenants.Close() // gives back what is left of the leases
}

func ExamplePerClient_TakeAs() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	plans := map[string]weir.Policy{
		"free": weir.TokenBucket(weir.PerHour(100)),
		"pro":  weir.All(weir.TokenBucket(weir.PerSecond(50)), weir.FixedWindow(weir.PerDay(1_000_000))),
	}
	users := redislimit.New(client, plans["free"])

	d, err := users.TakeAs(context.Background(), "ann", 1, plans["pro"]) // what she used under free is used
	fmt.Println(d.Allowed, err)
}
