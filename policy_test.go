package weir_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// ask is one line of a timeline: at this instant ask for n, expect this.
type ask struct {
	at   time.Duration
	n    int
	want weir.Decision
}

// timeline puts the questions to a fresh limiter of p, first as Peek, then as Take.
func timeline(t *testing.T, p weir.Policy, asks []ask) {
	t.Helper()
	clock := &setClock{}
	limiter := weir.New(p, weir.WithClock(clock))
	for _, a := range asks {
		clock.now = int64(a.at)
		require.Equal(t, a.want, limiter.Peek(a.n), "Peek(%d) at %v", a.n, a.at)
		require.Equal(t, a.want, limiter.Take(a.n), "Take(%d) at %v", a.n, a.at)
	}
}

// yes and no make the Decision of an admission and of a denial by a policy of one part.
func yes(remaining int, reset time.Duration) weir.Decision {
	return weir.Decision{Allowed: true, Remaining: remaining, ResetAfter: reset}
}

func no(remaining int, retry, reset time.Duration) weir.Decision {
	return weir.Decision{Remaining: remaining, RetryAfter: retry, ResetAfter: reset}
}

// by fills in which policy of what capacity binds.
func by(name string, limit int, asks []ask) []ask {
	for i := range asks {
		asks[i].want.Policy, asks[i].want.Limit = name, limit
	}
	return asks
}

// awkward limits: intervals that are no whole number of anything, and the largest and smallest ones.
var awkward = []weir.Limit{
	weir.PerSecond(3), weir.PerSecond(7919), weir.PerSecond(999_983), weir.PerSecond(2_000_000_000),
	weir.Per(10, 13*time.Second), weir.Per(65_535, 100*time.Millisecond), weir.PerHour(10_000_000),
	weir.PerHour(1), weir.PerSecond(10), weir.PerMinute(60), weir.Per(7, 10*time.Nanosecond),
	weir.Per(1, time.Nanosecond), weir.Per(3, time.Nanosecond), weir.Per(2, 3*time.Nanosecond),
	weir.Per(5, 100*time.Millisecond), weir.PerDay(1), weir.Per(3, 29*year), weir.Every(30 * year), weir.Per(11, 7*year),
}

func everyAlgorithm(l weir.Limit) []weir.Policy {
	return []weir.Policy{weir.TokenBucket(l), weir.LeakyBucket(l, 3), weir.FixedWindow(l), weir.SlidingWindow(l), weir.SlidingCounter(l)}
}

// TestOraclePolicies walks each algorithm at each awkward limit, alone and in combinations.
func TestOraclePolicies(t *testing.T) {
	policies := make([]weir.Policy, 0, 200)
	for i, l := range awkward {
		leaves := everyAlgorithm(l)
		policies = append(policies, leaves...)
		next := everyAlgorithm(awkward[(i+1)%len(awkward)])
		policies = append(policies, weir.All(leaves[i%5], next[(i+2)%5]), weir.FirstOf(leaves[(i+1)%5], next[i%5]))
	}
	for _, l := range []weir.Limit{{}, weir.Unlimited(), weir.PerSecond(5).WithBurst(0)} {
		policies = append(policies, weir.TokenBucket(l), weir.LeakyBucket(l, 0))
	}
	for i, p := range policies {
		newWalk(t, p).run(randomly(uint64(1000+i)), 40, always, i%2 == 0)
	}
}

// TestOracleRandomPolicies walks random nestings of random policies.
func TestOracleRandomPolicies(t *testing.T) {
	for seed := range programs(150) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := randomly(seed)
			newWalk(t, choosePolicy(c, 3)).run(c, 40, always, seed%2 == 0)
		})
	}
}

// TestSweptDecidesLikeNeverSwept: a few clients, swept after every step, beside a model that never is; after
// the sweep those remain from whom something is still owed.
func TestSweptDecidesLikeNeverSwept(t *testing.T) {
	for seed := range programs(60) {
		c := randomly(seed)
		p := choosePolicy(c, 2)
		limits := leafLimits(p)
		clock := &setClock{now: pick(c, oldestTime, -1, 0, 1_700_000_000_000_000_000)}
		swept := newClients[int](t, p, clock)
		o := model.Options{Now: clock.Now}
		never, as := model.NewPerClient[int](p, o), model.NewPerClient[int](p, o)
		var last weir.Decision
		for range 30 {
			i := int(c(4))
			clock.now = chooseReading(c, clock.now, last, limits, false)
			n := chooseN(c, last, limits)
			last = never.Take(i, n)
			require.Equal(t, last, swept.Take(i, n), "seed %d: %v: client %d, %d at %d", seed, p, i, n, clock.now)
			as.Take(i, n)
			require.Equal(t, as.Sweep(), swept.Sweep(), "seed %d: %v: swept at %d", seed, p, clock.now)
			require.Equal(t, as.Len(), swept.Len(), "seed %d: %v: clients held after the sweep at %d", seed, p, clock.now)
		}
	}
}

// TestOddCounts: nothing is minted, nothing wraps, and what never fits is told apart from what does not fit yet.
func TestOddCounts(t *testing.T) {
	l := weir.PerHour(2)
	policies := everyAlgorithm(l)
	policies = append(policies, weir.All(policies...), weir.FirstOf(policies...), weir.All(policies[0], policies[0]))
	for _, p := range policies {
		t.Run(p.String(), func(t *testing.T) {
			clock := &setClock{now: 12_345}
			limiter := weir.New(p, weir.WithClock(clock))
			require.True(t, limiter.Allow())
			before := limiter.Peek(0)
			positive := ints(3, 1<<30, 1<<31, 1<<62, math.MaxInt-1, math.MaxInt)
			for _, n := range append(ints(-1, -5, math.MinInt, math.MinInt+1), positive...) {
				d := limiter.Take(n)
				require.False(t, d.Allowed, "%d", n)
				require.Equal(t, weir.Never, d.RetryAfter, "%d", n)
				require.False(t, limiter.AllowN(n), "%d", n)
			}
			require.True(t, limiter.AllowN(0))
			require.Equal(t, before, limiter.Take(0))
			require.Equal(t, uint64(1), limiter.Stats().Allowed)
			require.Equal(t, uint64(2*len(positive)), limiter.Stats().Denied, "negative numbers are not counted")
		})
	}
}

// TestClockStepsBackHours: no new tokens, and normal again when the clock has caught up.
func TestClockStepsBackHours(t *testing.T) {
	const hours = 8 * time.Hour
	l := weir.PerSecond(5)
	for _, p := range append(everyAlgorithm(l), weir.All(everyAlgorithm(l)...)) {
		t.Run(p.String(), func(t *testing.T) {
			clock := &setClock{now: int64(hours)}
			limiter := weir.New(p, weir.WithClock(clock))
			spent := limiter.Tokens()
			require.True(t, limiter.AllowN(spent))
			retry := limiter.Peek(1).RetryAfter
			clock.now = 0
			for range 10 {
				require.Equal(t, hours+retry, time.Duration(clock.now)+limiter.Take(1).RetryAfter)
				clock.now += int64(10 * time.Millisecond)
			}
			clock.now = int64(hours + retry - 1)
			require.False(t, limiter.Allow())
			clock.now++
			require.True(t, limiter.Allow())
		})
	}
}

// TestRacedReadingsDenyNobody: a reading taken before another's and used after it counts as the newer one.
func TestRacedReadingsDenyNobody(t *testing.T) {
	for _, p := range everyAlgorithm(weir.PerSecond(5)) {
		clock := &setClock{now: int64(time.Second)}
		limiter := weir.New(p, weir.WithClock(clock))
		all := limiter.Tokens()
		for range all {
			require.True(t, limiter.Allow(), "%v", p)
			clock.now -= 7
		}
		require.False(t, limiter.Allow(), "%v", p)
	}
}

func TestAllTimeline(t *testing.T) {
	const (
		s      = time.Second
		bucket = "token-bucket 2/s"
		hourly = "sliding-window 5/h"
	)
	timeline(t, weir.All(weir.TokenBucket(weir.PerSecond(2)), weir.SlidingWindow(weir.PerHour(5))), []ask{
		{0, 0, weir.Decision{Allowed: true, Remaining: 2, Policy: bucket, Limit: 2}},
		{0, 3, weir.Decision{Remaining: 2, RetryAfter: weir.Never, Policy: bucket, Limit: 2}},
		{0, 6, weir.Decision{Remaining: 2, RetryAfter: weir.Never, Policy: bucket, Limit: 2}},
		{0, 2, weir.Decision{Allowed: true, Remaining: 0, Policy: bucket, Limit: 2, ResetAfter: s}},
		{0, 1, weir.Decision{RetryAfter: s / 2, Policy: bucket, Limit: 2, ResetAfter: s}},
		{s, 2, weir.Decision{Allowed: true, Remaining: 0, Policy: bucket, Limit: 2, ResetAfter: s}},
		{2 * s, 0, weir.Decision{Allowed: true, Remaining: 1, Policy: hourly, Limit: 5, ResetAfter: 3599 * s}},
		{2 * s, 2, weir.Decision{Remaining: 1, RetryAfter: 3598 * s, Policy: hourly, Limit: 5, ResetAfter: 3599 * s}},
		{2 * s, 1, weir.Decision{Allowed: true, Remaining: 0, Policy: hourly, Limit: 5, ResetAfter: 3600 * s}},
		{2 * s, 1, weir.Decision{RetryAfter: 3598 * s, Policy: hourly, Limit: 5, ResetAfter: 3600 * s}},
		{3600*s - 1, 2, weir.Decision{RetryAfter: 1, Policy: hourly, Limit: 5, ResetAfter: 2*s + 1}},
		{3600 * s, 2, weir.Decision{Allowed: true, Remaining: 0, Policy: bucket, Limit: 2, ResetAfter: s}},
	})
}

// TestUnlimitedAndClosed: the two limits that time does not change.
func TestUnlimitedAndClosed(t *testing.T) {
	for _, p := range everyAlgorithm(weir.Unlimited()) {
		timeline(t, p, by(p.Name(), math.MaxInt, []ask{
			{0, math.MaxInt, yes(math.MaxInt, 0)}, {0, 1, yes(math.MaxInt, 0)}, {0, 0, yes(math.MaxInt, 0)},
			{0, -1, no(math.MaxInt, weir.Never, 0)},
		}))
		require.Equal(t, math.MaxInt, p.MaxWithin(1), "%v", p)
		require.Zero(t, p.MaxWithin(0), "%v", p)
	}
	for _, l := range []weir.Limit{{}, weir.PerSecond(0), weir.PerSecond(0).WithBurst(5), weir.PerSecond(5).WithBurst(0)} {
		for _, p := range []weir.Policy{weir.TokenBucket(l), weir.LeakyBucket(l, 1)} {
			timeline(t, p, by(p.Name(), 0, []ask{
				{0, 1, no(0, weir.Never, 0)}, {time.Hour, 1, no(0, weir.Never, 0)}, {0, 0, yes(0, 0)}, {0, -1, no(0, weir.Never, 0)},
			}))
			require.Zero(t, p.MaxWithin(time.Hour), "%v", p)
		}
	}
}

func TestMaxWithinOfCombinations(t *testing.T) {
	a, b := weir.TokenBucket(weir.PerSecond(10)), weir.SlidingWindow(weir.PerHour(15))
	require.Equal(t, 10, weir.All(a, b).MaxWithin(1))
	require.Equal(t, 15, weir.All(a, b).MaxWithin(time.Second))
	require.Equal(t, 15, weir.All(b, a).MaxWithin(time.Hour))
	require.Equal(t, 30, weir.All(a, b).MaxWithin(time.Hour+1))
	require.Equal(t, 25, weir.FirstOf(a, b).MaxWithin(1))
	require.Equal(t, 19+15, weir.FirstOf(a, b).MaxWithin(time.Second))
	require.Equal(t, 10, weir.All(weir.FirstOf(a, b), a).MaxWithin(1))
	require.Equal(t, math.MaxInt, weir.FirstOf(weir.TokenBucket(weir.Unlimited()), a, b).MaxWithin(1))
	require.Equal(t, 10, weir.All(weir.TokenBucket(weir.Unlimited()), a).MaxWithin(1))
	require.Zero(t, weir.FirstOf(a, b).MaxWithin(0))
	require.Zero(t, weir.All(a, b).MaxWithin(-time.Second))
}

func TestPolicyAccessors(t *testing.T) {
	l := weir.PerSecond(100)
	for _, test := range []struct {
		policy    weir.Policy
		algorithm weir.Algorithm
		text      string
	}{
		{weir.TokenBucket(l), weir.AlgorithmTokenBucket, "token-bucket 100/s"},
		{weir.TokenBucket(l.WithBurst(20)), weir.AlgorithmTokenBucket, "token-bucket 100/s burst 20"},
		{weir.LeakyBucket(weir.PerSecond(5), 10), weir.AlgorithmLeakyBucket, "leaky-bucket 5/s queue 10"},
		{weir.LeakyBucket(weir.PerSecond(5), 0), weir.AlgorithmLeakyBucket, "leaky-bucket 5/s"},
		{weir.FixedWindow(weir.Per(5, 10*time.Second)), weir.AlgorithmFixedWindow, "fixed-window 5/10s"},
		{weir.SlidingWindow(weir.PerHour(1000)), weir.AlgorithmSlidingWindow, "sliding-window 1000/h"},
		{weir.SlidingCounter(weir.PerMinute(60)), weir.AlgorithmSlidingCounter, "sliding-counter 60/m"},
		{weir.TokenBucket(weir.Unlimited()), weir.AlgorithmTokenBucket, "token-bucket unlimited"},
		{weir.FixedWindow(weir.Limit{}), weir.AlgorithmFixedWindow, "fixed-window 0"},
		{
			weir.All(weir.TokenBucket(weir.PerSecond(10)), weir.SlidingWindow(weir.PerHour(1000))),
			weir.AlgorithmAll, "all(token-bucket 10/s, sliding-window 1000/h)",
		},
		{
			weir.FirstOf(weir.All(weir.TokenBucket(weir.PerDay(7)).Named("a, b")), weir.LeakyBucket(l, 1)),
			weir.AlgorithmFirstOf, `first-of(all(token-bucket 7/d as "a, b"), leaky-bucket 100/s queue 1)`,
		},
	} {
		p := test.policy
		require.NoError(t, p.Validate())
		require.Equal(t, test.text, p.String())
		require.Equal(t, test.text, p.Name())
		require.Equal(t, test.text, fmt.Sprint(p))
		require.Equal(t, test.algorithm, p.Algorithm())
		limit, ok := p.Limit()
		require.Equal(t, ok, p.Parts() == nil, "a policy has a limit or parts")
		require.Equal(t, !ok, limit == weir.Limit{} && test.text != "fixed-window 0", test.text)

		named := p.Named(`say "hi"`)
		require.Equal(t, `say "hi"`, named.Name())
		require.Equal(t, test.text+` as "say \"hi\""`, named.String())
		require.Equal(t, test.text, p.Name(), "Named changes a copy")
		require.Equal(t, p.Algorithm(), named.Algorithm())
		require.Equal(t, p.MaxWithin(time.Minute), named.MaxWithin(time.Minute))
		require.Equal(t, `say "hi"`, weir.New(p.Named(`say "hi"`)).Policy().Name())
		require.True(t, weir.New(p).Policy().Equal(p))
	}
	l2, ok := weir.TokenBucket(l.WithBurst(20)).Limit()
	require.True(t, ok)
	require.Equal(t, l.WithBurst(20), l2)
}

func TestAlgorithmString(t *testing.T) {
	for a, text := range map[weir.Algorithm]string{
		weir.AlgorithmTokenBucket: "token-bucket", weir.AlgorithmLeakyBucket: "leaky-bucket", weir.AlgorithmFixedWindow: "fixed-window",
		weir.AlgorithmSlidingWindow: "sliding-window", weir.AlgorithmSlidingCounter: "sliding-counter",
		weir.AlgorithmAll: "all", weir.AlgorithmFirstOf: "first-of",
	} {
		require.Equal(t, text, a.String())
	}
	require.NotEmpty(t, weir.Algorithm(200).String())
}

// TestPolicyIsImmutable: neither the slice it was made of nor the one it gives out leads inside.
func TestPolicyIsImmutable(t *testing.T) {
	a, b := weir.TokenBucket(weir.PerSecond(1)), weir.TokenBucket(weir.PerSecond(2))
	parts := []weir.Policy{a, a}
	p := weir.All(parts...)
	parts[0] = b
	require.True(t, p.Parts()[0].Equal(a))
	p.Parts()[1] = b
	require.True(t, p.Parts()[1].Equal(a))
	require.True(t, p.Equal(weir.All(a, a)))
}

// TestPolicyEqual compares each with each: equal are those alone that were made alike.
func TestPolicyEqual(t *testing.T) {
	l, m := weir.PerSecond(10), weir.PerMinute(600)
	a, b := weir.TokenBucket(l), weir.SlidingWindow(l)
	make := func() []weir.Policy {
		policies := []weir.Policy{
			{}, weir.TokenBucket(l.WithBurst(5)), a.Named("a"), b.Named("a"), weir.LeakyBucket(l, 0), weir.LeakyBucket(l, 4),
			weir.All(a), weir.All(a, b), weir.All(b, a), weir.FirstOf(a, b), weir.All(a, b.Named("a")), weir.All(a, b).Named("a"),
			weir.All(weir.All(a, b)), weir.All(weir.FirstOf(a, b)), weir.BurstReserve(l, m), weir.All(a, a, b),
			weir.TokenBucket(weir.Limit{}), weir.TokenBucket(weir.Unlimited()), weir.FirstOf(a, b).Named("a"), weir.All(b, a).Named("a"),
			weir.LeakyBucket(l, 0).Named("a"), weir.LeakyBucket(l, 4).Named("a"), weir.LeakyBucket(m, 4).Named("a"),
		}
		for _, limit := range []weir.Limit{l, m} {
			policies = append(policies, weir.TokenBucket(limit), weir.FixedWindow(limit), weir.SlidingWindow(limit), weir.SlidingCounter(limit))
		}
		return policies
	}
	first, second := make(), make()
	for i, p := range first {
		for j, q := range second {
			require.Equal(t, i == j, p.Equal(q), "%v and %v", p, q)
		}
	}
	require.True(t, a.Equal(weir.TokenBucket(l.WithBurst(10))))
}
