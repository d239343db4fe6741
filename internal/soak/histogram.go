package main

import (
	"math"
	"math/bits"
	"time"
)

// A histogram counts durations in buckets of at most 1/32 of the duration, as
// HdrHistogram does. The zero histogram is empty.
type histogram struct {
	counts [buckets]uint64
	most   time.Duration
}

const (
	subBits = 5
	mostLog = 36 // above 2^36 ns, a minute, they are counted as that
	buckets = (mostLog - subBits + 1) << subBits
)

func (h *histogram) record(d time.Duration) {
	d = max(0, d)
	h.most = max(h.most, d)
	n := min(uint64(d), 1<<mostLog-1)
	shift := max(0, bits.Len64(n)-subBits-1)
	h.counts[shift<<subBits+int(n>>shift)]++
}

// upper returns the longest duration of a bucket.
func upper(bucket int) time.Duration {
	shift := max(0, bucket>>subBits-1)
	return time.Duration(bucket-shift<<subBits+1)<<shift - 1
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.most = max(h.most, other.most)
}

// quantile returns a duration that a share q of those recorded do not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	var total, sum uint64
	for _, n := range h.counts {
		total += n
	}
	rank := uint64(math.Ceil(q * float64(total)))
	for i, n := range h.counts[:buckets-1] {
		if sum += n; n > 0 && sum >= rank {
			return min(h.most, upper(i))
		}
	}
	return h.most
}
