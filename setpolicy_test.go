package weir_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"github.com/stretchr/testify/require"
)

// waitOfEmpty is how long one waits of whose every part all is used now.
func waitOfEmpty(p weir.Policy, clock weir.Clock, n int) time.Duration {
	if p.Parts() == nil {
		empty := model.NewLimiter(p, model.Options{Now: clock.Now})
		empty.Charge(empty.Peek(0).Remaining)
		return empty.Peek(n).RetryAfter
	}
	var waits []time.Duration
	for _, part := range p.Parts() {
		waits = append(waits, waitOfEmpty(part, clock, n))
	}
	if p.Algorithm() == weir.AlgorithmAll {
		return slices.Max(waits)
	}
	return slices.Min(waits)
}

// A limiter and three clients are walked through changes of their policy: among those to anything, some to
// the same one, renamed, or to another queue. What was used stays used, and nobody waits longer than if all
// was.
func TestSetPolicyCarriesByTheLaw(t *testing.T) {
	for seed := range programs(200) {
		c := randomly(seed)
		p, o := newPolicy(c), model.Options{MaxClients: pick(c, 0, 100, 100, 100, 100, 100, 100, 100)}
		w := newWorld(t, c, func(w *world) {
			w.addLimiter(p, o)
			w.addClients(p, o, 3)
		})
		for range 30 {
			before, of := w.real.peek()
			w.run(1, "Advance", "Advance", "Advance", "Take", "Take", "Take", "Take", "Take", "SetPolicy", "SetPolicy", "Sweep")
			after, under := w.real.peek()
			for i, d := range after {
				if w.program[len(w.program)-1].verb != "SetPolicy" || of[i].Equal(under[i]) {
					continue
				}
				if used := before[i].Limit - before[i].Remaining; of[i].Parts() == nil && under[i].Parts() == nil && d.Limit < math.MaxInt {
					require.LessOrEqual(t, d.Remaining, max(0, d.Limit-used), "seed %d: %v, then %v", seed, of[i], under[i])
				}
				for _, n := range []int{1, 2, 5} {
					wait := w.real.keys[i].Peek(n).RetryAfter
					require.LessOrEqual(t, wait, waitOfEmpty(under[i], w.clock, n), "seed %d: %v, then %v", seed, of[i], under[i])
				}
			}
		}
	}
}

// peek returns what is left to each key, and its policy.
func (s *side) peek() (left []weir.Decision, policies []weir.Policy) {
	for _, k := range s.keys {
		left, policies = append(left, k.Peek(0)), append(policies, k.Policy())
	}
	return left, policies
}

// lawClients makes a PerClient, most of the time one with few shards: to change the policy of many
// takes longer.
func lawClients[K comparable](t *testing.T, seed uint64, p weir.Policy, c weir.Clock) *weir.PerClient[K] {
	if seed%32 == 0 {
		return newClients[K](t, p, c)
	}
	return newClients[K](t, p, c, weir.WithMaxClients(100, weir.DenyNew))
}

// lawKinds are one policy of each kind, and what it admits at one instant.
var lawKinds = map[string]struct {
	policy weir.Policy
	atOnce int
	parts  []int // of what FirstOf admits
}{
	"token bucket":    {weir.TokenBucket(weir.Per(10, 10*time.Second)), 10, nil},
	"leaky bucket":    {weir.LeakyBucket(weir.Per(10, 10*time.Second), 4), 1, nil},
	"fixed window":    {weir.FixedWindow(weir.Per(12, 10*time.Second)), 12, nil},
	"sliding window":  {weir.SlidingWindow(weir.Per(9, 10*time.Second)), 9, nil},
	"sliding counter": {weir.SlidingCounter(weir.Per(11, 10*time.Second)), 11, nil},
	"all":             {weir.All(weir.TokenBucket(weir.PerMinute(10)), weir.SlidingWindow(weir.PerMinute(15))), 10, nil},
	"first of":        {weir.FirstOf(weir.TokenBucket(weir.PerMinute(4)), weir.FixedWindow(weir.PerMinute(10))), 14, []int{4, 10}},
	"burst reserve":   {weir.BurstReserve(weir.PerMinute(5), weir.PerMinute(2).WithBurst(8)), 13, []int{5, 8}},
	"three": {weir.All(weir.FixedWindow(weir.PerHour(30)), weir.SlidingCounter(weir.PerMinute(20)),
		weir.LeakyBucket(weir.PerSecond(1), 0)), 1, nil},
}

func TestSetPolicyFromEachKindToEach(t *testing.T) {
	for name, from := range lawKinds {
		for other, to := range lawKinds {
			for used := range from.atOnce + 1 {
				context := []any{"%d used of %s, then %s", used, name, other}
				clock := weir.NewManualClock()
				clock.Advance(3 * time.Second)
				limiter := weir.New(from.policy, weir.WithClock(clock))
				clients := lawClients[string](t, uint64(used+1), from.policy, clock)
				for range used {
					require.True(t, limiter.Allow())
					require.True(t, clients.Allow("alice"))
				}
				require.NoError(t, limiter.SetPolicy(to.policy))
				require.NoError(t, clients.SetPolicy(to.policy))
				left := max(0, to.atOnce-used)
				if from.parts != nil && to.parts != nil { // part by part
					first := min(used, from.parts[0])
					left = max(0, to.parts[0]-first) + max(0, to.parts[1]-(used-first))
				}
				require.Equal(t, left, drain(limiter.Allow), context...)
				require.Equal(t, left, drain(func() bool { return clients.Allow("alice") }), context...)
				require.Equal(t, to.atOnce, drain(func() bool { return clients.Allow("bob") }), context...)
			}
		}
	}
}

func TestSetPolicyOnAnErrorChangesNothing(t *testing.T) {
	invalid := []weir.Policy{{}, weir.All(), weir.TokenBucket(weir.Per(-1, time.Second)), weir.FixedWindow(weir.PerSecond(2).WithBurst(3))}
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		limiter := weir.New(k.policy, weir.WithClock(clock))
		clients := newClients[string](t, k.policy, clock)
		require.True(t, limiter.Allow() && clients.Allow("alice"))
		was, client, stats := limiter.Peek(1), clients.Peek("alice", 1), limiter.Stats()
		for _, p := range invalid {
			require.EqualError(t, limiter.SetPolicy(p), p.Validate().Error())
			require.EqualError(t, clients.SetPolicy(p), p.Validate().Error())
			require.True(t, limiter.Policy().Equal(k.policy) && clients.Policy().Equal(k.policy))
			require.Equal(t, was, limiter.Peek(1))
			require.Equal(t, client, clients.Peek("alice", 1))
			require.Equal(t, stats, limiter.Stats())
		}
	})
}

func TestSetPolicyToAnEqualOneChangesNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		reloaded, left := weir.New(k.policy, weir.WithClock(clock)), weir.New(k.policy, weir.WithClock(clock))
		clients := newClients[string](t, k.policy, clock)
		equal := k.policy.Named("x").Named(k.policy.Name())
		for range 2000 {
			require.NoError(t, reloaded.SetPolicy(equal))
			require.NoError(t, clients.SetPolicy(equal))
			want := left.Take(1)
			require.Equal(t, want, reloaded.Take(1))
			require.Equal(t, want, clients.Take("alice", 1))
			clock.Advance(17 * time.Millisecond)
		}
	})
}

// envoyproxy/ratelimit#744
func TestCase39ALowerLimitDoesNotStartAnew(t *testing.T) {
	for _, algorithm := range []func(weir.Limit) weir.Policy{weir.TokenBucket, weir.FixedWindow, weir.SlidingWindow, weir.SlidingCounter} {
		clients := newClients[string](t, algorithm(weir.PerHour(10)), weir.NewManualClock())
		require.Equal(t, 10, drain(func() bool { return clients.Allow("alice") }))
		require.NoError(t, clients.SetPolicy(algorithm(weir.PerHour(9))))
		require.False(t, clients.Allow("alice"))
		require.Equal(t, 9, clients.Take("alice", 1).Limit)
		require.NoError(t, clients.SetPolicy(algorithm(weir.PerHour(15))))
		require.Equal(t, 6, drain(func() bool { return clients.Allow("alice") }), "raised: seen at once")
	}
}

// nuetzliches/hookaido#239, volcano-sh/kthena#1013
func TestCase40AReloadKeepsWhatWasUsed(t *testing.T) {
	policy := func() weir.Policy {
		return weir.All(weir.TokenBucket(weir.PerSecond(10)), weir.SlidingWindow(weir.PerHour(100)))
	}
	clock := weir.NewManualClock()
	limiter, clients := weir.New(policy(), weir.WithClock(clock)), newClients[string](t, policy(), clock)
	admitted, client := 0, 0
	for range 300 {
		admitted += drain(limiter.Allow)
		client += drain(func() bool { return clients.Allow("alice") })
		clock.Advance(time.Second)
		require.NoError(t, limiter.SetPolicy(policy()))
		require.NoError(t, clients.SetPolicy(policy()))
	}
	require.Equal(t, 100, admitted)
	require.Equal(t, 100, client)
}

func TestALimitThatChangesEverySecondAdmitsNoMore(t *testing.T) {
	for _, c := range []struct {
		algorithm   func(weir.Limit) weir.Policy
		least, most int
	}{
		{weir.TokenBucket, 28, 30},
		{weir.SlidingWindow, 20, 20}, // the second ten at 3630 s, between 60 and 61 minutes
		{weir.SlidingCounter, 10, 30},
	} {
		clock := weir.NewManualClock()
		hour, more := c.algorithm(weir.PerHour(10)), c.algorithm(weir.Per(10, 61*time.Minute))
		limiter, clients := weir.New(hour, weir.WithClock(clock)), newClients[string](t, hour, clock, weir.WithMaxClients(100, weir.DenyNew))
		admitted, client := 0, 0
		for second := range 2 * 60 * 60 {
			p := hour
			if second%2 == 1 {
				p = more
			}
			require.NoError(t, limiter.SetPolicy(p))
			require.NoError(t, clients.SetPolicy(p))
			admitted += drain(limiter.Allow)
			client += drain(func() bool { return clients.Allow("alice") })
			clock.Advance(time.Second)
		}
		require.GreaterOrEqual(t, admitted, c.least, "%v", hour)
		require.LessOrEqual(t, admitted, c.most, "%v", hour)
		require.Equal(t, admitted, client, "%v", hour)
	}
}

func TestSetPolicyRevealsARaiseAndALoweringAtOnce(t *testing.T) {
	clock := weir.NewManualClock()
	limiter := weir.New(weir.TokenBucket(weir.PerMinute(6)), weir.WithClock(clock))
	require.Equal(t, 6, drain(limiter.Allow))
	clock.Advance(5 * time.Second) // half a token
	require.NoError(t, limiter.SetPolicy(weir.TokenBucket(weir.PerSecond(1).WithBurst(6))))
	require.Equal(t, 500*time.Millisecond, limiter.Take(1).RetryAfter)
	require.NoError(t, limiter.SetPolicy(weir.TokenBucket(weir.PerHour(1))))
	require.Equal(t, time.Hour, limiter.Take(1).RetryAfter, "no longer than one that starts empty")
	require.NoError(t, limiter.SetPolicy(weir.TokenBucket(weir.Unlimited())))
	require.True(t, limiter.AllowN(1<<30))
	require.NoError(t, limiter.SetPolicy(weir.TokenBucket(weir.PerHour(2))))
	require.Equal(t, 2, limiter.Tokens(), "nothing counts as used of what is not limited")
}

// The end of time is as far as anybody can wait.
func TestSetPolicyAtTheEndOfTime(t *testing.T) {
	clock := &setClock{now: math.MaxInt64 - int64(10*time.Second)}
	l := weir.New(weir.TokenBucket(weir.PerSecond(1).WithBurst(1)), weir.WithClock(clock))
	require.True(t, l.Allow())
	r := l.Reserve(1)
	require.Equal(t, time.Second, r.Delay())
	require.NoError(t, l.SetPolicy(weir.TokenBucket(weir.PerMinute(1))))
	require.ErrorIs(t, r.Err(), weir.ErrTooLong)
	require.False(t, l.Peek(1).Allowed)
}

// The policy that is in force already changes nothing: not even what can be given back, nor what is the newest
// reading.
func TestSetPolicyToTheSameChangesNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := &setClock{}
		limiter, clients := weir.New(k.policy, weir.WithClock(clock)), newClients[int](t, k.policy, clock)
		full, taken := limiter.Peek(1), []weir.Reservation{limiter.Reserve(1), clients.Reserve(1, 1)}
		before := limiter.Peek(1)
		clock.now = int64(300 * ms)
		require.NoError(t, limiter.SetPolicy(limiter.Policy()))
		require.NoError(t, clients.SetPolicy(clients.Policy()))
		clock.now = 0
		require.Equal(t, before, limiter.Peek(1))
		require.Equal(t, before, clients.Peek(1, 1))
		for _, r := range taken {
			r.Settle(0)
		}
		require.Equal(t, full, limiter.Peek(1))
		require.Equal(t, full, clients.Peek(1, 1))
	})
}

// TestWhatKeepsNoCountHasUsedNothing: it takes nothing from the policy that follows.
func TestWhatKeepsNoCountHasUsedNothing(t *testing.T) {
	for _, l := range []weir.Limit{weir.Unlimited(), {}} {
		limiter := weir.New(weir.All(weir.TokenBucket(l), weir.FixedWindow(weir.PerHour(1))), weir.WithClock(weir.NewManualClock()))
		require.NoError(t, limiter.SetPolicy(weir.SlidingWindow(weir.PerHour(3))))
		require.Equal(t, 3, limiter.Tokens())
	}
}
