package weir_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// A handler that admits 10 requests a second of each address, 2 at once.
func Example() {
	clients := weir.NewPerClient[netip.Addr](weir.TokenBucket(weir.PerSecond(10).WithBurst(2)))
	defer clients.Close()

	hello := func(w http.ResponseWriter, r *http.Request) {
		client, _ := netip.ParseAddrPort(r.RemoteAddr) // those that cannot be read share one bucket
		if !clients.Allow(client.Addr()) {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		fmt.Fprintln(w, "hello")
	}

	for range 3 {
		w := httptest.NewRecorder()
		hello(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 200
	// 429
}

func ExampleLimiter() {
	clock := weir.NewManualClock() // without WithClock: the system's
	mails := weir.New(weir.TokenBucket(weir.PerMinute(60).WithBurst(2)), weir.WithClock(clock))

	fmt.Println(mails.Allow(), mails.Allow(), mails.Allow())
	clock.Advance(time.Second) // one token comes back
	fmt.Println(mails.Allow(), mails.Allow())
	fmt.Println(mails.Stats().RejectionRate(), "% denied")
	// Output:
	// true true false
	// true false
	// 40 % denied
}

func ExampleLimiter_AllowN() {
	upload := weir.New(weir.TokenBucket(weir.PerSecond(1000)), weir.WithClock(weir.NewManualClock()))

	fmt.Println(upload.AllowN(800), upload.AllowN(800)) // the second one takes nothing
	fmt.Println(upload.Tokens(), "left")
	// Output:
	// true false
	// 200 left
}

func ExampleLimiter_Peek() {
	jobs := weir.New(weir.TokenBucket(weir.PerSecond(10)), weir.WithClock(weir.NewManualClock()))

	fmt.Println(jobs.Peek(10).Allowed, jobs.Peek(10).Allowed) // what Take would say; nothing is taken
	fmt.Println(jobs.Peek(11).RetryAfter == weir.Never)       // more than the bucket holds
	// Output:
	// true true
	// true
}

func ExamplePerClient() {
	logins := weir.NewPerClient[string](weir.TokenBucket(weir.Every(10 * time.Second).WithBurst(2)))
	defer logins.Close() // stops the sweep

	fmt.Println("ann:", logins.Allow("ann"), logins.Allow("ann"), logins.Allow("ann"))
	fmt.Println("bob:", logins.Allow("bob"))
	// Output:
	// ann: true true false
	// bob: true
}

func ExamplePerClient_structKey() {
	type route struct{ user, path string } // no joined strings: ("a:b", "c") is not ("a", "b:c")
	routes := weir.NewPerClient[route](weir.FixedWindow(weir.PerHour(1)))
	defer routes.Close()

	fmt.Println(routes.Allow(route{"a:b", "c"}), routes.Allow(route{"a", "b:c"}))
	// Output: true true
}

func ExamplePerClient_Take() {
	api := weir.NewPerClient[string](
		weir.TokenBucket(weir.PerMinute(40).WithBurst(1)).Named("api"), weir.WithClock(weir.NewManualClock()))
	defer api.Close()

	answer := func(w http.ResponseWriter, d weir.Decision) {
		w.Header().Set("X-RateLimit-Limit", strconv.Itoa(d.Limit))
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(d.Remaining))
		if d.Allowed {
			return
		}
		if d.RetryAfter != weir.Never { // whole seconds, rounded up
			w.Header().Set("Retry-After", strconv.Itoa(int((d.RetryAfter-1)/time.Second)+1))
		}
		http.Error(w, "limit "+d.Policy+" exceeded", http.StatusTooManyRequests)
	}

	for range 2 {
		w := httptest.NewRecorder()
		d := api.Take("ann", 1)
		answer(w, d)
		fmt.Printf("%d, %v, %q\n", w.Code, d.RetryAfter, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200, 0s, ""
	// 429, 1.5s, "2"
}

func ExampleAll() {
	clock := weir.NewManualClock()
	search := weir.New(weir.All(
		weir.TokenBucket(weir.PerSecond(2)).Named("per second"),
		weir.SlidingWindow(weir.PerHour(3)).Named("per hour"),
	), weir.WithClock(clock))

	fmt.Println(search.AllowN(2), search.Peek(1).Policy)
	clock.Advance(time.Second)
	fmt.Println(search.AllowN(2), search.Peek(2).Policy) // denied: nothing is taken from either
	fmt.Println(search.Allow(), search.Peek(1).RetryAfter)
	// Output:
	// true per second
	// false per hour
	// true 59m59s
}

func ExampleFirstOf() {
	clock := weir.NewManualClock()
	images := weir.New(weir.FirstOf(
		weir.FixedWindow(weir.PerDay(3)).Named("included"),
		weir.FixedWindow(weir.PerDay(2)).Named("bought"),
	), weir.WithClock(clock))

	for range 6 {
		fmt.Print(images.Allow(), " ")
	}
	fmt.Println(images.AllowN(5)) // no part admits all five: parts do not share a request
	// Output: true true true true true false false
}

func ExampleBurstReserve() {
	clock := weir.NewManualClock()
	reserve := weir.PerSecond(5).WithBurst(50)
	api := weir.New(weir.BurstReserve(weir.PerSecond(100), reserve), weir.WithClock(clock))

	fmt.Println(api.AllowN(100), api.AllowN(50), api.Allow()) // the bucket, the reserve, nothing left
	clock.Advance(time.Second)
	fmt.Println(api.AllowN(100), api.AllowN(5), api.Allow())
	// Output:
	// true true false
	// true true false
}

func ExampleTokenBucket() {
	clock := weir.NewManualClock()
	l := weir.New(weir.TokenBucket(weir.PerSecond(10)), weir.WithClock(clock))

	admitted := 0
	for range 1000 { // a second, polled each millisecond
		for l.Allow() {
			admitted++
		}
		clock.Advance(time.Millisecond)
	}
	fmt.Println(admitted) // 10 at once, then one each 100 ms
	// Output: 19
}

func ExampleLeakyBucket() {
	clock := weir.NewManualClock()
	l := weir.New(weir.LeakyBucket(weir.PerSecond(10), 0), weir.WithClock(clock))

	fmt.Println(l.Allow(), l.Take(1).RetryAfter) // one each 100 ms, never two at once
	clock.Advance(time.Hour)
	fmt.Println(l.Allow(), l.Allow())
	// Output:
	// true 100ms
	// true false
}

func ExampleFixedWindow() {
	clock := weir.NewManualClock()
	l := weir.New(weir.FixedWindow(weir.PerSecond(10)), weir.WithClock(clock))

	clock.Advance(999 * time.Millisecond) // the end of a window
	fmt.Println(l.AllowN(10), l.Allow())
	clock.Advance(time.Millisecond) // the next one
	fmt.Println(l.AllowN(10), l.Allow())
	// Output:
	// true false
	// true false
}

func ExampleSlidingWindow() {
	clock := weir.NewManualClock()
	l := weir.New(weir.SlidingWindow(weir.PerSecond(10)), weir.WithClock(clock))

	clock.Advance(900 * time.Millisecond)
	fmt.Println(l.AllowN(10))
	clock.Advance(999 * time.Millisecond)
	fmt.Println(l.Allow(), l.Peek(1).RetryAfter) // those ten are still in view
	clock.Advance(time.Millisecond)
	fmt.Println(l.AllowN(10))
	// Output:
	// true
	// false 1ms
	// true
}

func ExampleSlidingCounter() {
	clock := weir.NewManualClock()
	l := weir.New(weir.SlidingCounter(weir.PerMinute(60)), weir.WithClock(clock))

	fmt.Println(l.AllowN(60))
	clock.Advance(75 * time.Second) // of the last window, 45 s of 60 are still in view
	fmt.Println(l.Tokens())
	// Output:
	// true
	// 15
}

func ExamplePolicy_MaxWithin() {
	for _, p := range []weir.Policy{
		weir.TokenBucket(weir.PerSecond(10)),
		weir.TokenBucket(weir.PerSecond(10).WithBurst(1)),
		weir.SlidingWindow(weir.PerSecond(10)),
		weir.FixedWindow(weir.PerSecond(10)),
	} {
		fmt.Printf("%s: at most %d in any second\n", p, p.MaxWithin(time.Second))
	}
	// Output:
	// token-bucket 10/s: at most 19 in any second
	// token-bucket 10/s burst 1: at most 10 in any second
	// sliding-window 10/s: at most 10 in any second
	// fixed-window 10/s: at most 20 in any second
}

func ExampleLimit() {
	fmt.Println(weir.PerSecond(100))
	fmt.Println(weir.PerSecond(100).WithBurst(20))
	fmt.Println(weir.Per(5, 10*time.Second))
	fmt.Println(weir.PerSecond(-1).Validate())
	// Output:
	// 100/s
	// 100/s burst 20
	// 5/10s
	// weir: limit with a count of -1: it must not be negative
}

func ExamplePolicy_Validate() {
	for _, burst := range []int{5, 20} { // as a configuration might say
		p := weir.SlidingWindow(weir.PerMinute(5).WithBurst(burst))
		if err := p.Validate(); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("use", p)
	}
	// Output:
	// use sliding-window 5/m
	// weir: sliding-window 5/m burst 20 with a burst of 20: a window admits its count of 5 at once, and has no other burst
}

func ExampleStats() {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(1)), weir.WithClock(clock))
	defer clients.Close()

	clients.Allow("ann")
	clients.Allow("ann")
	clients.Allow("bob")
	s := clients.Stats()
	fmt.Printf("%d allowed, %d denied, %d clients\n", s.Allowed, s.Denied, s.Clients)
	clock.Advance(time.Minute) // both are full again, and the sweep by timer is due
	s = clients.Stats()
	fmt.Printf("%d evicted, %d clients\n", s.Evicted, s.Clients)
	// Output:
	// 2 allowed, 1 denied, 2 clients
	// 2 evicted, 0 clients
}

func ExampleWithMaxClients() {
	clients := weir.NewPerClient[string](
		weir.TokenBucket(weir.PerMinute(60)),
		weir.WithMaxClients(2, weir.DenyNew), // or EvictFullest, ShareOverflow
		weir.WithStaleAfter(10*time.Minute),  // keep a full bucket that long; default 0
		weir.WithSweepEvery(5*time.Minute),   // look for them that often; default a minute
		weir.WithClock(weir.NewManualClock()))
	defer clients.Close()

	fmt.Println(clients.Allow("ann"), clients.Allow("bob"), clients.Allow("carl"), clients.Allow("ann"))
	fmt.Println(clients.Len(), "clients,", clients.Stats().Overflowed, "decision under pressure")
	// Output:
	// true true false true
	// 2 clients, 1 decision under pressure
}

func ExamplePerClient_Sweep() {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[int](weir.TokenBucket(weir.PerSecond(1).WithBurst(10)),
		weir.WithSweepEvery(0), weir.WithClock(clock)) // no timer: only Sweep
	defer clients.Close()

	clients.AllowN(1, 10)
	clients.AllowN(2, 3)
	clock.Advance(3 * time.Second)                  // client 2 is full again
	fmt.Println(clients.Sweep(), clients.Tokens(1)) // client 1's debt is not forgotten
	// Output: 1 3
}

func ExampleWithShadow() {
	trial := weir.New(weir.FixedWindow(weir.PerHour(1)), weir.WithShadow(), weir.WithClock(weir.NewManualClock()))

	for range 3 {
		d := trial.Take(1)
		fmt.Println(d.Allowed, d.Shadowed, d.RetryAfter)
	}
	fmt.Println(trial.Stats().Denied, "of 3 would have been denied")
	// Output:
	// true false 0s
	// true true 1h0m0s
	// true true 1h0m0s
	// 2 of 3 would have been denied
}

func ExampleManualClock() {
	clock := weir.NewManualClock()
	login := weir.New(weir.TokenBucket(weir.Every(10*time.Second).WithBurst(5)), weir.WithClock(clock))

	fmt.Println(login.AllowN(5), login.Peek(1).RetryAfter)
	clock.Advance(10*time.Second - 1)
	fmt.Println(login.Allow())
	clock.Advance(1)
	fmt.Println(login.Allow())
	// Output:
	// true 10s
	// false
	// true
}

func ExampleNewCoarseClock() {
	clock := weir.NewCoarseClock(time.Millisecond) // one ticker instead of a clock reading a decision
	defer clock.Close()

	packets := weir.New(weir.TokenBucket(weir.PerSecond(1000)), weir.WithClock(clock))
	fmt.Println(packets.Allow())
	// Output: true
}

func ExamplePerClient_TopDenied() {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock), weir.WithTopDenied(10))
	for range 5 {
		clients.Allow("192.0.2.1")
		clients.Allow("192.0.2.1")
		clients.Allow("192.0.2.7")
		clock.Advance(time.Second)
	}
	clients.AllowN("192.0.2.7", 2)
	for _, client := range clients.TopDenied() {
		fmt.Println(client.Key, client.Count)
	}
	// Output:
	// 192.0.2.1 5
	// 192.0.2.7 1
}

func ExamplePolicy_Describe() {
	p := weir.MustParsePolicy("all(token-bucket 10/s burst 20, sliding-window 1000/h)")
	fmt.Println(p.Describe())
	// Output: all of these: 20 at once, and one more each 100ms (10 in 1s); 1000 in any 1h
}
