package weir_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// policyKind is a policy and what it admits from full at one instant: at most perTake in one Take,
// and atOnce by ones. The two differ where several parts can pay.
type policyKind struct {
	name            string
	policy          weir.Policy
	perTake, atOnce int
}

func policyKinds() []policyKind {
	tenBucket, tenLog := weir.TokenBucket(weir.PerSecond(10)), weir.SlidingWindow(weir.PerSecond(10))
	return []policyKind{
		{"token bucket", tenBucket, 10, 10},
		{"token bucket with burst", weir.TokenBucket(weir.Per(10, 1300*time.Millisecond).WithBurst(25)), 25, 25},
		{"leaky bucket", weir.LeakyBucket(weir.PerSecond(10), 0), 1, 1},
		{"leaky bucket with queue", weir.LeakyBucket(weir.PerSecond(7), 5), 1, 1},
		{"fixed window", weir.FixedWindow(weir.PerSecond(10)), 10, 10},
		{"sliding window", tenLog, 10, 10},
		{"sliding counter", weir.SlidingCounter(weir.PerSecond(10)), 10, 10},
		{"burst reserve", weir.BurstReserve(weir.PerSecond(10), weir.PerSecond(2).WithBurst(15)), 15, 25},
		{"all", weir.All(weir.TokenBucket(weir.PerSecond(10).WithBurst(20)), weir.FixedWindow(weir.PerSecond(10))), 10, 10},
		{"first of", weir.FirstOf(tenLog, weir.TokenBucket(weir.PerSecond(3).WithBurst(5))), 10, 15},
		{"all of token buckets", weir.All(weir.TokenBucket(weir.PerSecond(10)), weir.TokenBucket(weir.PerMinute(120).WithBurst(10))), 10, 10},
		{"nested", weir.All(weir.FirstOf(tenBucket, weir.SlidingWindow(weir.PerMinute(4))), weir.SlidingCounter(weir.PerSecond(12))), 10, 12},
	}
}

// forEachKind runs a subtest for every kind of policy.
func forEachKind(t *testing.T, test func(t *testing.T, k policyKind)) {
	for _, k := range policyKinds() {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// drain takes one at a time until denied and says how many there were.
func drain(allow func() bool) int {
	for n := 0; ; n++ {
		if n > 1<<20 || !allow() {
			return n
		}
	}
}

// ints returns those of the numbers that an int holds.
func ints(numbers ...int64) (held []int) {
	for _, n := range numbers {
		if int64(int(n)) == n {
			held = append(held, int(n))
		}
	}
	return held
}

// panicText runs f, which must panic, and returns the text.
func panicText(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		reason := recover()
		require.NotNil(t, reason, "no panic")
		text = fmt.Sprint(reason)
	}()
	f()
	return ""
}

func TestLimiterAdmitsWhatThePolicyHoldsAndNoMore(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		limiter := weir.New(k.policy, weir.WithClock(clock))
		require.True(t, limiter.Policy().Equal(k.policy))
		require.Equal(t, k.perTake, limiter.Tokens())
		require.Equal(t, k.atOnce, drain(limiter.Allow))
		require.Zero(t, limiter.Tokens())
		clock.Advance(time.Hour)
		require.Equal(t, k.atOnce, drain(limiter.Allow))
	})
}

func TestLimiterVerbsAgree(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		allow, allowN, take := weir.New(k.policy, weir.WithClock(clock)), weir.New(k.policy, weir.WithClock(clock)), weir.New(k.policy, weir.WithClock(clock))
		random := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			clock.Advance(time.Duration(random.IntN(150)) * time.Millisecond)
			d := take.Take(1)
			require.Equal(t, d.Allowed, allow.Allow())
			require.Equal(t, d.Allowed, allowN.AllowN(1))
			n := random.IntN(4)
			allowed := take.AllowN(n)
			require.Equal(t, allowed, allow.Take(n).Allowed)
			require.Equal(t, allowed, allowN.AllowN(n))
			require.Equal(t, take.Tokens(), allow.Tokens())
			require.Equal(t, take.Peek(0).Remaining, allowN.Tokens())
		}
	})
}

func TestPeekSaysWhatTakeWouldSayAndDoesNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		limiter := weir.New(k.policy, weir.WithClock(clock))
		random := rand.New(rand.NewPCG(3, 4))
		for range 300 {
			clock.Advance(time.Duration(random.IntN(100)) * time.Millisecond)
			n := random.IntN(k.perTake + 2)
			before := limiter.Stats()
			peeked := limiter.Peek(n)
			require.Equal(t, peeked, limiter.Peek(n), "the second look")
			require.Equal(t, before, limiter.Stats())
			require.Equal(t, peeked, limiter.Take(n))
		}
	})
}

func TestEveryNumberThatMakesNoSenseIsRefused(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for _, used := range []int{0, 1, k.atOnce} {
			limiter := weir.New(k.policy, weir.WithClock(weir.NewManualClock()))
			for range used {
				require.True(t, limiter.Allow())
			}
			before, stats := limiter.Peek(1), limiter.Stats()
			for _, n := range ints(-1, -5, math.MinInt, math.MinInt+1, math.MinInt/2, -1<<62, -1<<32, -1<<31) {
				d := limiter.Take(n)
				require.False(t, d.Allowed, "%d", n)
				require.Equal(t, weir.Never, d.RetryAfter, "%d", n)
				require.Equal(t, d, limiter.Peek(n))
				require.False(t, limiter.AllowN(n), "%d", n)
			}
			require.Equal(t, stats, limiter.Stats(), "negative numbers are not counted")

			d := limiter.Take(0)
			require.True(t, d.Allowed)
			require.Zero(t, d.RetryAfter)
			require.True(t, limiter.AllowN(0))
			require.Equal(t, stats, limiter.Stats(), "zero is not counted")

			huge := ints(int64(k.perTake)+1, int64(k.perTake)*2, 1<<30, 1<<31, 1<<32, 1<<60, 1<<61, 1<<61+1, 1<<62, math.MaxInt-1, math.MaxInt)
			for _, n := range huge {
				d := limiter.Take(n)
				require.False(t, d.Allowed, "%d", n)
				require.Equal(t, weir.Never, d.RetryAfter, "%d", n)
			}
			require.Equal(t, stats.Denied+uint64(len(huge)), limiter.Stats().Denied)
			require.Equal(t, before, limiter.Peek(1), "none of them changed anything")
		}
	})
}

func TestResetMakesItFull(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		limiter := weir.New(k.policy, weir.WithClock(clock))
		fresh := limiter.Peek(1)
		limiter.Reset()
		require.Equal(t, fresh, limiter.Peek(1), "nothing to reset")
		require.Equal(t, k.atOnce, drain(limiter.Allow))
		stats := limiter.Stats()
		limiter.Reset()
		require.Equal(t, stats, limiter.Stats(), "what was counted stays")
		require.Equal(t, fresh, limiter.Peek(1))
		require.Equal(t, k.atOnce, drain(limiter.Allow))
	})
}

func TestTwoLimitersOfOnePolicyAreIndependent(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		one, other := weir.New(k.policy, weir.WithClock(clock)), weir.New(k.policy, weir.WithClock(clock))
		require.Equal(t, k.atOnce, drain(one.Allow))
		require.Equal(t, k.perTake, other.Tokens())
		require.Zero(t, other.Stats().Allowed)
		require.Equal(t, k.atOnce, drain(other.Allow))
		one.Reset()
		require.Zero(t, other.Tokens())
	})
}

func TestShadowDeniesNobodyAndConsumesNothingForIt(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		plain, shadow := weir.New(k.policy, weir.WithClock(clock)), weir.New(k.policy, weir.WithClock(clock), weir.WithShadow())
		random := rand.New(rand.NewPCG(5, 6))
		for range 400 {
			clock.Advance(time.Duration(random.IntN(60)) * time.Millisecond)
			n := 1 + random.IntN(k.perTake+2)
			want := plain.Take(n)
			peeked := shadow.Peek(n)
			got := shadow.Take(n)
			require.Equal(t, peeked, got)
			require.True(t, got.Allowed)
			require.Equal(t, !want.Allowed, got.Shadowed)
			got.Allowed, got.Shadowed = want.Allowed, false
			require.Equal(t, want, got, "all else is reported as it is")
		}
		require.True(t, shadow.AllowN(math.MaxInt))
		require.False(t, plain.AllowN(math.MaxInt))
		counted, shadowed := plain.Stats(), shadow.Stats()
		require.Positive(t, counted.Denied)
		require.Zero(t, counted.Shadowed)
		require.Equal(t, counted.Allowed, shadowed.Allowed)
		require.Equal(t, counted.Denied, shadowed.Denied)
		require.Equal(t, counted.Denied, shadowed.Shadowed)
		require.True(t, shadow.AllowN(0))
		require.False(t, shadow.Take(0).Shadowed)
		require.Equal(t, shadowed, shadow.Stats())
	})
}

func TestNewPanicsWithTheTextOfValidate(t *testing.T) {
	good := weir.TokenBucket(weir.PerSecond(1))
	for _, c := range []struct {
		policy weir.Policy
		names  string
	}{
		{weir.Policy{}, ""},
		{weir.TokenBucket(weir.PerSecond(-3)), "-3"},
		{weir.TokenBucket(weir.Per(3, -time.Second)), "-1s"},
		{weir.TokenBucket(weir.Every(0)), "0"},
		{weir.TokenBucket(weir.PerSecond(3).WithBurst(-4)), "-4"},
		{weir.TokenBucket(weir.Every(year).WithBurst(40)), "40"},
		{weir.LeakyBucket(weir.PerSecond(3), -2), "-2"},
		{weir.LeakyBucket(weir.PerSecond(-3), 2), "-3"},
		{weir.FixedWindow(weir.PerSecond(5).WithBurst(6)), "6"},
		{weir.SlidingWindow(weir.PerSecond(5).WithBurst(4)), "4"},
		{weir.SlidingCounter(weir.PerSecond(5).WithBurst(99)), "99"},
		{weir.FixedWindow(weir.PerSecond(-5)), "-5"},
		{weir.SlidingWindow(weir.Per(5, -1)), "-1ns"},
		{weir.SlidingCounter(weir.Per(5, 40*year)), (40 * year).String()},
		{weir.BurstReserve(weir.PerSecond(5), weir.PerSecond(-17)), "-17"},
		{weir.All(), ""},
		{weir.FirstOf(), ""},
		{weir.All(good, weir.Policy{}), ""},
		{weir.All(good, weir.FirstOf(good, weir.All(good, weir.FixedWindow(weir.PerSecond(-23))))), "-23"},
		{weir.FirstOf(good, weir.FirstOf()), ""},
		{weir.TokenBucket(weir.PerSecond(-3)).Named("mine"), "-3"},
	} {
		err := c.policy.Validate()
		require.Error(t, err)
		require.Regexp(t, `^weir: .+ .+`, err.Error())
		require.ErrorContains(t, err, c.names)
		require.Equal(t, err.Error(), panicText(t, func() { weir.New(c.policy) }))
		require.Equal(t, err.Error(), panicText(t, func() { weir.NewPerClient[string](c.policy) }))
	}
	require.NoError(t, weir.FixedWindow(weir.PerSecond(5).WithBurst(5)).Validate())
}

func TestOptionsThatMakeNoSensePanic(t *testing.T) {
	p := weir.TokenBucket(weir.PerSecond(1))
	for name, c := range map[string]struct {
		option func() weir.Option
		names  string
	}{
		"nil option":           {func() weir.Option { return nil }, "nil"},
		"nil clock":            {func() weir.Option { return weir.WithClock(nil) }, "clock"},
		"typed nil coarse":     {func() weir.Option { return weir.WithClock((*weir.CoarseClock)(nil)) }, "clock"},
		"typed nil manual":     {func() weir.Option { return weir.WithClock((*weir.ManualClock)(nil)) }, "clock"},
		"no clients":           {func() weir.Option { return weir.WithMaxClients(0, weir.DenyNew) }, "0"},
		"negative clients":     {func() weir.Option { return weir.WithMaxClients(-12, weir.EvictFullest) }, "-12"},
		"unknown overflow":     {func() weir.Option { return weir.WithMaxClients(12, weir.Overflow(99)) }, "99"},
		"the next overflow":    {func() weir.Option { return weir.WithMaxClients(12, weir.ShareOverflow+1) }, "unknown"},
		"negative staleness":   {func() weir.Option { return weir.WithStaleAfter(-time.Second) }, "-1s"},
		"negative sweep every": {func() weir.Option { return weir.WithSweepEvery(-time.Minute) }, "-1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			text := panicText(t, func() { weir.NewPerClient[string](p, c.option()) })
			require.Regexp(t, `^weir: .+ .+ .+`, text)
			require.Contains(t, text, c.names)
		})
	}
	require.Regexp(t, `^weir: .+ .+`, panicText(t, func() { weir.New(p, weir.WithClock(nil)) }))
}

func TestLimiterAllocatesNothing(t *testing.T) {
	busy := weir.PerSecond(1_000_000)
	policies := map[string]weir.Policy{
		"allowed token bucket":    weir.TokenBucket(busy),
		"allowed leaky bucket":    weir.LeakyBucket(weir.Every(1), 0),
		"allowed fixed window":    weir.FixedWindow(busy),
		"allowed sliding counter": weir.SlidingCounter(busy),
		"allowed all":             weir.All(weir.TokenBucket(busy), weir.FixedWindow(busy)),
		"allowed first of":        weir.FirstOf(weir.TokenBucket(weir.PerHour(1)), weir.SlidingCounter(busy)),
		"allowed sliding window":  weir.SlidingWindow(weir.PerSecond(1000)),
		"unlimited":               weir.TokenBucket(weir.Unlimited()),
		"denied":                  weir.TokenBucket(weir.Limit{}),
	}
	for _, k := range policyKinds() {
		policies[k.name] = k.policy
	}
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			limiter := weir.New(p)
			limiter.Allow()
			for verb, f := range map[string]func(){
				"Allow":  func() { limiter.Allow() },
				"AllowN": func() { limiter.AllowN(2) },
				"Take":   func() { limiter.Take(1) },
				"Peek":   func() { limiter.Peek(1) },
				"Tokens": func() { limiter.Tokens() },
				"Stats":  func() { limiter.Stats() },
			} {
				require.Zero(t, testing.AllocsPerRun(200, f), verb)
			}
		})
	}
}

// TestLogsThatComeAndGoAllocateNothing: nor do those of clients, between two sweeps.
func TestLogsThatComeAndGoAllocateNothing(t *testing.T) {
	clock := weir.NewManualClock()
	policy := weir.All(weir.SlidingWindow(weir.PerSecond(10)), weir.SlidingWindow(weir.PerMinute(300)))
	limiter := weir.New(policy, weir.WithClock(clock))
	clients := weir.NewPerClient[int](policy, weir.WithClock(clock), weir.WithSweepEvery(0))
	cycle := func() {
		for i := range 8 {
			limiter.Allow()
			for key := range 10 {
				clients.AllowN(key, 1+i%2)
			}
			clock.Advance(1)
		}
		limiter.Refund(2)
		clock.Advance(2 * time.Minute)
	}
	cycle()
	require.Zero(t, testing.AllocsPerRun(100, cycle))
}
