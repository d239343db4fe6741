package weir_test

import (
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestLimitSaysWhatItWasGiven(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  weir.Limit
		count  int
		period time.Duration
		burst  int
	}{
		{"Per", weir.Per(10, 13*time.Second), 10, 13 * time.Second, 10},
		{"PerSecond", weir.PerSecond(100), 100, time.Second, 100},
		{"PerMinute", weir.PerMinute(60), 60, time.Minute, 60},
		{"PerHour", weir.PerHour(1000), 1000, time.Hour, 1000},
		{"PerDay", weir.PerDay(5), 5, 24 * time.Hour, 5},
		{"Every", weir.Every(250 * time.Millisecond), 1, 250 * time.Millisecond, 1},
		{"WithBurst", weir.PerSecond(100).WithBurst(20), 100, time.Second, 20},
		{"WithBurst above the count", weir.Per(5, 10*time.Second).WithBurst(20), 5, 10 * time.Second, 20},
		{"WithBurst twice", weir.PerSecond(100).WithBurst(20).WithBurst(7), 100, time.Second, 7},
		{"WithBurst 0", weir.PerSecond(100).WithBurst(0), 100, time.Second, 0},
		{"count 0", weir.PerSecond(0), 0, time.Second, 0},
		{"no more than a nanosecond", weir.Per(3, 1), 3, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.count, c.limit.Count())
			require.Equal(t, c.period, c.limit.Period())
			require.Equal(t, c.burst, c.limit.Burst())
			require.NoError(t, c.limit.Validate())
		})
	}
}

func TestLimitIsNormalised(t *testing.T) {
	l := weir.PerSecond(100)
	require.True(t, l == weir.Per(100, time.Second))
	require.True(t, l == l.WithBurst(100), "a burst of the count is no change")
	require.True(t, l == l.WithBurst(20).WithBurst(100))
	require.True(t, l.WithBurst(20) == weir.Per(100, time.Second).WithBurst(20))
	require.True(t, weir.Every(time.Minute) == weir.PerMinute(1))
	require.Equal(t, weir.Unlimited(), weir.Unlimited().WithBurst(5))

	require.False(t, l == l.WithBurst(99))
	require.False(t, l == l.WithBurst(0))
	require.False(t, l == weir.Per(1000, 10*time.Second), "the same rate, another burst")
	require.False(t, weir.Unlimited() == weir.Limit{})
}

func TestLimitIsComparable(t *testing.T) {
	plans := map[weir.Limit]string{
		weir.PerSecond(1):              "free",
		weir.PerSecond(1).WithBurst(5): "paid",
		weir.Unlimited():               "own",
		{}:                             "blocked",
	}
	require.Len(t, plans, 4)
	require.Equal(t, "free", plans[weir.Every(time.Second)])
	require.Equal(t, "paid", plans[weir.PerSecond(1).WithBurst(5)])
	require.Equal(t, "own", plans[weir.Unlimited()])
}

func TestWithBurstLeavesItsReceiverAlone(t *testing.T) {
	l := weir.PerSecond(100)
	_ = l.WithBurst(3)
	require.Equal(t, 100, l.Burst())
}

func TestLimitValidateNamesTheBadNumber(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit weir.Limit
		names string
	}{
		{"negative count", weir.PerSecond(-3), "-3"},
		{"least count", weir.PerSecond(math.MinInt), strconv.Itoa(math.MinInt)},
		{"period 0", weir.Per(3, 0), "0"},
		{"negative period", weir.Per(3, -7*time.Second), "-7s"},
		{"least period", weir.Per(3, math.MinInt64), "-2562047h47m16.854775808s"},
		{"interval 0", weir.Every(0), "0"},
		{"negative interval", weir.Every(-time.Millisecond), "-1ms"},
		{"negative burst", weir.PerSecond(3).WithBurst(-11), "-11"},
		{"period of 31 years", weir.Per(1000, 31*year), (31 * year).String()},
		{"longest period", weir.Per(math.MaxInt, math.MaxInt64), time.Duration(math.MaxInt64).String()},
		{"burst of 31 years", weir.Every(year).WithBurst(31), "31"},
		{"burst that needs more than 64 bits", weir.PerHour(1).WithBurst(math.MaxInt), strconv.Itoa(math.MaxInt)},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.limit.Validate()
			require.Error(t, err)
			require.ErrorContains(t, err, c.names)
			require.Regexp(t, `^weir: .+ .+`, err.Error())
		})
	}
}

func TestLimitsUpTo30YearsAreValid(t *testing.T) {
	for _, l := range []weir.Limit{
		weir.Per(1, 29*year),
		weir.Per(1000, 29*year),
		weir.Every(year).WithBurst(29),
		weir.Per(1_000_000_000, 29*year),
		weir.PerSecond(2_000_000_000),
		weir.Per(1, 1).WithBurst(math.MaxInt32),
	} {
		require.NoError(t, l.Validate(), "%v", l)
	}
}

func TestLimitsThatDenyEverything(t *testing.T) {
	for _, l := range []weir.Limit{
		{},
		weir.PerSecond(0),
		weir.PerSecond(10).WithBurst(0),
		weir.PerSecond(0).WithBurst(10),
	} {
		require.NoError(t, l.Validate(), "%v", l)
		policies := []weir.Policy{weir.TokenBucket(l), weir.LeakyBucket(l, 3)}
		if l.Burst() == l.Count() {
			policies = append(policies, weir.FixedWindow(l), weir.SlidingWindow(l), weir.SlidingCounter(l))
		}
		for _, p := range policies {
			clock := weir.NewManualClock()
			limiter := weir.New(p, weir.WithClock(clock))
			for range 3 {
				d := limiter.Take(1)
				require.False(t, d.Allowed, "%v", p)
				require.Equal(t, weir.Never, d.RetryAfter, "%v", p)
				require.Zero(t, d.Remaining, "%v", p)
				require.Zero(t, d.Limit, "%v", p)
				require.Equal(t, time.Duration(0), d.ResetAfter, "%v", p)
				require.True(t, limiter.AllowN(0), "%v", p)
				require.Zero(t, limiter.Tokens(), "%v", p)
				clock.Advance(10 * year)
			}
			require.Zero(t, p.MaxWithin(30*year), "%v", p)
		}
	}
}

func TestUnlimitedDeniesNothing(t *testing.T) {
	l := weir.Unlimited()
	require.NoError(t, l.Validate())
	require.Equal(t, math.MaxInt, l.Count())
	require.Equal(t, math.MaxInt, l.Burst())
	require.True(t, l == l.WithBurst(math.MaxInt))
	require.False(t, weir.New(weir.TokenBucket(l.WithBurst(0))).Allow(), "burst 0 denies everything")
	require.ErrorContains(t, l.WithBurst(-8).Validate(), "-8")
	for _, p := range []weir.Policy{
		weir.TokenBucket(l), weir.LeakyBucket(l, 0), weir.FixedWindow(l), weir.SlidingWindow(l), weir.SlidingCounter(l),
		weir.All(weir.TokenBucket(l), weir.SlidingWindow(l)), weir.FirstOf(weir.TokenBucket(l), weir.TokenBucket(weir.PerSecond(1))),
	} {
		require.NoError(t, p.Validate())
		limiter := weir.New(p, weir.WithClock(weir.NewManualClock()))
		for _, n := range []int{1, math.MaxInt/2 + 1, math.MaxInt, math.MaxInt, 0, 1} {
			d := limiter.Take(n)
			require.True(t, d.Allowed, "%v: %d", p, n)
			require.Zero(t, d.RetryAfter)
			require.Equal(t, math.MaxInt, d.Remaining, "%v", p)
			require.Equal(t, math.MaxInt, d.Limit, "%v", p)
			require.Zero(t, d.ResetAfter, "%v", p)
		}
		require.Equal(t, weir.Never, limiter.Take(-1).RetryAfter, "%v", p)
		require.Equal(t, math.MaxInt, p.MaxWithin(time.Second), "%v", p)
	}
	// A part without a limit does not hide the one that has one.
	limiter := weir.New(weir.All(weir.TokenBucket(l), weir.TokenBucket(weir.PerSecond(2))), weir.WithClock(weir.NewManualClock()))
	require.Equal(t, 2, limiter.Tokens())
	require.True(t, limiter.AllowN(2))
	require.False(t, limiter.Allow())
}

func TestLimitString(t *testing.T) {
	for want, l := range map[string]weir.Limit{
		"100/s":          weir.PerSecond(100),
		"100/s burst 20": weir.PerSecond(100).WithBurst(20),
		"5/10s burst 20": weir.Per(5, 10*time.Second).WithBurst(20),
		"60/m":           weir.PerMinute(60),
		"1000/h":         weir.PerHour(1000),
		"3/d":            weir.PerDay(3),
		"20/100ms":       weir.Per(20, 100*time.Millisecond),
		"1/250ms":        weir.Every(250 * time.Millisecond),
		"7/1h30m":        weir.Per(7, 90*time.Minute),
		"10/13s":         weir.Per(10, 13*time.Second),
		"5/s burst 0":    weir.PerSecond(5).WithBurst(0),
		"2000000000/s":   weir.PerSecond(2_000_000_000),
		"1/h":            weir.Every(time.Hour),
		"unlimited":      weir.Unlimited(),
		"0":              {},
	} {
		require.Equal(t, want, l.String())
	}
}

// golang/go#34861, golang/go#46579
func TestCase07AllowedExactlyOnTime(t *testing.T) {
	for _, c := range []struct {
		limit weir.Limit
		next  time.Duration
	}{
		{weir.Per(10, 13*time.Second).WithBurst(1), 1300 * time.Millisecond},
		{weir.PerHour(1), 3600 * time.Second},
		{weir.PerDay(1), 24 * time.Hour},
		{weir.Every(333333333), 333333333},
		{weir.PerSecond(3).WithBurst(1), 333333334},
	} {
		clock := weir.NewManualClock()
		limiter := weir.New(weir.TokenBucket(c.limit), weir.WithClock(clock))
		require.True(t, limiter.Allow())
		clock.Advance(c.next - 1)
		require.False(t, limiter.Allow(), "%v", c.limit)
		clock.Advance(1)
		require.True(t, limiter.Allow(), "%v", c.limit)
	}
}

// go-redis/redis_rate#42, brandur/redis-cell#56
func TestCase08RetryAfterIsExactAtOddRates(t *testing.T) {
	for i := range 2000 {
		l := weir.Per(1+i*7%1999, (1+time.Duration(i)*time.Duration(i)*31337)*time.Microsecond).WithBurst(3 + i%5)
		clock := weir.NewManualClock()
		clock.Advance(time.Duration(i) * time.Hour)
		limiter := weir.New(weir.TokenBucket(l), weir.WithClock(clock))
		require.True(t, limiter.AllowN(l.Burst()), "%v", l)
		for n := 1; n <= 3; n++ {
			d := limiter.Take(n)
			require.False(t, d.Allowed, "%v", l)
			clock.Advance(d.RetryAfter - 1)
			require.False(t, limiter.AllowN(n), "%d of %v", n, l)
			clock.Advance(1)
			require.True(t, limiter.AllowN(n), "%d of %v", n, l)
		}
	}
}

// kubernetes/kubernetes#103286
func TestCase09AMillionPollsDoNotDrift(t *testing.T) {
	clock := newSteppingClock(0)
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(10)), weir.WithClock(clock))
	admitted := 0
	for range 1_000_000 {
		if limiter.Allow() {
			admitted++
		}
		clock.advance(3600 * time.Microsecond)
	}
	if limiter.Allow() {
		admitted++
	}
	require.Equal(t, time.Hour, clock.Now())
	require.Equal(t, 10+36_000, admitted)
}

// tylerbutler/beryl#434
func TestCase10RatesAboveOneANanosecond(t *testing.T) {
	type rate struct {
		limit weir.Limit
		most  int // in the microsecond after it was emptied
	}
	rates := []rate{
		{weir.PerSecond(2_000_000_000).WithBurst(5000), 2000},
		{weir.PerSecond(1_000_000_000).WithBurst(5000), 1000},
		{weir.Per(7, 10).WithBurst(5000), 700},
		{weir.Per(20, 10).WithBurst(5000), 2000},
		{weir.Per(1_000_000_000, time.Second/8).WithBurst(50_000), 8000},
	}
	for _, count := range ints(8_000_000_000) {
		rates = append(rates, rate{weir.PerSecond(count).WithBurst(50_000), 8000})
	}
	for _, c := range rates {
		require.NoError(t, c.limit.Validate())
		clock := weir.NewManualClock()
		limiter := weir.New(weir.TokenBucket(c.limit), weir.WithClock(clock))
		require.True(t, limiter.AllowN(c.limit.Burst()))
		require.False(t, limiter.Allow())
		clock.Advance(time.Microsecond)
		require.LessOrEqual(t, limiter.Tokens(), c.most, "%v", c.limit)
		require.GreaterOrEqual(t, limiter.Tokens(), c.most*9/10, "%v", c.limit)
	}
	beyond := weir.Per(math.MaxInt, 1).WithBurst(10)
	if beyond.Validate() == nil {
		limiter := weir.New(weir.TokenBucket(beyond), weir.WithClock(weir.NewManualClock()))
		require.Equal(t, 10, drain(limiter.Allow), "never unlimited")
	}
}

// zeromicro/go-zero#3695, golang/go#68541
func TestCase11ZeroAndNegativeNumbersAreRefusedAtOnce(t *testing.T) {
	for _, l := range []weir.Limit{
		weir.Per(5, 0), weir.Per(-5, time.Second), weir.Per(5, -time.Second), weir.Every(0), weir.Every(-1),
		weir.PerSecond(5).WithBurst(-1), weir.Per(0, 0).WithBurst(-1), weir.PerMinute(math.MinInt),
	} {
		policies := append(windowKinds(l), weir.TokenBucket(l), weir.LeakyBucket(l, 1), weir.BurstReserve(l, weir.PerSecond(1)))
		for _, p := range policies {
			require.Error(t, p.Validate())
			require.Panics(t, func() { weir.New(p) })
		}
		require.Zero(t, weir.TokenBucket(l).MaxWithin(0))
	}
}

// sethvargo/go-limiter#29
func TestCase12FullAgainAfterOneInterval(t *testing.T) {
	l := weir.Per(65_535, 100*time.Millisecond)
	for _, p := range append(windowKinds(l), weir.TokenBucket(weir.Per(65_535, time.Duration(65_535)*10))) {
		clock := weir.NewManualClock()
		limiter := weir.New(p, weir.WithClock(clock))
		require.True(t, limiter.AllowN(65_535), "%v", p)
		clock.Advance(limiter.Peek(0).ResetAfter - 1)
		require.Less(t, limiter.Tokens(), 65_535, "%v", p)
		clock.Advance(1)
		require.Equal(t, 65_535, limiter.Tokens(), "%v", p)
	}
	for _, p := range []weir.Policy{weir.FixedWindow(l), weir.SlidingWindow(l)} {
		clock := weir.NewManualClock()
		limiter := weir.New(p, weir.WithClock(clock))
		require.True(t, limiter.AllowN(65_535))
		clock.Advance(100 * time.Millisecond)
		require.True(t, limiter.AllowN(65_535), "%v", p)
	}
}

func TestCase13ACounterOfTenMillionAnHour(t *testing.T) {
	const count = 10_000_000
	clock := newSteppingClock(0)
	limiter := weir.New(weir.SlidingCounter(weir.PerHour(count)), weir.WithClock(clock))
	require.True(t, limiter.AllowN(count))
	for _, elapsed := range []time.Duration{0, 1, 359, 360, 361, 12*time.Minute + 345678901, 30 * time.Minute, time.Hour - 361, time.Hour - 360, time.Hour - 1, time.Hour} {
		clock.set(time.Hour + elapsed)
		// count minus the previous window's count weighted by what of it is in view, rounded up
		weighted := new(big.Int).Mul(big.NewInt(count), big.NewInt(int64(time.Hour-elapsed)))
		weighted.Add(weighted, big.NewInt(int64(time.Hour-1))).Div(weighted, big.NewInt(int64(time.Hour)))
		require.EqualValues(t, count-weighted.Int64(), limiter.Tokens(), "%v", elapsed)
	}
}
