package weir_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goweir/weir"
)

func ExampleLimiter_Wait() {
	calls := weir.New(weir.TokenBucket(weir.Every(10 * time.Millisecond).WithBurst(2)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	for i := range 4 {
		if err := calls.Wait(ctx); err != nil { // ctx is done, or will be before its turn comes
			fmt.Println(err)
			return
		}
		fmt.Println("call", i)
	}
	fmt.Println(errors.Is(calls.WaitN(ctx, 3), weir.ErrNever)) // more than there ever is
	// Output:
	// call 0
	// call 1
	// call 2
	// call 3
	// true
}

// How to test what waits: BlockUntil returns when somebody sleeps, and Advance
// wakes them at their instant.
func ExampleLimiter_Wait_manualClock() {
	clock := weir.NewManualClock()
	calls := weir.New(weir.TokenBucket(weir.Every(500*time.Millisecond)), weir.WithClock(clock))

	var worker sync.WaitGroup
	worker.Go(func() {
		for range 3 {
			if calls.Wait(context.Background()) == nil {
				fmt.Println("called at", clock.Now())
			}
		}
	})
	for range 2 {
		clock.BlockUntil(1)
		clock.Advance(500 * time.Millisecond)
	}
	worker.Wait()
	// Output:
	// called at 0s
	// called at 500ms
	// called at 1s
}

func ExampleLimiter_Reserve() {
	clock := weir.NewManualClock()
	calls := weir.New(weir.TokenBucket(weir.PerSecond(1).WithBurst(2)), weir.WithClock(clock))

	for range 4 {
		fmt.Print(calls.Reserve(1).Delay(), " ")
	}
	fmt.Println(calls.Stats().Waiting, "wait")
	clock.Advance(1500 * time.Millisecond)
	fmt.Println(calls.Allow(), calls.Reserve(1).Delay()) // one still waits, and nobody passes

	r := calls.Reserve(3) // more than there ever is
	fmt.Println(r.OK(), errors.Is(r.Err(), weir.ErrNever))
	// Output:
	// 0s 0s 1s 2s 2 wait
	// false 1.5s
	// false true
}

// Of two providers, the one that is free sooner, if it is free soon enough.
func ExampleLimiter_ReserveWithin() {
	clock := weir.NewManualClock()
	cheap := weir.New(weir.TokenBucket(weir.Every(10*time.Second)), weir.WithClock(clock))
	dear := weir.New(weir.TokenBucket(weir.Every(time.Second)), weir.WithClock(clock))

	for range 4 {
		if r := cheap.ReserveWithin(1, time.Second); r.OK() {
			fmt.Println("cheap, in", r.Delay())
		} else if r := dear.ReserveWithin(1, time.Second); r.OK() {
			fmt.Println("dear, in", r.Delay())
		} else {
			fmt.Println("none:", errors.Is(r.Err(), weir.ErrTooLong))
		}
	}
	// Output:
	// cheap, in 0s
	// dear, in 0s
	// dear, in 1s
	// none: true
}

func ExampleReservation_Settle() {
	clock := weir.NewManualClock()
	tokens := weir.New(weir.TokenBucket(weir.PerMinute(60_000)), weir.WithClock(clock)) // one each millisecond

	receipt := tokens.Reserve(50_000) // an estimate
	fmt.Println(tokens.Tokens())
	clock.Advance(time.Second) // the model answers, and 1000 come back meanwhile
	receipt.Settle(20_000)     // what it cost
	fmt.Println(tokens.Tokens())
	receipt.Settle(0) // a receipt is settled once
	fmt.Println(tokens.Tokens())
	// Output:
	// 10000
	// 41000
	// 41000
}

func ExampleReservation_Cancel() {
	clock := weir.NewManualClock()
	calls := weir.New(weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock))

	calls.Allow()
	ann := calls.Reserve(1)
	fmt.Println("ann:", ann.Delay())
	ann.Cancel() // as if she had never asked
	bob := calls.Reserve(1)
	fmt.Println("bob:", bob.Delay())
	clock.Advance(time.Second) // his turn came
	bob.Cancel()               // too late to give it back
	fmt.Println(calls.Tokens(), "left")
	// Output:
	// ann: 1s
	// bob: 1s
	// 0 left
}

func ExampleLimiter_SetPolicy() {
	clock := weir.NewManualClock()
	calls := weir.New(weir.TokenBucket(weir.PerMinute(6)), weir.WithClock(clock))

	calls.AllowN(6)
	r := calls.Reserve(1)
	fmt.Println(calls.Policy(), "next in", r.Delay())
	for _, limit := range []weir.Limit{weir.PerMinute(60).WithBurst(6), weir.PerMinute(-60)} {
		if err := calls.SetPolicy(weir.TokenBucket(limit)); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(calls.Policy(), "next in", r.Delay()) // who waits now waits as the new limit says
	// Output:
	// token-bucket 6/m next in 10s
	// weir: limit with a count of -60: it must not be negative
	// token-bucket 60/m burst 6 next in 1s
}

func ExamplePerClient_TakeAs() {
	free := weir.TokenBucket(weir.PerMinute(10)).Named("free")
	pro := weir.TokenBucket(weir.PerMinute(100)).Named("pro")
	users := weir.NewPerClient[string](free, weir.WithClock(weir.NewManualClock()))
	defer users.Close()

	plan := map[string]weir.Policy{"ann": free, "bob": pro}
	for range 2 {
		for _, user := range []string{"ann", "bob"} {
			d := users.TakeAs(user, 10, plan[user])
			fmt.Printf("%s, %s: %v, %d left\n", user, d.Policy, d.Allowed, d.Remaining)
		}
		plan["ann"] = pro // what she used under her old plan is used under the new one
	}
	// Output:
	// ann, free: true, 0 left
	// bob, pro: true, 90 left
	// ann, pro: true, 80 left
	// bob, pro: true, 80 left
}

// Downloads, of which the size is known when they are over.
func ExamplePerClient_Charge() {
	clock := weir.NewManualClock()
	traffic := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1000)), weir.WithClock(clock))
	defer traffic.Close()

	download := func(size int) {
		if traffic.Tokens("ann") == 0 {
			fmt.Println("not now, in", traffic.Peek("ann", 1).RetryAfter)
			return
		}
		traffic.Charge("ann", size) // there or not: whoever comes later waits for it
		fmt.Println("sent", size)
	}
	download(3000)
	download(1)
	clock.Advance(3 * time.Second)
	download(1)
	// Output:
	// sent 3000
	// not now, in 2.001s
	// sent 1
}

func ExamplePerClient_Refund() {
	logins := weir.NewPerClient[string](weir.FixedWindow(weir.PerHour(3)), weir.WithClock(weir.NewManualClock()))
	defer logins.Close()

	login := func(user, password string) {
		if !logins.Allow(user) {
			fmt.Println("too many wrong passwords")
		} else if password == "secret" {
			logins.Refund(user, 1) // only what fails counts
			fmt.Println("welcome")
		}
	}
	for _, password := range []string{"1234", "secret", "secret", "qwerty", "12345", "secret"} {
		login("ann", password)
	}
	// Output:
	// welcome
	// welcome
	// too many wrong passwords
}
