package weir

import (
	"math/bits"
	"time"
)

// TokenBucket returns the policy that admits bursts of up to l.Burst() and
// then l.Count() per l.Period(), evenly. It needs one word a key and is the
// one to take unless there is a reason for another.
//
// The algorithm is the Generic Cell Rate Algorithm (ITU-T I.371): a token comes
// back every l.Period() / l.Count(), rounded up to an eighth of a nanosecond. In
// any span of d it admits at most l.Burst() and one more for each such interval
// that ends before d is over. So 10/s admits up to 19 in one second: the
// burst of 10, and 9 that come back meanwhile. Where that is too many, lower the
// burst or use SlidingWindow.
func TokenBucket(l Limit) Policy {
	return newLeaf(AlgorithmTokenBucket, l, 0)
}

// A tokenBucket is a bucket filled by time alone. The algorithm is GCRA; see
// bucket.
type tokenBucket struct {
	bucket
	burst int64
}

func newTokenBucket(l Limit, burst int) tokenBucket {
	interval := l.interval()
	return tokenBucket{
		bucket: bucket{interval: interval, capacity: uint64(burst) * interval},
		burst:  int64(burst),
	}
}

func (b tokenBucket) debtOf(s state, now int64) uint64 {
	return b.debt(s.words[0], now, s.furthest(now))
}

func (b tokenBucket) size() int { return 1 }

func (b tokenBucket) most() int64 { return b.burst }

func (b tokenBucket) wait(s state, now, n int64) time.Duration {
	return b.bucket.wait(b.debtOf(s, now), n)
}

func (b tokenBucket) room(s state, now, n int64) int64 {
	return max(0, b.tokens(b.debtOf(s, now))-n)
}

func (b tokenBucket) reset(s state, now, n int64) time.Duration {
	return nanos(b.debtOf(s, now) + uint64(n)*b.interval)
}

func (b tokenBucket) take(s state, now, n int64) {
	s.words[0] = b.word(b.draw(b.debtOf(s, now), n), now)
}

func (b tokenBucket) used(s state, now int64) int64 {
	return b.owed(b.debtOf(s, now))
}

func (b tokenBucket) refund(s state, now, n int64) int64 {
	debt := b.debtOf(s, now)
	given := debt
	if hi, lo := bits.Mul64(uint64(n), b.interval); hi == 0 {
		given = min(lo, debt)
	}
	s.words[0] = b.wordOrFull(debt-given, now)
	return b.owed(given)
}

// refresh makes a full bucket's word the one for full, which is never misread.
func (b tokenBucket) refresh(s state, now int64) {
	if b.debtOf(s, now) == 0 {
		s.words[0] = 0
	}
}

func (b tokenBucket) maxWithin(d time.Duration) int64 {
	return saturatingAdd(b.burst, b.within(d))
}

// buckets are token buckets that must all admit, with a word each. What takes
// apart a combination of nothing else comes to the same, and longer.
type buckets []tokenBucket

// bucketsOf returns the buckets of parts that are nothing else.
func bucketsOf(parts []Policy) (all buckets) {
	for _, part := range parts {
		if part.buckets == nil {
			return nil
		}
		all = append(all, part.buckets...)
	}
	return all
}

func (bs buckets) wait(words []uint64, now int64, furthest uint64, n int64) (wait time.Duration) {
	words = words[:len(bs)]
	for i := range bs {
		b := &bs[i]
		if n < 0 || n > b.burst {
			return Never
		}
		wait = max(wait, b.bucket.wait(b.debt(words[i], now, furthest), n))
	}
	return wait
}

func (bs buckets) take(words []uint64, now int64, furthest uint64, n int64) {
	words = words[:len(bs)]
	for i := range bs {
		b := &bs[i]
		words[i] = b.word(b.debt(words[i], now, furthest)+uint64(n)*b.interval, now)
	}
}
