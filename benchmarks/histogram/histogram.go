// Package histogram counts durations with a bounded relative error, as
// HdrHistogram does.
package histogram

import (
	"math"
	"math/bits"
	"time"
)

// subBits makes buckets of at most 1/64 of the duration: 1.6 %.
const subBits = 6

const buckets = (64 - subBits) << subBits

// A Histogram is a count for each bucket. The zero Histogram is empty.
type Histogram struct {
	counts [buckets]uint64
	total  uint64
	most   time.Duration
}

// Record counts d. A negative one is 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(0, d)
	h.counts[bucket(uint64(d))]++
	h.total++
	h.most = max(h.most, d)
}

// bucket returns the number of the bucket of n: n itself up to 2^(subBits+1),
// then 2^subBits buckets for each power of two.
func bucket(n uint64) int {
	shift := max(0, bits.Len64(n)-subBits-1)
	return shift<<subBits + int(n>>shift)
}

// upper returns the greatest number in a bucket.
func upper(bucket int) uint64 {
	shift := max(0, bucket>>subBits-1)
	first := uint64(bucket-shift<<subBits) << shift
	return first + 1<<shift - 1
}

// Count returns how many were recorded.
func (h *Histogram) Count() uint64 { return h.total }

// Max returns the longest, exactly.
func (h *Histogram) Max() time.Duration { return h.most }

// Quantile returns a duration that a share q of those recorded do not exceed.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(h.total)))
	var sum uint64
	for i, count := range h.counts {
		if sum += count; count > 0 && sum >= rank {
			return min(h.most, time.Duration(upper(i)))
		}
	}
	return h.most
}
