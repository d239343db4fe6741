package weir_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// lawCarry is what becomes of a state under from when the policy is to from t on: the law of
// SetPolicy and TakeAs in the arithmetic of the oracle.
func lawCarry(old *plainPolicy, from, to weir.Policy, t *big.Int) *plainPolicy {
	fresh := newPlainPolicy(to)
	sameKind := from.Algorithm() == to.Algorithm()
	if fresh.state == nil || old.state == nil {
		if sameKind && len(old.parts) == len(fresh.parts) {
			for i := range fresh.parts {
				fresh.parts[i] = lawCarry(old.parts[i], from.Parts()[i], to.Parts()[i], t)
			}
		} else {
			lawCharge(fresh, t, lawUse(old, t))
		}
		return fresh
	}
	oldLimit, _ := from.Limit()
	newLimit, _ := to.Limit()
	if sameKind && oldLimit == newLimit {
		fresh.state = old.state
		return fresh
	}
	switch was := old.state.(type) {
	case *plainTokens:
		if is, ok := fresh.state.(*plainTokens); ok {
			is.last, is.level = t, lawTokens(was, is, t)
			return fresh
		}
	case *plainLog:
		if is, ok := fresh.state.(*plainLog); ok {
			is.log = lawStamps(was, is, t)
			return fresh
		}
	}
	lawCharge(fresh, t, lawUse(old, t))
	return fresh
}

// lawTokens carries fractions of tokens, rounded up to whole eighths of a nanosecond of debt.
func lawTokens(was, is *plainTokens, t *big.Int) *big.Rat {
	debt := new(big.Rat).Sub(big.NewRat(int64(was.burst), 1), was.levelAt(t))
	debt.Mul(debt, is.interval)
	debt = new(big.Rat).SetFrac(ceilRat(debt.Mul(debt, big.NewRat(8, 1))), bigInt(8))
	level := new(big.Rat).Sub(big.NewRat(int64(is.burst), 1), debt.Quo(debt, is.interval))
	if level.Sign() < 0 {
		return new(big.Rat)
	}
	return level
}

// lawStamps leaves each stamp the fraction of its life that it has left, the newest ones first.
func lawStamps(was, is *plainLog, t *big.Int) (log []plainEntry) {
	free := is.count
	for _, e := range slices.Backward(was.log) {
		age := minus(t, e.at)
		if age.Cmp(bigInt(was.period)) >= 0 || free == 0 {
			continue
		}
		age = floorDiv(age.Mul(age, bigInt(is.period)), bigInt(was.period))
		n := min(e.n, free)
		free -= n
		log = append(log, plainEntry{minus(t, age), n})
	}
	slices.Reverse(log)
	return log
}

// lawUse is how much of a state is used: the most of All's parts, the sum of FirstOf's.
func lawUse(p *plainPolicy, t *big.Int) (use int) {
	if _, constant := p.state.(plainSame); constant {
		return 0
	}
	if p.state != nil {
		return p.capacity - p.state.free(t)
	}
	for _, part := range p.parts {
		if p.algorithm == weir.AlgorithmAll {
			use = max(use, lawUse(part, t))
		} else {
			use += lawUse(part, t)
		}
	}
	return use
}

// lawCharge has a fresh state begin with a use, as far as it holds that, and returns how far.
func lawCharge(p *plainPolicy, t *big.Int, use int) int {
	switch {
	case p.state != nil:
		n := min(use, p.capacity)
		if n > 0 {
			p.state = p.state.taken(t, n)
		}
		return n
	case p.algorithm == weir.AlgorithmAll:
		took := math.MaxInt
		for _, part := range p.parts {
			took = min(took, lawCharge(part, t, use))
		}
		return took
	}
	rest := use
	for _, part := range p.parts {
		rest -= lawCharge(part, t, rest)
	}
	return use - rest
}

// lawKey is a client of the oracle whose policy changes.
type lawKey struct {
	*plainKey
	under  weir.Policy
	denied *lawKey // what it is under the policy by which it was last denied: its RetryAfter counts from then
}

func (k lawKey) carried(reading int64, p weir.Policy) lawKey {
	switch {
	case k.under.Equal(p):
		return k
	case k.denied != nil && k.denied.under.Equal(p):
		return *k.denied
	}
	t := k.instant(reading)
	return lawKey{plainKey: &plainKey{lawCarry(k.policy, k.under, p, t), k.newest}, under: p}
}

// lawWaitOfEmpty is how long a key waits of whose every part all is used at t.
func lawWaitOfEmpty(p weir.Policy, t *big.Int, n int) time.Duration {
	empty := newPlainPolicy(p)
	for _, leaf := range empty.leaves() {
		lawCharge(leaf, t, leaf.capacity)
	}
	_, wait := empty.slowest(t, n)
	return wait
}

// Three clients and a limiter are walked through changes of their policy: among those to anything,
// some to the same one, renamed, or to another queue.
func TestSetPolicyCarriesByTheLaw(t *testing.T) {
	for seed := range programs(300) {
		c := randomly(seed)
		policy := choosePolicy(c, 2)
		clock := &setClock{}
		limiter := weir.New(policy, weir.WithClock(clock))
		clients := lawClients[int](t, seed, policy, clock)
		keys := make([]lawKey, 3)
		for i := range keys {
			keys[i] = lawKey{plainKey: newPlainKey(policy), under: policy}
		}
		var last weir.Decision
		var history []string
		for range 40 {
			leaves := keys[0].policy.leaves()
			if k := c(6); k < 2 {
				clock.now = chooseReading(c, clock.now, last, leaves, false)
			}
			if c.oneIn(5) {
				next := choosePolicy(c, 2)
				switch c(8) {
				case 0:
					next = policy
				case 1:
					next = policy.Named("another")
				}
				history = append(history, fmt.Sprintf("at %d SetPolicy(%v)", clock.now, next))
				require.NoError(t, limiter.SetPolicy(next))
				require.NoError(t, clients.SetPolicy(next))
				require.True(t, limiter.Policy().Equal(next) && clients.Policy().Equal(next))
				for i := range keys {
					before := keys[i]
					keys[i] = keys[i].carried(clock.now, next)
					lawNoRefill(t, before, keys[i], clock.now)
				}
				policy = next
			}
			if c.oneIn(10) {
				clients.Sweep()
			}
			i, n := int(c(3)), chooseN(c, last, leaves)
			want, after := keys[i].take(clock.now, n)
			history = append(history, fmt.Sprintf("at %d key %d takes %d: %+v", clock.now, i, n, want))
			lawRequire(t, want, clients.Peek(i, n), seed, history)
			lawRequire(t, want, clients.Take(i, n), seed, history)
			if i == 0 {
				lawRequire(t, want, limiter.Take(n), seed, history)
			}
			keys[i].plainKey, last = after, want
		}
	}
}

// lawClients makes a PerClient, most of the time one with few shards: to change the policy of many
// takes longer.
func lawClients[K comparable](t *testing.T, seed uint64, p weir.Policy, c weir.Clock) *weir.PerClient[K] {
	if seed%32 == 0 {
		return newClients[K](t, p, c)
	}
	return newClients[K](t, p, c, weir.WithMaxClients(100, weir.DenyNew))
}

func lawRequire(t *testing.T, want, got weir.Decision, seed uint64, history []string) {
	t.Helper()
	if got != want {
		t.Fatalf("seed %d:\n%s\nis %+v", seed, strings.Join(history, "\n"), got)
	}
}

// lawNoRefill holds the oracle itself against the two promises of the law.
func lawNoRefill(t *testing.T, before, after lawKey, reading int64) {
	t.Helper()
	at := after.instant(reading)
	if _, leaf := before.under.Limit(); leaf && after.policy.state != nil {
		_, constant := before.policy.state.(plainSame)
		if use := before.policy.capacity - before.policy.free(at); !constant && after.policy.capacity < math.MaxInt {
			require.LessOrEqual(t, after.policy.free(at), max(0, after.policy.capacity-use))
		}
	}
	for _, n := range []int{1, 2, 5} {
		_, wait := after.policy.slowest(at, n)
		require.LessOrEqual(t, wait, lawWaitOfEmpty(after.under, at, n))
	}
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
