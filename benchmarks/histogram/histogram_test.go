package histogram

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantilesOfKnownDurations(t *testing.T) {
	var h Histogram
	require.Zero(t, h.Quantile(0.5))
	for i := range 10_000 {
		h.Record(time.Duration(i+1) * time.Microsecond)
	}
	require.EqualValues(t, 10_000, h.Count())
	require.Equal(t, 10*time.Millisecond, h.Max())
	require.Equal(t, 10*time.Millisecond, h.Quantile(1))
	for _, q := range []float64{0.01, 0.5, 0.99, 0.9999} {
		require.InEpsilon(t, q*1e7, float64(h.Quantile(q)), 1.0/64)
	}
}

func TestBucketsFollowEachOther(t *testing.T) {
	require.Equal(t, buckets-1, bucket(1<<63-1))
	for i := range buckets - 1 {
		require.Equal(t, i, bucket(upper(i)))
		require.Equal(t, i+1, bucket(upper(i)+1))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		n := random.Uint64() >> 1 >> random.IntN(63)
		require.GreaterOrEqual(t, upper(bucket(n)), n)
		require.LessOrEqual(t, float64(upper(bucket(n))), float64(n)*(1+1.0/64))
	}
}

func TestNegativeIsZero(t *testing.T) {
	var h Histogram
	h.Record(-time.Second)
	require.Zero(t, h.Max())
	require.EqualValues(t, 1, h.Count())
}
