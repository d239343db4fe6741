package weir_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// Each TestCase is a case that broke another limiter; its comment names the thread. Those about
// arithmetic, 7 to 13, are with the limits.

// windowKinds are the policies that count in windows.
func windowKinds(l weir.Limit) []weir.Policy {
	return []weir.Policy{weir.FixedWindow(l), weir.SlidingWindow(l), weir.SlidingCounter(l)}
}

// golang/go#56287
func TestCase01AskingForNothingInThePastMintsNothing(t *testing.T) {
	clock := newSteppingClock(0)
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(10).WithBurst(1)), weir.WithClock(clock))
	admitted := 0
	for range 1000 {
		clock.set(100 * time.Millisecond)
		if limiter.Allow() {
			admitted++
		}
		clock.set(0)
		require.True(t, limiter.AllowN(0))
	}
	require.Equal(t, 1, admitted)
}

// golang/go#65508, golang/go#71360: the same with goroutines is TestAFloodIsAdmittedWhatItsReadingsAllow.
func TestCase02ReadingsOutOfOrderMintNothing(t *testing.T) {
	const perSecond, burst = 100_000, 100_000
	clock := newSteppingClock(0)
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(perSecond).WithBurst(burst)), weir.WithClock(clock))
	random := rand.New(rand.NewPCG(2, 2))
	admitted := 0
	for i := range 1_000_000 {
		now := time.Duration(i) * time.Microsecond
		clock.set(max(0, now-time.Duration(random.Int64N(int64(50*time.Microsecond)))))
		if limiter.Allow() {
			admitted++
		}
	}
	require.LessOrEqual(t, admitted, burst+perSecond)
	require.GreaterOrEqual(t, admitted, burst+perSecond-10)
}

// juju/ratelimit#22, juju/ratelimit#26
func TestCase03TheClockStepsBackEightHours(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := newSteppingClock(20 * time.Hour)
		limiter := weir.New(k.policy, weir.WithClock(clock))
		require.Equal(t, k.atOnce, drain(limiter.Allow))
		clock.advance(-8 * time.Hour)
		for range 480 {
			require.False(t, limiter.Allow())
			clock.advance(time.Minute)
		}
		clock.advance(time.Hour)
		require.Equal(t, k.atOnce, drain(limiter.Allow))
	})
}

// flippingClock reads the one instant and the other in turn.
type flippingClock struct {
	steppingClock
	other time.Duration
	calls atomic.Int64
}

func (c *flippingClock) Now() time.Duration {
	if c.calls.Add(1)%2 == 0 {
		return c.other
	}
	return c.steppingClock.Now()
}

// sethvargo/go-limiter#57
func TestCase04TheClockStepsBackDuringASweep(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for _, other := range []time.Duration{-8 * time.Hour, -1} {
			clock := &flippingClock{}
			clients := newClients[int](t, k.policy, clock)
			for key := range 50 {
				require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow(key) }))
			}
			clock.other = other
			for range 5 {
				require.Zero(t, clients.Sweep())
			}
			for key := range 50 {
				require.False(t, clients.Allow(key))
			}
		}
	})
}

// kubernetes/kubernetes#104623
func TestCase05OneClockDrivesEverything(t *testing.T) {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(1)), weir.WithClock(clock),
		weir.WithStaleAfter(30*time.Second), weir.WithSweepEvery(15*time.Second))
	defer clients.Close()
	require.True(t, clients.Allow("alice"))
	require.Equal(t, time.Minute, clients.Take("alice", 1).RetryAfter)
	for at := time.Duration(0); at < 90*time.Second; at += 15 * time.Second {
		require.Equal(t, 1, clients.Len(), "%v", at)
		clock.Advance(15 * time.Second)
	}
	require.Zero(t, clients.Len(), "full at 60 s, stale at 90 s")
	require.True(t, clients.Allow("alice"))
}

// golang/time#20, golang/go#71154
func TestCase06IdleForYears(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		limiter := weir.New(k.policy, weir.WithClock(clock))
		require.True(t, limiter.Allow())
		for _, years := range []time.Duration{1, 3, 10, 30, 100} {
			clock.Advance(years * year)
			require.Equal(t, k.perTake, limiter.Tokens())
			require.Equal(t, k.atOnce, drain(limiter.Allow))
		}
	})
}

// golang/go#54082
func TestCase14ANegativeNMintsNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clients := newClients[string](t, k.policy, weir.NewManualClock())
		require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
		for range 100 {
			d := clients.Take("alice", -5)
			require.False(t, d.Allowed)
			require.Equal(t, weir.Never, d.RetryAfter)
			require.False(t, clients.Allow("alice"))
		}
		require.False(t, clients.AllowN("bob", -5))
		require.Equal(t, 1, clients.Len())
	})
}

func TestCase15AnEnormousNIsRefusedForEver(t *testing.T) {
	l := weir.PerHour(2)
	for _, p := range append(windowKinds(l), weir.TokenBucket(l), weir.LeakyBucket(l, 9), weir.BurstReserve(l, l)) {
		clock := weir.NewManualClock()
		limiter := weir.New(p, weir.WithClock(clock))
		for range 3 {
			require.Equal(t, weir.Never, limiter.Take(math.MaxInt/2+1).RetryAfter)
			require.False(t, limiter.AllowN(math.MaxInt/2+1))
			clock.Advance(10 * year)
		}
		require.True(t, limiter.Allow())
	}
}

// throttled/throttled#97, golang/go#16854, golang/go#52584
func TestCase16NeverIsToldApartFromNotYet(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		limiter := weir.New(k.policy, weir.WithClock(weir.NewManualClock()))
		require.Equal(t, weir.Never, limiter.Take(k.perTake+1).RetryAfter)
		require.Equal(t, k.atOnce, drain(limiter.Allow), "nothing changed")
		require.Equal(t, weir.Never, limiter.Take(k.perTake+1).RetryAfter)
		notYet := limiter.Take(k.perTake)
		require.False(t, notYet.Allowed)
		require.Positive(t, notYet.RetryAfter)
		require.Less(t, notYet.RetryAfter, time.Hour)
	})
}

// gofiber/fiber#1580
func TestCase26TwiceTheLimitAroundAWindowsEnd(t *testing.T) {
	l := weir.Per(5, 100*time.Millisecond)
	for _, c := range []struct {
		policy weir.Policy
		after  int
	}{{weir.FixedWindow(l), 5}, {weir.SlidingWindow(l), 0}, {weir.SlidingCounter(l), 0}} {
		clock := weir.NewManualClock()
		limiter := weir.New(c.policy, weir.WithClock(clock))
		clock.Advance(99 * time.Millisecond)
		require.Equal(t, 5, drain(limiter.Allow))
		clock.Advance(time.Millisecond)
		require.Equal(t, c.after, drain(limiter.Allow), "%v", c.policy)
	}
	clock := weir.NewManualClock()
	limiter := weir.New(weir.SlidingWindow(l), weir.WithClock(clock))
	var log []time.Duration
	for range 2000 {
		clock.Advance(3 * time.Millisecond)
		if limiter.Allow() {
			log = append(log, clock.Now())
		}
		if n := len(log); n > 5 {
			require.GreaterOrEqual(t, log[n-1]-log[n-6], 100*time.Millisecond)
		}
	}
}

// mennanov/limiters#110, gofiber/fiber#2578
func TestCase27DeniedRequestsDoNotCount(t *testing.T) {
	for _, p := range append(windowKinds(weir.PerSecond(5)), weir.TokenBucket(weir.PerSecond(5)), weir.LeakyBucket(weir.PerSecond(5), 0)) {
		clock := weir.NewManualClock()
		limiter := weir.New(p, weir.WithClock(clock))
		drain(limiter.Allow)
		retry := limiter.Take(1).RetryAfter
		for left := retry; left > 0; left -= retry / 200 {
			require.Equal(t, left, limiter.Take(1).RetryAfter, "%v", p)
			clock.Advance(min(left, retry/200))
		}
		require.True(t, limiter.Allow(), "%v", p)
	}
}

// go-chi/httprate#2
func TestCase28FiftyAtOnceWithALimitOf25(t *testing.T) {
	l := weir.PerMinute(25)
	for _, p := range append(windowKinds(l), weir.TokenBucket(l)) {
		clients := newClients[string](t, p, weir.NewManualClock())
		var admitted atomic.Int64
		together(50, func(int) {
			if clients.Allow("alice") {
				admitted.Add(1)
			}
		})
		require.EqualValues(t, 25, admitted.Load(), "%v", p)
	}
}

// go-chi/httprate#47
func TestCase29RetryAfterIsTheWaitNotTheWindow(t *testing.T) {
	l := weir.PerMinute(2)
	for _, c := range []struct {
		policy weir.Policy
		wait   time.Duration
	}{
		{weir.FixedWindow(l), 15 * time.Second},
		{weir.SlidingWindow(l), 45 * time.Second},
		{weir.SlidingCounter(l), 45 * time.Second}, // of 2 in the previous window, half are out of view at 90 s
		{weir.TokenBucket(l), 15 * time.Second},
	} {
		clock := weir.NewManualClock()
		clock.Advance(30 * time.Second)
		limiter := weir.New(c.policy, weir.WithClock(clock))
		require.True(t, limiter.AllowN(2))
		clock.Advance(15 * time.Second)
		require.Equal(t, c.wait, limiter.Take(1).RetryAfter, "%v", c.policy)
	}
}

// mholt/caddy-ratelimit#44
func TestCase31ALogGrowsWithUseNotWithTheLimit(t *testing.T) {
	const keys = 10_000
	clock := weir.NewManualClock()
	clients := newClients[int](t, weir.SlidingWindow(weir.PerHour(1_000_000)), clock)
	base := heapBytes()
	for key := range keys {
		require.True(t, clients.Allow(key))
	}
	require.Less(t, heapBytes()-base, keys*400)
	runtime.KeepAlive(clients)
}

// elastic/apm-server#1367
func TestCase32AFullTableForgetsNoSpender(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for name, overflow := range overflows {
			clients := newClients[string](t, k.policy, weir.NewManualClock(), weir.WithMaxClients(2, overflow))
			require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("spender") }))
			others := 10
			if k.perTake == 1 {
				others = 1 // any other has spent as much as the spender
			}
			for i := range others {
				clients.Allow(fmt.Sprint("other ", i))
				require.Equal(t, 2, clients.Len(), name)
				require.False(t, clients.Allow("spender"), name)
			}
		}
	})
}

func TestCase33StalenessShorterThanTheRefill(t *testing.T) {
	l := weir.PerHour(1)
	for _, p := range []weir.Policy{weir.TokenBucket(l), weir.SlidingWindow(l), weir.FixedWindow(l), weir.LeakyBucket(l, 0)} {
		clock := weir.NewManualClock()
		clients := weir.NewPerClient[string](p, weir.WithClock(clock), weir.WithStaleAfter(time.Second), weir.WithSweepEvery(time.Second))
		require.True(t, clients.Allow("alice"))
		for range 359 {
			clock.Advance(10 * time.Second)
			require.False(t, clients.Allow("alice"), "%v", p)
		}
		clock.Advance(10 * time.Second)
		require.True(t, clients.Allow("alice"), "%v", p)
		require.NoError(t, clients.Close())
	}
}

// traefik/traefik#13704, sethvargo/go-limiter#54, ulule/limiter#86
func TestCase34And35AMillionClientsComeAndGo(t *testing.T) {
	const keys = 1_000_000
	clock := newSteppingClock(0)
	clients := newClients[uint64](t, weir.TokenBucket(weir.PerSecond(2)), clock)
	base := heapBytes()
	for key := range uint64(keys) {
		clients.Allow(key)
	}
	require.Equal(t, keys, clients.Len())
	peak := heapBytes() - base

	// Decisions are made while the sweep is under way: it does not hold the table.
	clock.set(400 * time.Millisecond)
	require.True(t, clients.AllowN(keys, 2))
	during := 0
	for round := 0; during < 100 && round < 50; round++ {
		began, swept := make(chan struct{}), make(chan struct{})
		go func() {
			close(began)
			clients.Sweep()
			close(swept)
		}()
		<-began
		for sweeping := true; sweeping; during++ {
			require.False(t, clients.Allow(keys))
			select {
			case <-swept:
				sweeping = false
			default:
			}
		}
	}
	require.GreaterOrEqual(t, during, 100)

	clock.set(700 * time.Millisecond)
	clients.Sweep()
	require.Equal(t, 1, clients.Len())
	require.Less(t, heapBytes()-base, peak/20, "given back without new traffic")
	require.False(t, clients.AllowN(keys, 2))
	runtime.KeepAlive(clients)
}

// ulule/limiter#230
func TestCase36TwoLimitersOneKey(t *testing.T) {
	clock := weir.NewManualClock()
	for range 3 {
		clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(2)), clock)
		require.Equal(t, 2, drain(func() bool { return clients.Allow("alice") }))
	}
}

// didip/tollbooth#84
func TestCase37CloseTwice(t *testing.T) {
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(2)))
	require.True(t, clients.Allow("alice"))
	require.NoError(t, clients.Close())
	require.NoError(t, clients.Close())
	requireNoGoroutineOfWeir(t)
	require.True(t, clients.Allow("alice"))
}

func TestCase38PartsInAnyOrderNeverLockEachOther(t *testing.T) {
	a, b := weir.TokenBucket(weir.PerMinute(500)), weir.SlidingWindow(weir.PerMinute(700))
	same := weir.New(weir.All(a, a), weir.WithClock(weir.NewManualClock()))
	ab, ba := weir.New(weir.All(a, b), weir.WithClock(weir.NewManualClock())), weir.New(weir.All(b, a), weir.WithClock(weir.NewManualClock()))
	var admitted [3]atomic.Int64
	together(16, func(int) {
		for range 100 {
			for i, l := range []*weir.Limiter{same, ab, ba} {
				if l.Allow() {
					admitted[i].Add(1)
				}
			}
		}
	})
	for i := range admitted {
		require.EqualValues(t, 500, admitted[i].Load())
	}
}
