package spacesaving_test

import (
	"sync"
	"testing"

	"github.com/goweir/weir/internal/spacesaving"
	"github.com/stretchr/testify/require"
)

// TestNothingIsLostBetweenGoroutines: with a counter for each key all counts are exact,
// whichever goroutines counted.
func TestNothingIsLostBetweenGoroutines(t *testing.T) {
	top := spacesaving.New[int](8)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 8 * 1000 {
				top.Add(i % 8)
				if i%1000 == 0 {
					top.Counts()
				}
			}
		})
	}
	group.Wait()
	counts := top.Counts()
	require.Len(t, counts, 8)
	for _, c := range counts {
		require.Equal(t, uint64(8000), c.Count)
		require.Zero(t, c.Error)
	}
}

func TestMemoryIsFixed(t *testing.T) {
	top := spacesaving.New[int](10)
	for key := range 1000 {
		top.Add(key)
	}
	next := 1000
	require.Zero(t, testing.AllocsPerRun(10000, func() {
		top.Add(next)
		next++
	}))
	require.Len(t, top.Counts(), 10)
}
