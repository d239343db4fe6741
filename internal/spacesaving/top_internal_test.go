package spacesaving

import (
	"runtime"
	"strings"
	"testing"
	"time"

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
	top := &Top[int]{size: 1, stripes: make([]stripe[int], 50)}
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
	const waiting = 64 // each with a stack elsewhere, so that they begin at different stripes
	waited := make(chan *stripe[int])
	for range waiting {
		go func() { waited <- top.lock() }()
	}
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "[sync.Mutex.Lock") == waiting
	}, 10*time.Second, time.Millisecond, "they wait while there is none")
	for i := range top.stripes {
		top.stripes[i].mu.Unlock()
	}
	for range waiting {
		taken := <-waited
		require.False(t, taken.mu.TryLock())
		taken.mu.Unlock()
	}
}
