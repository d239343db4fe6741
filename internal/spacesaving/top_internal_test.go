package spacesaving

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThereIsAStripeForEachCoreUpToSixteen(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for cores, want := range map[int]int{1: 1, 3: 3, 16: 16, 17: 16, 40: 16} {
		runtime.GOMAXPROCS(cores)
		require.Len(t, New[int](1).stripes, want)
		require.Equal(t, cores, runtime.GOMAXPROCS(0), "as it was")
	}
}

// TestAStripeThatIsFreeIsTaken, whichever that is; and where none is, one that is soon.
func TestAStripeThatIsFreeIsTaken(t *testing.T) {
	top := &Top[int]{size: 1, stripes: make([]stripe[int], 5)}
	for i := range top.stripes {
		top.stripes[i].size = 1
		top.stripes[i].mu.Lock()
	}
	for i := range top.stripes {
		free := &top.stripes[i]
		free.mu.Unlock()
		require.Same(t, free, top.lock())
		require.False(t, free.mu.TryLock(), "it is locked now")
	}
	waited := make(chan *stripe[int])
	go func() { waited <- top.lock() }()
	for i := range top.stripes {
		top.stripes[i].mu.Unlock()
	}
	require.False(t, (<-waited).mu.TryLock())
}
