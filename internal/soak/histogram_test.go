package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHistogramQuantiles(t *testing.T) {
	var a, b histogram
	require.Equal(t, "-", a.String())
	for i := range 10_000 {
		h := &a
		if i%2 == 0 {
			h = &b
		}
		h.record(time.Duration(i+1) * time.Microsecond)
	}
	a.merge(&b)
	require.Equal(t, 10*ms, a.most)
	for _, q := range []float64{0.01, 0.5, 0.99, 0.9999} {
		require.InEpsilon(t, q*1e7, float64(a.quantile(q)), 1.0/32, "%v", q)
	}
	require.Equal(t, "10ms/10ms", a.String())
}

func TestHistogramCountsWhatIsOutOfRange(t *testing.T) {
	var h histogram
	h.record(-1)
	h.record(time.Hour)
	require.EqualValues(t, 1, h.counts[0])
	require.EqualValues(t, 1, h.counts[buckets-1])
	require.Equal(t, time.Hour, h.quantile(1))
}

func TestHistogramBucketsFollowEachOther(t *testing.T) {
	for i := range buckets {
		var h histogram
		h.record(upper(i))
		require.EqualValues(t, 1, h.counts[i], "%d", i)
		h.record(upper(i) + 1)
		if i < buckets-1 {
			require.EqualValues(t, 1, h.counts[i+1], "%d", i)
		}
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 99: "99ns", 1234: "1.2µs", 56_789: "57µs", 123_456: "120µs", 9_876_543: "9.9ms", 12 * time.Second: "12s",
	} {
		require.Equal(t, want, brief(d))
	}
}
