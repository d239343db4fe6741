package measure

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/traffic"
)

// half allows every other key and counts all.
func half(asked *atomic.Int64) contender.Limiter {
	return contender.Limiter{Ask: func(keys []string) int {
		asked.Add(int64(len(keys)))
		return len(keys) / 2
	}}
}

func TestAskByOps(t *testing.T) {
	var asked atomic.Int64
	r := Ask(half(&asked), []traffic.Source{traffic.Hot(), traffic.Hot()}, Budget{Ops: 4000})
	require.EqualValues(t, 4000, asked.Load())
	require.InDelta(t, 0.5, r.Allowed, 0.01)
	require.Positive(t, r.NsPerOp)
}

func TestAskByTime(t *testing.T) {
	var asked atomic.Int64
	r := Ask(half(&asked), []traffic.Source{traffic.Hot()}, Budget{Time: time.Millisecond})
	require.Positive(t, asked.Load())
	require.InDelta(t, 0.5, r.Allowed, 0.01)
}

// TestAskNoFasterThanTheCores: many goroutines that wait for a core are not so many cores.
func TestAskNoFasterThanTheCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var asked atomic.Int64
	sources := make([]traffic.Source, 64)
	for i := range sources {
		sources[i] = traffic.Hot()
	}
	begin := time.Now()
	r := Ask(half(&asked), sources, Budget{Time: 100 * time.Millisecond, Chunk: 16})
	require.LessOrEqual(t, float64(asked.Load())*r.NsPerOp, 1.1*float64(time.Since(begin)))
	require.GreaterOrEqual(t, float64(asked.Load())*r.NsPerOp, 0.1*float64(100*time.Millisecond))
}

func TestAllocs(t *testing.T) {
	var kept *int
	for each, l := range map[float64]contender.Limiter{
		0: {Ask: func(keys []string) int { return len(keys) }},
		2: {Ask: func(keys []string) int {
			for range 2 * len(keys) {
				kept = new(int)
			}
			return len(keys)
		}},
	} {
		require.Equal(t, each, Allocs(l, traffic.Hot()))
	}
	require.NotNil(t, kept)
}

func TestFillAsksForEachClient(t *testing.T) {
	asked := map[string]int{}
	l := contender.Limiter{Ask: func(keys []string) int {
		for _, key := range keys {
			asked[key]++
		}
		return len(keys)
	}}
	Fill(l, 10, 1010, 3)
	require.Len(t, asked, 1000)
	require.Equal(t, 3, asked[traffic.Key(10)])
	require.Equal(t, 3, asked[traffic.Key(1009)])
}
