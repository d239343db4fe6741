package weir_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// lawWindow returns a period of at least a thousand hours of which now is far from either end: no
// window of it begins or ends during a test on the system clock.
func lawWindow() time.Duration {
	for period := 1000 * time.Hour; ; period += time.Hour {
		if now := weir.SystemClock().Now() % period; now > 10*time.Hour && now < period-10*time.Hour {
			return period
		}
	}
}

// lawTwenties are policies of which a key gets 20 and, during a test, no more: they go from one
// layout of the state to another and back.
func lawTwenties() []weir.Policy {
	long := weir.Per(20, lawWindow())
	return []weir.Policy{
		weir.TokenBucket(weir.PerHour(20)),
		weir.TokenBucket(weir.PerDay(20)),
		weir.FixedWindow(long),
		weir.TokenBucket(weir.Per(20, 97*time.Minute)),
		weir.SlidingWindow(weir.PerHour(20)),
		weir.All(weir.TokenBucket(weir.PerDay(20)), weir.SlidingWindow(long)),
		weir.SlidingCounter(long),
		weir.SlidingWindow(long),
		weir.All(weir.TokenBucket(weir.PerHour(20)), weir.TokenBucket(weir.PerDay(20))),
		weir.TokenBucket(weir.PerHour(20)).Named("plan"),
		weir.All(weir.FixedWindow(long), weir.SlidingCounter(long), weir.TokenBucket(weir.PerHour(25))),
	}
}

// lawReload sets one policy after another until told to stop, and counts how often it did.
func lawReload(t *testing.T, set func(weir.Policy) error, policies []weir.Policy, random bool, changes *atomic.Int64, stop <-chan struct{}) {
	for i := 0; ; i = (i + 1) % len(policies) {
		select {
		case <-stop:
			return
		default:
		}
		if random {
			i = rand.IntN(len(policies))
		}
		if err := set(policies[i]); err != nil {
			t.Errorf("SetPolicy(%v): %v", policies[i], err)
		}
		changes.Add(1)
	}
}

func TestSetPolicyUnderLoadLosesAndDoublesNothing(t *testing.T) {
	const goroutines, keys, rounds, leastChanges = 8, 500, 20, 50
	for name, setters := range map[string]int{"one": 1, "several": 3} {
		t.Run(name, func(t *testing.T) {
			policies := lawTwenties()
			clients := newClients[int](t, policies[0], weir.SystemClock())
			var admitted [keys]atomic.Int64
			var calls, changes atomic.Int64
			stop := make(chan struct{})
			var reloads sync.WaitGroup
			for range setters {
				reloads.Go(func() { lawReload(t, clients.SetPolicy, policies, setters > 1, &changes, stop) })
			}
			together(goroutines, func(g int) {
				random := rand.New(rand.NewPCG(uint64(g), 4))
				for round := 0; round < rounds || changes.Load() < leastChanges; round++ {
					first := random.IntN(keys)
					for i := range keys {
						key := (first + i) % keys
						var allowed bool
						switch random.IntN(3) {
						case 0:
							allowed = clients.Take(key, 1).Allowed
						case 1:
							clients.Peek(key, 1)
							fallthrough
						default:
							allowed = clients.Allow(key)
						}
						calls.Add(1)
						if allowed {
							admitted[key].Add(1)
						}
					}
				}
			})
			close(stop)
			reloads.Wait()
			for key := range keys {
				require.EqualValues(t, 20, admitted[key].Load(), "key %d", key)
				require.Zero(t, clients.Tokens(key))
			}
			stats := clients.Stats()
			require.EqualValues(t, keys*20, stats.Allowed)
			require.EqualValues(t, calls.Load(), stats.Allowed+stats.Denied)
			require.Equal(t, keys, clients.Len())
		})
	}
}

// Of a Limiter too, between a state of one word and one of several.
func TestSetPolicyUnderLoadOnALimiter(t *testing.T) {
	const goroutines, leastCalls, leastChanges = 8, 300, 50
	for round := range 30 {
		policies := lawTwenties()
		limiter := weir.New(policies[round%len(policies)])
		var admitted, calls, denied, changes atomic.Int64
		stop := make(chan struct{})
		var reloads sync.WaitGroup
		for range 1 + round%3 {
			reloads.Go(func() { lawReload(t, limiter.SetPolicy, policies, round%2 == 1, &changes, stop) })
		}
		together(goroutines, func(g int) {
			for i := 0; i < leastCalls || changes.Load() < leastChanges; i++ {
				n := 1
				if i < leastCalls-50 {
					n += (g + i) % 2
				}
				calls.Add(1)
				if limiter.AllowN(n) {
					admitted.Add(int64(n))
				} else {
					denied.Add(1)
				}
				limiter.Peek(1)
			}
		})
		close(stop)
		reloads.Wait()
		require.EqualValues(t, 20, admitted.Load(), "round %d", round)
		require.Zero(t, limiter.Tokens())
		stats := limiter.Stats()
		require.EqualValues(t, calls.Load(), stats.Allowed+stats.Denied)
		require.EqualValues(t, denied.Load(), stats.Denied)
	}
}

// New keys come while the policy changes: each is seen under one policy or the other, once.
func TestSetPolicyWhileKeysComeAndGo(t *testing.T) {
	const goroutines, each = 8, 4000
	policies := lawTwenties()
	clock := weir.NewManualClock()
	clock.Advance(20 * time.Hour)
	clients := weir.NewPerClient[int](policies[0], weir.WithClock(clock), weir.WithSweepEvery(time.Second))
	defer clients.Close()
	stop := make(chan struct{})
	var others sync.WaitGroup
	var changes atomic.Int64
	others.Go(func() { lawReload(t, clients.SetPolicy, policies, false, &changes, stop) })
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				clients.Sweep()
				clients.Stats()
			}
		}
	})
	together(goroutines, func(g int) {
		for i := range each {
			if key := g*each + i; !clients.AllowN(key, 15) || clients.AllowN(key, 6) || !clients.AllowN(key, 5) || clients.Allow(key) {
				t.Errorf("key %d did not get its 20", key)
				return
			}
			if i%3 == 0 {
				clients.Reset(g*each + i)
			}
		}
	})
	close(stop)
	others.Wait()
	require.EqualValues(t, goroutines*each*2, clients.Stats().Allowed)
	require.Equal(t, goroutines*(each-(each+2)/3), clients.Len())
	clock.Advance(3 * year)
	clients.Sweep()
	require.Zero(t, clients.Len())
}

func TestSetPolicyWithMaxClients(t *testing.T) {
	policies := []weir.Policy{
		weir.TokenBucket(weir.PerDay(20)), weir.SlidingWindow(weir.PerHour(20)), weir.FixedWindow(weir.PerDay(20)),
		weir.All(weir.TokenBucket(weir.PerHour(20)), weir.SlidingCounter(weir.PerDay(20))), weir.TokenBucket(weir.PerHour(20)),
	}
	for name, overflow := range overflows {
		for i, from := range policies {
			to := policies[(i+1)%len(policies)]
			clients := newClients[string](t, from, weir.NewManualClock(), weir.WithMaxClients(3, overflow))
			for _, key := range []string{"alice", "bob", "carol"} {
				require.True(t, clients.AllowN(key, 20))
			}
			before := clients.Stats()
			newcomer := clients.Take("dave", 20)
			require.NoError(t, clients.SetPolicy(to))
			context := []any{"%s, %v to %v", name, from, to}
			require.Equal(t, 3, clients.Len(), context...)
			switch overflow {
			case weir.DenyNew:
				require.False(t, newcomer.Allowed, context...)
				require.False(t, clients.Take("dave", 1).Allowed, context...)
			case weir.ShareOverflow:
				require.True(t, newcomer.Allowed, context...)
				require.False(t, clients.Allow("dave"), context...)
				require.False(t, clients.Allow("erin"), context...)
			case weir.EvictFullest:
				require.True(t, newcomer.Allowed, context...)
				require.False(t, clients.Allow("dave"), context...)
			}
			if overflow != weir.EvictFullest {
				for _, key := range []string{"alice", "bob", "carol"} {
					require.False(t, clients.Allow(key), context...)
				}
				require.Greater(t, clients.Stats().Overflowed, before.Overflowed, context...)
			}
			require.Equal(t, 3, clients.Len(), context...)
		}
	}
}

// Of a full table the one is forgotten of whose capacity, under the policy of now, the least is used.
func TestSetPolicyThenEvictFullest(t *testing.T) {
	clients := newClients[string](t, weir.TokenBucket(weir.PerDay(20)), weir.NewManualClock(), weir.WithMaxClients(3, weir.EvictFullest))
	for key, n := range map[string]int{"alice": 20, "bob": 3, "carol": 19} {
		require.True(t, clients.AllowN(key, n))
	}
	require.NoError(t, clients.SetPolicy(weir.SlidingWindow(weir.PerDay(40))))
	require.True(t, clients.AllowN("dave", 40))
	require.Equal(t, 20, clients.Tokens("alice"))
	require.Equal(t, 40, clients.Tokens("bob"), "forgotten")
	require.Equal(t, 21, clients.Tokens("carol"))
	require.Zero(t, clients.Tokens("dave"))
}

// What a key owes counts from the change on by the new policy, whether anybody asks for it or not.
func TestSetPolicyThenSweep(t *testing.T) {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(10)), weir.WithClock(clock), weir.WithSweepEvery(time.Second))
	defer clients.Close()
	require.True(t, clients.AllowN("alice", 10))
	require.True(t, clients.AllowN("bob", 5))
	clock.Advance(time.Minute)
	require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.Per(10, 10*time.Second))))
	clock.Advance(5 * time.Second) // bob owes 4.83 s, alice 9.83 s
	require.Equal(t, 1, clients.Len())
	require.NoError(t, clients.SetPolicy(weir.SlidingWindow(weir.PerMinute(10))))
	clock.Advance(59 * time.Second)
	require.Equal(t, 1, clients.Len())
	require.Equal(t, 5, clients.Tokens("alice"))
	clock.Advance(time.Second)
	require.Zero(t, clients.Len())
	require.EqualValues(t, 2, clients.Stats().Evicted)
	require.True(t, clients.AllowN("alice", 10))
	require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.PerHour(10))))
	clock.Advance(30 * time.Minute)
	require.Equal(t, 1, clients.Len())
	require.Equal(t, 5, clients.Tokens("alice"))
	require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.Unlimited())))
	clock.Advance(time.Second)
	require.Zero(t, clients.Len())
}

// The change counts from its instant for a key that nobody asks for until much later.
func TestSetPolicyCountsFromItsInstant(t *testing.T) {
	for name, from := range lawKinds {
		for other, to := range lawKinds {
			clock := weir.NewManualClock()
			clock.Advance(3 * time.Second)
			asked, left := newClients[int](t, from.policy, clock), newClients[int](t, from.policy, clock)
			for key := range 20 {
				for range key {
					asked.Allow(key)
					left.Allow(key)
				}
			}
			clock.Advance(400 * time.Millisecond)
			for _, p := range []weir.Policy{to.policy, from.policy, to.policy} {
				require.NoError(t, asked.SetPolicy(p))
				require.NoError(t, left.SetPolicy(p))
				for key := range 20 {
					asked.Peek(key, 1)
				}
			}
			clock.Advance(1700 * time.Millisecond)
			for key := range 20 {
				require.Equal(t, asked.Take(key, 1), left.Take(key, 1), "%s to %s, key %d", name, other, key)
			}
		}
	}
}

// So it does for a key of which a receipt is known, and one that somebody waits for, if
// the clock steps back.
func TestSetPolicyCountsFromItsInstantForAKeyThatIsApart(t *testing.T) {
	policy := weir.All(weir.TokenBucket(weir.PerSecond(1)))
	clock := weir.NewManualClock()
	clients := newClients[int](t, policy, clock)
	require.Zero(t, clients.Reserve(1, 1).Delay())
	clients.Refund(1, 1) // what is noted of it keeps the key apart
	require.True(t, clients.Allow(2))
	clients.Refund(2, 1)
	require.True(t, clients.Allow(3))
	require.Equal(t, time.Second, clients.Reserve(3, 1).Delay())
	clock.Advance(10)
	require.NoError(t, clients.SetPolicy(policy.Named("another")))
	clock.Advance(-10)
	require.Equal(t, time.Second+10, clients.Take(1, 1).ResetAfter)
	require.Equal(t, time.Second+10, clients.Take(2, 1).ResetAfter)
	require.Equal(t, 2*time.Second, clients.Take(3, 1).RetryAfter)
}

// What is full by then stays full.
func TestANewNameForAPolicyOfWhichAKeyIsFull(t *testing.T) {
	policy := weir.All(weir.TokenBucket(weir.Per(1, 997)), weir.FixedWindow(weir.PerSecond(1)))
	clock := weir.NewManualClock()
	clients := newClients[int](t, policy, clock)
	require.True(t, clients.Allow(1))
	require.False(t, clients.TakeAs(1, 1, policy.Named("a")).Allowed) // and what is denied is noted, apart
	clock.Advance(time.Second)
	require.NoError(t, clients.SetPolicy(policy.Named("b")))
	require.Equal(t, weir.Decision{Allowed: true, Remaining: 1, Policy: "token-bucket 1/997ns", Limit: 1}, clients.Peek(1, 0))
}
