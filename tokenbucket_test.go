package weir_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestTokenBucketTimeline(t *testing.T) {
	const ms = time.Millisecond
	timeline(t, weir.TokenBucket(weir.PerSecond(10).WithBurst(3)), by("token-bucket 10/s burst 3", 3, []ask{
		{0, 0, yes(3, 0)},
		{0, 1, yes(2, 100*ms)},
		{0, 2, yes(0, 300*ms)},
		{0, 1, no(0, 100*ms, 300*ms)},
		{0, 3, no(0, 300*ms, 300*ms)},
		{100*ms - 1, 1, no(0, 1, 200*ms+1)},
		{100 * ms, 1, yes(0, 300*ms)},
		{250 * ms, 2, no(1, 50*ms, 150*ms)},
		{400*ms - 1, 0, yes(2, 1)},
		{400 * ms, 4, no(3, weir.Never, 0)},
		{400 * ms, -1, no(3, weir.Never, 0)},
		{400 * ms, 3, yes(0, 300*ms)},
		{350 * ms, 1, no(0, 150*ms, 350*ms)},
		{time.Hour, 3, yes(0, 300*ms)},
	}))
}

// TestTokenBucketRoundsAgainstTheCaller: 3/s takes 333333333 3/8 ns a token, not 333333333 1/3.
func TestTokenBucketRoundsAgainstTheCaller(t *testing.T) {
	timeline(t, weir.TokenBucket(weir.PerSecond(3)), by("token-bucket 3/s", 3, []ask{
		{0, 3, yes(0, 1_000_000_001)}, // 1000000000 1/8
		{0, 1, no(0, 333_333_334, 1_000_000_001)},
		{333_333_333, 1, no(0, 1, 666_666_668)}, // 666666667 1/8
		{333_333_334, 1, yes(0, 1_000_000_000)}, // 999999999 4/8
		{666_666_666, 1, no(0, 1, 666_666_668)}, // 666666667 4/8
		{666_666_667, 1, yes(0, 1_000_000_000)}, // 999999999 7/8
		{1_666_666_666, 3, no(2, 1, 1)},
		{1_666_666_667, 3, yes(0, 1_000_000_001)},
	}))
}

// TestTokenBucketWholeIntervals: rates whose interval is whole come back at exactly that instant.
func TestTokenBucketWholeIntervals(t *testing.T) {
	for _, test := range []struct {
		limit    weir.Limit
		interval time.Duration
	}{
		{weir.Per(10, 13*time.Second).WithBurst(1), 1300 * time.Millisecond},
		{weir.PerHour(1), time.Hour},
		{weir.PerDay(1), 24 * time.Hour},
		{weir.Every(30 * year), 30 * year},
		{weir.PerSecond(1_000_000).WithBurst(1), time.Microsecond},
		{weir.Per(1, time.Nanosecond), 1},
	} {
		p := weir.TokenBucket(test.limit)
		timeline(t, p, by(p.Name(), 1, []ask{
			{0, 1, yes(0, test.interval)},
			{0, 1, no(0, test.interval, test.interval)},
			{test.interval - 1, 0, yes(0, 1)},
			{test.interval, 1, yes(0, test.interval)},
		}))
	}
}

func TestTokenBucketTwoBillionPerSecond(t *testing.T) {
	p := weir.TokenBucket(weir.PerSecond(2_000_000_000))
	timeline(t, p, by(p.Name(), 2_000_000_000, []ask{
		{0, 2_000_000_000, yes(0, time.Second)},
		{0, 1, no(0, 1, time.Second)},
		{1, 3, no(2, 1, time.Second-1)},
		{1, 1, yes(1, time.Second)}, // half a nanosecond less, rounded up
		{1, 1, yes(0, time.Second)},
		{time.Second, 2_000_000_000, no(1_999_999_998, 1, 1)},
	}))
}

// TestTokenBucketIdleForYears: as many tokens as the burst, no more, from one end of time to the other.
func TestTokenBucketIdleForYears(t *testing.T) {
	for _, l := range awkward {
		clock := &setClock{now: oldestTime}
		limiter := weir.New(weir.TokenBucket(l), weir.WithClock(clock))
		for _, idle := range []time.Duration{0, 30 * year, 31 * year, 36 * year, 37 * year, 73 * year, 74 * year, 250 * year} {
			clock.now += int64(idle)
			if clock.now > oldestTime {
				require.Equal(t, l.Burst(), limiter.Tokens(), "%v after %v", l, idle)
			}
			require.True(t, limiter.AllowN(l.Burst()), "%v after %v", l, idle)
			require.Zero(t, limiter.Tokens(), "%v after %v", l, idle)
			require.False(t, limiter.Allow(), "%v after %v", l, idle)
		}
	}
}

// TestTokenBucketManyPerInterval: a whole interval later it is full but for what rounding took.
func TestTokenBucketManyPerInterval(t *testing.T) {
	for _, period := range []time.Duration{100 * time.Millisecond, time.Second, time.Minute, time.Hour} {
		clock := &setClock{}
		limiter := weir.New(weir.TokenBucket(weir.Per(65_535, period)), weir.WithClock(clock))
		full := limiter.Take(65_535).ResetAfter
		clock.now = int64(period)
		require.GreaterOrEqual(t, limiter.Tokens(), 65_521, "%v: 0.02 %% fewer", period)
		clock.now = int64(full)
		require.Equal(t, 65_535, limiter.Tokens(), "%v", period)
		require.LessOrEqual(t, full, period+period/5000, "%v", period)
	}
}

// TestTokenBucketRetryAtOddRates: 2,000 rates, denied until exactly RetryAfter.
func TestTokenBucketRetryAtOddRates(t *testing.T) {
	c := randomly(8)
	for range 2000 {
		l := weir.Per(1+int(c(2_000_000)), time.Duration(1+c(int64(time.Hour)))).WithBurst(1 + int(c(100)))
		clock := &setClock{now: c(int64(year))}
		limiter := weir.New(weir.TokenBucket(l), weir.WithClock(clock))
		require.True(t, limiter.AllowN(l.Burst()))
		for range 4 {
			n := 1 + int(c(int64(l.Burst())))
			d := limiter.Take(n)
			if d.Allowed {
				continue
			}
			clock.now += int64(d.RetryAfter) - 1
			require.False(t, limiter.AllowN(n), "%v: %d before %v", l, n, d.RetryAfter)
			clock.now++
			require.True(t, limiter.AllowN(n), "%v: %d at %v", l, n, d.RetryAfter)
		}
	}
}

// idealBucket is a bucket whose interval is no whole number of anything.
type idealBucket struct {
	interval, burst *big.Rat
	level           *big.Rat // at last
	last            int64
}

// free brings the level to an instant.
func (b *idealBucket) free(now int64) int {
	came := big.NewRat(now-b.last, 1)
	b.level, b.last = came.Add(b.level, came.Quo(came, b.interval)), now
	if b.level.Cmp(b.burst) > 0 {
		b.level = b.burst
	}
	return int(floorDiv(b.level.Num(), b.level.Denom()).Int64())
}

func (b *idealBucket) take(n int) { b.level = new(big.Rat).Sub(b.level, big.NewRat(int64(n), 1)) }

// TestTokenBucketBetweenExactAndSlow: it never admits what a bucket at the exact rate would not
// have, and always what one that is slower by the documented error would.
func TestTokenBucketBetweenExactAndSlow(t *testing.T) {
	for i, test := range sustainedRates {
		burst := big.NewRat(int64(test.limit.Burst()), 1)
		exact := &idealBucket{interval: exactInterval(test.limit), burst: burst, level: burst}
		slower := big.NewRat(1_000_000+test.perMillion, 1_000_000)
		slow := &idealBucket{interval: slower.Mul(slower, exact.interval), burst: burst, level: burst}
		c := randomly(uint64(i))
		clock := &setClock{}
		limiter := weir.New(weir.TokenBucket(test.limit), weir.WithClock(clock))
		for range 1500 {
			d := limiter.Peek(0)
			require.LessOrEqual(t, d.Remaining, exact.free(clock.now), "%v at %d", test.limit, clock.now)
			require.GreaterOrEqual(t, d.Remaining, slow.free(clock.now), "%v at %d", test.limit, clock.now)
			n := pick(c, 1, 1, 2, d.Remaining, int(1+c(int64(test.limit.Burst()))))
			if limiter.AllowN(n) && n > 0 {
				exact.take(n)
				slow.take(n)
				continue
			}
			if d := limiter.Peek(n); d.RetryAfter < weir.Never {
				clock.now += int64(d.RetryAfter)
			}
			clock.now += c(3)
		}
	}
}

var sustainedRates = []struct {
	limit      weir.Limit
	perMillion int64 // how much slower it may be
}{
	{weir.PerSecond(1), 2}, {weir.PerSecond(3), 2}, {weir.PerSecond(7919), 2}, {weir.PerSecond(9973), 2},
	{weir.PerSecond(10_000), 2}, {weir.Per(10, 13*time.Second), 2}, {weir.PerHour(10_000_000), 2}, {weir.PerDay(7), 2},
	{weir.PerSecond(10_007), 200}, {weir.PerSecond(99_991), 200}, {weir.Per(65_535, 100*time.Millisecond), 200},
	{weir.PerSecond(999_983), 200}, {weir.PerSecond(1_000_000), 200}, {weir.PerMinute(59_999_999), 200},
}

// TestTokenBucketSustainedRate takes each token as it comes, and measures the rate.
func TestTokenBucketSustainedRate(t *testing.T) {
	const tokens = 20_000
	for _, test := range sustainedRates {
		clock := &setClock{}
		limiter := weir.New(weir.TokenBucket(test.limit), weir.WithClock(clock))
		require.True(t, limiter.AllowN(test.limit.Burst()))
		for range tokens {
			clock.now += int64(limiter.Peek(1).RetryAfter)
			require.True(t, limiter.Allow())
		}
		exact := new(big.Rat).Mul(exactInterval(test.limit), big.NewRat(tokens, 1))
		slowest := new(big.Rat).Mul(exact, big.NewRat(1_000_000+test.perMillion, 1_000_000))
		took := big.NewRat(clock.now, 1)
		require.LessOrEqual(t, exact.Cmp(took), 0, "%v is exceeded: %d ns", test.limit, clock.now)
		require.LessOrEqual(t, took.Cmp(slowest.Add(slowest, big.NewRat(1, 1))), 0, "%v is not reached: %d ns", test.limit, clock.now)
	}
}

// TestTokenBucketPollsDoNotDrift: a million polls in an hour, and exactly as many as time alone would give.
func TestTokenBucketPollsDoNotDrift(t *testing.T) {
	l := weir.PerSecond(3).WithBurst(5)
	clock := &setClock{}
	limiter := weir.New(weir.TokenBucket(l), weir.WithClock(clock))
	c := randomly(9)
	admitted := 0
	for polls := 0; clock.now < int64(time.Hour) || polls < 1_000_000; polls++ {
		if limiter.Allow() {
			admitted++
		}
		clock.now += min(c(2*3_590_000), int64(time.Hour)-clock.now)
	}
	for limiter.Allow() {
		admitted++
	}
	came := new(big.Rat).Quo(big.NewRat(int64(time.Hour), 1), roundedInterval(l))
	require.Equal(t, 5+int(floorDiv(came.Num(), came.Denom()).Int64()), admitted)
}

// TestTokenBucketReachesMaxWithin: the burst, then each token as it comes, is what MaxWithin says. A
// bucket so small that it overflows between two nanoseconds cannot keep up with that.
func TestTokenBucketReachesMaxWithin(t *testing.T) {
	for _, l := range append(awkward[:len(awkward):len(awkward)], weir.PerSecond(10).WithBurst(1), weir.PerSecond(100).WithBurst(7)) {
		p := weir.TokenBucket(l)
		interval := roundedInterval(l)
		slack := new(big.Rat).Mul(interval, big.NewRat(int64(l.Burst()-1), 1))
		if !interval.IsInt() && slack.Cmp(big.NewRat(1, 1)) < 0 {
			continue
		}
		clock := &setClock{now: 987_654_321}
		limiter := weir.New(p, weir.WithClock(clock))
		require.True(t, limiter.AllowN(l.Burst()))
		require.Equal(t, l.Burst(), p.MaxWithin(1), "%v", l)
		sum, start := bigInt(int64(l.Burst())), clock.now
		for range 5 {
			clock.now += int64(limiter.Peek(1).RetryAfter)
			require.Equal(t, saturated(sum), p.MaxWithin(time.Duration(clock.now-start)), "%v", l)
			came := limiter.Tokens()
			require.True(t, limiter.AllowN(came))
			sum = plus(sum, bigInt(int64(came)))
			require.Equal(t, saturated(sum), p.MaxWithin(time.Duration(clock.now-start)+1), "%v", l)
		}
	}
}

// TestTokenBucketOldReadings: asking with old readings in between does not move the bucket back in time.
func TestTokenBucketOldReadings(t *testing.T) {
	clock := &setClock{}
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(10).WithBurst(1)), weir.WithClock(clock))
	admitted := 0
	for range 1000 {
		clock.now = int64(100 * time.Millisecond)
		if limiter.Allow() {
			admitted++
		}
		clock.now = 0
		limiter.AllowN(0)
	}
	require.Equal(t, 1, admitted)
}

// TestTokenBucketMaxWithinFormula holds the bound against the formula in rationals.
func TestTokenBucketMaxWithinFormula(t *testing.T) {
	for _, l := range awkward {
		p := weir.TokenBucket(l)
		for _, d := range spans {
			want := 0
			if d > 0 {
				came := new(big.Rat).Quo(big.NewRat(int64(d-1), 1), roundedInterval(l))
				sum := plus(floorDiv(came.Num(), came.Denom()), bigInt(int64(l.Burst())))
				want = saturated(sum)
			}
			require.Equal(t, want, p.MaxWithin(d), "%v within %v", l, d)
		}
	}
}

var spans = []time.Duration{
	math.MinInt64, -1, 0, 1, 2, 3, 125, time.Microsecond, 100*time.Millisecond - 1, 100 * time.Millisecond,
	100*time.Millisecond + 1, time.Second - 1, time.Second, time.Second + 1, 13 * time.Second, time.Hour, time.Hour + 1, 2*time.Hour + 1,
	2*time.Hour + 2, year, 30 * year, 30*year + 1, 30*year + 2, 250 * year, math.MaxInt64 - 1, math.MaxInt64,
}
