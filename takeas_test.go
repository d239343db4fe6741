package weir_test

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"github.com/stretchr/testify/require"
)

// Plans that a client is moved between.
var (
	lawFree       = weir.TokenBucket(weir.PerHour(10)).Named("free")
	lawPro        = weir.TokenBucket(weir.PerHour(60)).Named("pro")
	lawEnterprise = weir.All(weir.TokenBucket(weir.PerMinute(50)), weir.SlidingWindow(weir.PerHour(100))).Named("enterprise")
)

func TestTakeAsMovesAClientBetweenPlans(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, lawFree, clock)
	require.Equal(t, weir.Decision{Allowed: true, Remaining: 50, Policy: "pro", Limit: 60, ResetAfter: 10 * time.Minute},
		clients.TakeAs("alice", 10, lawPro))
	require.Zero(t, clients.Tokens("alice"), "10 are all that is free")
	require.False(t, clients.Allow("alice"))
	require.True(t, clients.AllowAs("alice", lawPro))
	require.Equal(t, 49, clients.TakeAs("alice", 0, lawPro).Remaining)
	require.Equal(t, 10, clients.Tokens("bob"))
	require.True(t, clients.TakeAs("alice", 49, lawPro).Allowed)
	d := clients.TakeAs("alice", 1, lawPro)
	require.Equal(t, weir.Decision{Remaining: 0, RetryAfter: time.Minute, Policy: "pro", Limit: 60, ResetAfter: time.Hour}, d)
	require.False(t, clients.AllowAs("alice", lawPro))

	clock.Advance(30 * time.Minute) // 30 of 60 used
	require.Zero(t, clients.Tokens("alice"))
	require.Equal(t, 6*time.Minute, clients.Take("alice", 1).RetryAfter, "no longer than a key that starts empty")
	require.Equal(t, 30, clients.TakeAs("alice", 0, lawPro).Remaining, "who was only denied is carried nowhere")
	require.Equal(t, 19, clients.TakeAs("alice", 1, lawEnterprise).Remaining, "30 of 50 used, and one more")
}

// The same law, key by key, over plans that come and go in any order.
func TestTakeAsCarriesByTheLaw(t *testing.T) {
	for seed := range programs(150) {
		c := randomly(seed + 1<<20)
		p, o := newPolicy(c), model.Options{MaxClients: pick(c, 0, 100, 100, 100, 100, 100, 100, 100)}
		w := newWorld(t, c, func(w *world) { w.addClients(p, o, 3) })
		w.run(30, "Advance", "Advance", "Take", "Peek", "TakeAs", "TakeAs", "TakeAs")
	}
}

func TestTakeAsUnderThousandsOfPolicies(t *testing.T) {
	const keys = 4000
	clock := weir.NewManualClock()
	clients := newClients[int](t, lawFree, clock)
	plan := func(key int) weir.Policy { // made anew for each call
		if key%2 == 0 {
			return weir.TokenBucket(weir.PerHour(1 + key/100).WithBurst(1 + key%37))
		}
		return weir.All(weir.TokenBucket(weir.PerHour(40+key)), weir.SlidingWindow(weir.PerDay(1+key%37)))
	}
	for range 3 {
		for key := range keys {
			if got := drain(func() bool { return clients.AllowAs(key, plan(key)) }); got != 1+key%37 {
				require.Equal(t, 1+key%37, got, "key %d", key)
			}
			d := clients.TakeAs(key, 1, plan(key))
			require.False(t, d.Allowed)
			require.LessOrEqual(t, d.RetryAfter, 24*time.Hour)
		}
		require.Equal(t, keys, clients.Len())
		clock.Advance(10 * 24 * time.Hour)
	}
	clients.Sweep()
	require.Zero(t, clients.Len())
	require.EqualValues(t, keys, clients.Stats().Evicted)
}

// A policy that is equal to the key's is the key's, though it was made for the call, and is not kept.
func TestTakeAsWithAPolicyMadeForTheCall(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, lawFree, clock)
	single := weir.New(lawPro, weir.WithClock(clock))
	made := func() weir.Policy { return weir.TokenBucket(weir.PerHour(60)).Named("pro") }
	for range 1000 {
		clock.Advance(7 * time.Second)
		require.Equal(t, single.Take(1), clients.TakeAs("alice", 1, made()))
	}
	base := heapBytes()
	for range 100_000 {
		clients.AllowAs("alice", made())
	}
	require.Less(t, heapBytes()-base, 1<<20)
	runtime.KeepAlive(clients)
}

func TestPlainVerbsOnAKeyUnderItsOwnPolicy(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, lawFree, clock)
	used := func() int { return 60 - clients.TakeAs("alice", 0, lawPro).Remaining }
	require.True(t, clients.TakeAs("alice", 5, lawPro).Allowed)

	require.Equal(t, 5, clients.Tokens("alice"))
	require.Equal(t, 2, clients.Peek("alice", 3).Remaining)
	require.Equal(t, "free", clients.Peek("alice", 3).Policy)
	require.Equal(t, 5, used(), "asking changes nothing")
	require.True(t, clients.AllowN("alice", 3))
	require.Equal(t, 8, used())
	clients.Charge("alice", 2)
	require.Equal(t, 10, used())
	require.False(t, clients.Allow("alice"))
	clients.Refund("alice", 4)
	require.Equal(t, 6, used())
	require.True(t, clients.TakeAs("alice", 4, lawPro).Allowed)
	clients.Refund("alice", 100)
	require.Zero(t, used())
	require.True(t, clients.TakeAs("alice", 60, lawPro).Allowed)
	clients.Reset("alice")
	require.Zero(t, used())
	require.Equal(t, 10, clients.Tokens("alice"))
	require.Zero(t, clients.Len())

	require.True(t, clients.TakeAs("alice", 60, lawPro).Allowed)
	for range 60 { // a token of pro comes back in a minute, one of free in six
		clients.Peek("alice", 1)
		require.False(t, clients.AllowAs("alice", lawPro))
		clock.Advance(time.Minute)
		require.False(t, clients.TakeAs("alice", 2, lawPro).Allowed)
		require.True(t, clients.AllowAs("alice", lawPro))
	}
}

func TestTakeAsBehindReservations(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), clock)
	require.True(t, clients.AllowN("alice", 10))
	reserved := clients.Reserve("alice", 4)
	require.Equal(t, 4*time.Second, reserved.Delay())
	fast := weir.TokenBucket(weir.PerSecond(2).WithBurst(10))
	d := clients.TakeAs("alice", 1, fast)
	require.False(t, d.Allowed)
	require.Equal(t, 2500*time.Millisecond, d.RetryAfter, "behind the 4 at 2 s")
	require.Equal(t, 4*time.Second, reserved.Delay(), "denied: nothing is laid out again")
	clock.Advance(9 * time.Second)
	require.Zero(t, reserved.Delay())
	require.Equal(t, 5, clients.Tokens("alice"))

	require.True(t, clients.AllowN("bob", 10))
	reserved = clients.Reserve("bob", 5)
	require.Equal(t, 5*time.Second, reserved.Delay())
	clients.Refund("bob", 10)
	clock.Advance(4500 * time.Millisecond)
	d = clients.TakeAs("bob", 1, clients.Policy().Named("renamed"))
	require.True(t, d.Allowed, "it is paid back when the 5 are taken")
	require.Equal(t, 4, d.Remaining)
	require.Equal(t, 4, clients.Tokens("bob"))
	layers := weir.NewLayers(weir.By(clients, func(key string) (string, bool) { return key, true }), weir.Global[string](weir.New(lawPro)))
	require.False(t, layers.Take("bob", 5).Allowed)
	reserved.Cancel()
	require.True(t, layers.Take("bob", 5).Allowed, "a denial behind somebody who waits is not remembered")
}

// What a plan said to a client it says still when the policy of all is another in name only.
func TestADenialOutlivesANewName(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerDay(100)), clock)
	plan := weir.SlidingWindow(weir.PerHour(2))
	require.True(t, clients.AllowN("alice", 50))
	require.Equal(t, time.Hour, clients.TakeAs("alice", 1, plan).RetryAfter)
	require.NoError(t, clients.SetPolicy(clients.Policy().Named("renamed")))
	clock.Advance(time.Hour - 1)
	require.EqualValues(t, 1, clients.TakeAs("alice", 1, plan).RetryAfter)
	clock.Advance(1)
	require.True(t, clients.AllowAs("alice", plan))
}

// Between its making and its settling the key was under a policy with another kind of state.
func TestAReceiptThatWasCarriedGivesNothingBack(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.BurstReserve(weir.PerSecond(10).WithBurst(1), weir.PerSecond(10).WithBurst(2)), clock)
	require.Equal(t, 3, drain(func() bool { return clients.Allow("alice") }))
	reserved := clients.Reserve("alice", 1)
	require.Equal(t, 100*time.Millisecond, reserved.Delay())
	require.True(t, clients.TakeAs("alice", 3, weir.SlidingCounter(weir.Per(14, 3*time.Second))).Allowed)
	clock.Advance(6 * time.Second)
	require.Equal(t, 3, drain(func() bool { return clients.Allow("alice") }))
	reserved.Settle(0)
	require.False(t, clients.Allow("alice"))
}

// What was reserved since a plan denied stands before it when it is asked again.
func TestTakeAsAfterADenialIsBehindReservations(t *testing.T) {
	clients := newClients[string](t, weir.TokenBucket(weir.PerDay(20)), weir.NewManualClock())
	plan := weir.SlidingWindow(weir.PerDay(20))
	require.True(t, clients.AllowN("alice", 18))
	require.False(t, clients.TakeAs("alice", 4, plan).Allowed)
	reserved := clients.Reserve("alice", 4)
	require.Positive(t, reserved.Delay())
	d := clients.TakeAs("alice", 2, plan)
	require.False(t, d.Allowed)
	require.Equal(t, 24*time.Hour, d.RetryAfter)
	reserved.Cancel()
	require.True(t, clients.TakeAs("alice", 2, plan).Allowed)
	require.Zero(t, clients.TakeAs("alice", 0, plan).Remaining)
	require.False(t, clients.Allow("alice"))
}

func TestTakeAsHoldsAndDropsKeys(t *testing.T) {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10)), weir.WithClock(clock), weir.WithSweepEvery(time.Second))
	defer clients.Close()
	require.False(t, clients.TakeAs("nobody", 11, lawFree).Allowed)
	require.True(t, clients.TakeAs("nobody", 0, lawFree).Allowed)
	require.Zero(t, clients.Len())
	require.True(t, clients.TakeAs("alice", 10, lawFree).Allowed)
	require.True(t, clients.TakeAs("bob", 1, weir.SlidingWindow(weir.Per(3, 90*time.Second))).Allowed)
	require.True(t, clients.Allow("carol"))
	require.Equal(t, 3, clients.Len())
	clock.Advance(time.Second)
	require.Equal(t, 2, clients.Len(), "carol is full")
	clock.Advance(88 * time.Second)
	require.Equal(t, 2, clients.Len())
	clock.Advance(time.Second)
	require.Equal(t, 1, clients.Len(), "bob is full by his own policy")
	clock.Advance(58 * time.Minute)
	require.False(t, clients.TakeAs("alice", 10, lawFree).Allowed)
	require.Equal(t, 1, clients.Len())
	clock.Advance(30 * time.Second)
	require.Zero(t, clients.Len())
	require.Equal(t, weir.Stats{Allowed: 3, Denied: 2, Evicted: 3}, clients.Stats())
	require.True(t, clients.TakeAs("alice", 10, lawFree).Allowed)
}

func TestTakeAsWithMaxClients(t *testing.T) {
	for name, overflow := range overflows {
		clients := newClients[string](t, lawFree, weir.NewManualClock(), weir.WithMaxClients(2, overflow))
		require.True(t, clients.TakeAs("alice", 60, lawPro).Allowed)
		require.True(t, clients.TakeAs("bob", 50, lawEnterprise).Allowed)
		require.Equal(t, 2, clients.Len(), name)
		d := clients.TakeAs("carol", 1, lawPro)
		require.Equal(t, overflow != weir.DenyNew, d.Allowed, name)
		require.Equal(t, 2, clients.Len(), name)
		require.EqualValues(t, 1, clients.Stats().Overflowed, name)
		if overflow == weir.DenyNew {
			require.Zero(t, d.Remaining)
			require.Positive(t, d.RetryAfter)
			require.NotEqual(t, weir.Never, d.RetryAfter)
		}
		if overflow != weir.EvictFullest {
			require.False(t, clients.AllowAs("alice", lawPro), name)
			require.False(t, clients.AllowAs("bob", lawEnterprise), name)
		}
		if overflow == weir.ShareOverflow {
			got := drain(func() bool { return clients.AllowAs("carol", lawPro) || clients.AllowAs("dave", lawPro) })
			require.LessOrEqual(t, got, 59, name)
			require.False(t, clients.Allow("erin"), name)
		}
		require.Equal(t, weir.Never, clients.TakeAs("frank", 61, lawPro).RetryAfter, name)
	}
}

func TestTakeAsRefusesBadInput(t *testing.T) {
	clients := newClients[string](t, lawFree, weir.NewManualClock())
	for _, p := range []weir.Policy{{}, weir.FirstOf(), weir.TokenBucket(weir.Per(3, -time.Second)), weir.SlidingWindow(weir.PerSecond(1).WithBurst(2))} {
		for _, n := range []int{-1, 0, 1} {
			require.Equal(t, p.Validate().Error(), panicText(t, func() { clients.TakeAs("alice", n, p) }))
		}
		require.Equal(t, p.Validate().Error(), panicText(t, func() { clients.AllowAs("alice", p) }))
	}
	require.Equal(t, weir.Stats{}, clients.Stats())
	for _, n := range ints(-1, math.MinInt64, math.MinInt32) {
		d := clients.TakeAs("alice", n, lawPro)
		require.False(t, d.Allowed)
		require.Equal(t, weir.Never, d.RetryAfter)
		require.Equal(t, 60, d.Remaining)
	}
	require.Equal(t, weir.Decision{Allowed: true, Remaining: 60, Policy: "pro", Limit: 60}, clients.TakeAs("alice", 0, lawPro))
	require.Equal(t, weir.Stats{}, clients.Stats(), "uncounted")
	require.Equal(t, weir.Never, clients.TakeAs("alice", 61, lawPro).RetryAfter)
	require.Equal(t, weir.Stats{Denied: 1}, clients.Stats())
}

func TestTakeAsInShadow(t *testing.T) {
	clients := newClients[string](t, lawFree, weir.NewManualClock(), weir.WithShadow())
	require.True(t, clients.TakeAs("alice", 60, lawPro).Allowed)
	d := clients.TakeAs("alice", 2, lawPro)
	require.True(t, d.Allowed && d.Shadowed)
	require.Equal(t, 2*time.Minute, d.RetryAfter)
	require.True(t, clients.AllowAs("alice", lawPro))
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 2, Shadowed: 2, Clients: 1}, clients.Stats())
}

func TestTakeAsAllocatesNothingForAKnownKeyAndPolicy(t *testing.T) {
	for name, k := range lawKinds {
		for _, plain := range []weir.Policy{lawFree, lawEnterprise} {
			clients := newClients[string](t, plain, weir.SystemClock())
			for key, p := range map[string]weir.Policy{"spent": k.policy, "busy": weir.TokenBucket(weir.PerSecond(1_000_000)), "log": weir.SlidingWindow(weir.PerHour(100_000))} {
				for range 2000 {
					clients.AllowAs(key, p)
				}
				require.Zero(t, testing.AllocsPerRun(100, func() { clients.TakeAs(key, 1, p) }), "TakeAs of %s, %s", key, name)
				require.Zero(t, testing.AllocsPerRun(100, func() { clients.AllowAs(key, p) }), "AllowAs of %s, %s", key, name)
			}
		}
	}
}

// TestChangingPlansAllocatesNothing: from one call to the next, also where one denies.
func TestChangingPlansAllocatesNothing(t *testing.T) {
	pro := weir.TokenBucket(weir.PerSecond(20))
	logs := weir.All(weir.TokenBucket(weir.PerSecond(100)), weir.SlidingWindow(weir.PerMinute(1000)))
	for name, ask := range map[string]func(c *weir.PerClient[string]){
		"denied": func(c *weir.PerClient[string]) {
			c.Allow("k")
			c.TakeAs("k", 1000, pro)
		},
		"denied now": func(c *weir.PerClient[string]) { c.TakeAs("k", 9, logs); c.TakeAs("k", 20, lawFree) },
		"two plans":  func(c *weir.PerClient[string]) { c.TakeAs("k", 1, lawFree); c.TakeAs("k", 1, logs) },
	} {
		clock := weir.NewManualClock()
		c := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10)), weir.WithClock(clock), weir.WithSweepEvery(0))
		cycle := func() { ask(c); clock.Advance(300 * ms) }
		for range 100 {
			cycle()
		}
		require.Zero(t, testing.AllocsPerRun(100, cycle), name)
	}
}

// Goroutines ask for the same keys under two plans and the plain policy: together they get what the
// larger one holds.
func TestTakeAsFromManyGoroutines(t *testing.T) {
	const keys = 100
	long := weir.Per(50, lawWindow())
	for _, plans := range [][3]weir.Policy{
		{weir.TokenBucket(weir.PerDay(30)), weir.TokenBucket(weir.PerHour(20)), weir.TokenBucket(weir.PerDay(50))},
		{weir.TokenBucket(weir.PerDay(30)), weir.SlidingWindow(weir.PerHour(20)), weir.FixedWindow(long)},
		{weir.SlidingWindow(weir.PerDay(30)), weir.TokenBucket(weir.PerHour(20)), weir.All(weir.TokenBucket(weir.PerHour(50)), weir.SlidingCounter(long))},
	} {
		clients := newClients[int](t, plans[0], weir.SystemClock())
		var admitted [keys]atomic.Int64
		var calls atomic.Int64
		together(8, func(g int) {
			for i := range 200 {
				for key := range keys {
					ok := false
					switch (i + g) % 3 {
					case 0:
						ok = clients.Allow(key)
					case 1:
						ok = clients.AllowAs(key, plans[1])
					case 2:
						ok = clients.TakeAs(key, 1, plans[2]).Allowed
					}
					calls.Add(1)
					if ok {
						admitted[key].Add(1)
					}
				}
			}
		})
		for key := range keys {
			require.EqualValues(t, 50, admitted[key].Load(), "%v", plans)
		}
		stats := clients.Stats()
		require.EqualValues(t, keys*50, stats.Allowed)
		require.EqualValues(t, calls.Load(), stats.Allowed+stats.Denied)
		require.Equal(t, keys, clients.Len())
	}
}

// SetPolicy leaves a key under its own policy alone until a plain verb asks for it.
func TestSetPolicyBesideTakeAs(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, lawFree, clock)
	require.True(t, clients.TakeAs("alice", 30, lawPro).Allowed)
	require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.PerMinute(5))))
	require.Equal(t, 30, clients.TakeAs("alice", 0, lawPro).Remaining)
	clock.Advance(10 * time.Minute)
	require.Equal(t, 40, clients.TakeAs("alice", 0, lawPro).Remaining)
	require.Equal(t, 12*time.Second, clients.Take("alice", 1).RetryAfter, "20 used of 5")
	require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.PerMinute(25))))
	require.True(t, clients.AllowN("alice", 5))
	require.Equal(t, 35, clients.TakeAs("alice", 0, lawPro).Remaining)
}

// Layers remember what they denied, as a PerClient does.
func TestLayersAdmitAKeyUnderItsOwnPolicyWhenTheySaid(t *testing.T) {
	hundred := weir.TokenBucket(weir.Per(100, 24*time.Hour))
	for _, p := range []weir.Policy{weir.TokenBucket(weir.PerHour(2)), weir.SlidingWindow(weir.PerHour(2))} {
		for _, ask := range []func(*weir.Layers[visit]) time.Duration{
			func(l *weir.Layers[visit]) time.Duration { return l.Take(someone, 1).RetryAfter },
			func(l *weir.Layers[visit]) time.Duration { // which does not say
				if l.Allow(someone) {
					return 0
				}
				return l.Peek(someone, 1).RetryAfter
			},
		} {
			clock := weir.NewManualClock()
			clients := newClients[int](t, p, clock)
			wide := weir.New(weir.SlidingWindow(weir.PerHour(1000)), weir.WithClock(clock))
			layers := weir.NewLayers(weir.By(clients, byAddr), weir.Global[visit](wide))
			require.True(t, clients.TakeAs(1, 50, hundred).Allowed)
			wait := ask(layers)
			require.Positive(t, wait, p)
			clock.Advance(wait - 1)
			require.Equal(t, time.Duration(1), ask(layers), p)
			clock.Advance(1)
			require.Zero(t, ask(layers), p)
		}
	}
}

// A new key that there is no place for is told so by whatever is asked.
func TestTakeAsOfAKeyThatHasNoPlace(t *testing.T) {
	plan := weir.TokenBucket(weir.PerHour(7))
	for _, overflow := range []weir.Overflow{weir.DenyNew, weir.ShareOverflow} {
		clients := newClients[int](t, weir.TokenBucket(weir.PerHour(3)), weir.NewManualClock(), weir.WithMaxClients(1, overflow))
		require.True(t, clients.AllowN(1, 3))
		if overflow == weir.ShareOverflow {
			require.True(t, clients.Allow(2)) // of the state that they share
		}
		left := clients.Take(3, 0).Remaining
		for _, n := range []int{0, 8} {
			d := clients.TakeAs(3, n, plan)
			require.Equal(t, n == 0, d.Allowed)
			require.Equal(t, left, d.Remaining, "%v, %d", overflow, n)
		}
	}
}

// What is denied for ever to a new key is denied by the policy that it is asked under,
// if a full client would make way for it.
func TestTakeAsOfWhatIsNeverThereSaysWhichPolicyDenies(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(1)), clock, weir.WithMaxClients(1, weir.ShareOverflow))
	require.True(t, clients.Allow(1))
	clock.Advance(time.Second)
	for _, n := range []int{math.MinInt, -1, 2, math.MaxInt} {
		d := clients.TakeAs(2, n, weir.TokenBucket(weir.PerSecond(1)).Named("plan"))
		require.Equal(t, weir.Never, d.RetryAfter, n)
		require.Equal(t, "plan", d.Policy, n)
	}
}

// Whatever is asked for a new key while there is no place is counted once.
func TestOverflowedCountsEveryDecisionUnderPressure(t *testing.T) {
	three, seven := weir.TokenBucket(weir.PerHour(3)), weir.TokenBucket(weir.PerHour(7))
	for _, overflow := range []weir.Overflow{weir.DenyNew, weir.ShareOverflow, weir.EvictFullest} {
		clients := newClients[int](t, three, weir.NewManualClock(), weir.WithMaxClients(1, overflow))
		require.True(t, clients.AllowN(1, 3))
		for i, ask := range []func(){
			func() { clients.AllowN(2, 4) },
			func() { clients.Take(2, 4) },
			func() { clients.TakeAs(2, 8, seven) },
			func() { clients.Reserve(2, 4) },
			func() { _ = clients.WaitN(t.Context(), 2, 4) },
		} {
			ask()
			require.Equal(t, uint64(i+1), clients.Stats().Overflowed, overflow)
		}
		clients.Take(2, 0)
		clients.Peek(2, 1)
		clients.Take(2, -1)
		require.Equal(t, uint64(5), clients.Stats().Overflowed, overflow)
	}
}

// Which policy is in force is looked at before the clock, and the key's state after
// it.
func TestTakeAsKeepsItsPolicyWhileAnotherIsSet(t *testing.T) {
	for _, held := range []bool{false, true} {
		clock := &hookedClock{ManualClock: weir.NewManualClock()}
		clients := newClients[string](t, lawPro, clock)
		if held {
			require.True(t, clients.Allow("alice"))
		}
		clock.before = func() { require.NoError(t, clients.SetPolicy(lawFree)) }
		before := clients.Stats()
		d := clients.TakeAs("alice", 20, lawPro)
		require.Equal(t, "free", clients.Policy().Name())
		require.True(t, d.Allowed, "it is more than free ever admits")
		require.Equal(t, "pro", d.Policy)
		require.Equal(t, d.Remaining, clients.TakeAs("alice", 0, lawPro).Remaining)
		require.Equal(t, before.Allowed+1, clients.Stats().Allowed)
	}
}
