package weir

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWordsThatMeanSomethingElse: a bucket whose word would be that of a full one, or of one that has
// moved, is that of an instant a little later.
func TestWordsThatMeanSomethingElse(t *testing.T) {
	const most = 6
	for word := uint64(0); word != 4; word++ {
		for _, special := range []uint64{word, -word - 1} {
			rest := (special - tickOrigin) % ticksPerNano
			interval := 1_000_000*ticksPerNano + rest // so that the word of one taken at a whole nanosecond is special
			l := Per(ticksPerNano, time.Duration(interval)).WithBurst(most)
			require.Equal(t, interval, l.interval())
			now := int64(special-interval-tickOrigin) / ticksPerNano
			require.Equal(t, special, ticks(now)+interval)
			at, elsewhere := NewManualClock(), NewManualClock()
			at.now, elsewhere.now = time.Duration(now), time.Duration(now)/2
			limiter, twin := New(TokenBucket(l), WithClock(at)), New(TokenBucket(l), WithClock(elsewhere))
			bucket := limiter.Policy().meter.(tokenBucket)
			word := bucket.word(interval, now)
			require.NotZero(t, word)
			require.Less(t, word, leastReserved)
			require.LessOrEqual(t, word-special, uint64(3))
			for step := range 40 {
				got, want := limiter.Take(1), twin.Take(1)
				require.Equal(t, want.Allowed, got.Allowed, "%d, step %d", special, step)
				require.Equal(t, want.Remaining, got.Remaining)
				require.LessOrEqual(t, want.RetryAfter, got.RetryAfter)
				require.LessOrEqual(t, got.RetryAfter, want.RetryAfter+1)
				require.LessOrEqual(t, want.ResetAfter, got.ResetAfter)
				require.LessOrEqual(t, got.ResetAfter, want.ResetAfter+1)
				d := max(0, got.RetryAfter-time.Duration(step%2))
				if step%2 == 0 {
					d += 2
				}
				at.Advance(d)
				elsewhere.Advance(d)
			}
		}
	}
}

// withoutBuckets returns a policy that is taken apart like any other, though it is nothing but buckets.
func withoutBuckets(p Policy) Policy {
	apart := *p.spec
	apart.buckets, apart.parts = nil, nil
	for _, part := range p.parts {
		apart.parts = append(apart.parts, withoutBuckets(part))
	}
	return Policy{&apart}
}

// TestBucketsAreWhatTheirTreeIs holds the short way for nothing but buckets against the long one.
func TestBucketsAreWhatTheirTreeIs(t *testing.T) {
	a, b, c := TokenBucket(PerSecond(5)), TokenBucket(PerMinute(100).WithBurst(8)), LeakyBucket(PerSecond(7), 1)
	for _, p := range []Policy{
		a, c, All(a), All(a, b), All(b, All(a, b), a), All(a, c), FirstOf(a, b), FirstOf(All(a, b), c, b),
		All(a, TokenBucket(Every(maxSpan)).Named("slow")), FirstOf(a, SlidingWindow(PerMinute(9)), b),
	} {
		random := rand.New(rand.NewPCG(18, 1))
		clock := NewManualClock()
		short, long := New(p, WithClock(clock)), New(withoutBuckets(p), WithClock(clock))
		for step := range 3000 {
			clock.Advance(time.Duration(random.Int64N(int64(400*time.Millisecond))) - 50*time.Millisecond)
			if random.IntN(300) == 0 {
				clock.Advance(time.Duration(random.Int64N(int64(maxSpan))))
			}
			n := random.IntN(11) - 1
			if random.IntN(100) == 0 {
				n = math.MaxInt
			}
			if random.IntN(2) == 0 {
				require.Equal(t, long.Take(n), short.Take(n), "%v, step %d", p, step)
			} else {
				require.Equal(t, long.AllowN(n), short.AllowN(n), "%v, step %d", p, step)
			}
		}
		require.Equal(t, long.Stats(), short.Stats())
	}
}
