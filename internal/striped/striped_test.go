package striped

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestALineIsACacheLine(t *testing.T) {
	require.EqualValues(t, lineSize, unsafe.Sizeof(Line{}))
}

func TestEveryAddCounts(t *testing.T) {
	for _, procs := range []int{1, 2, 3, 8} {
		before := runtime.GOMAXPROCS(procs)
		set := New()
		require.GreaterOrEqual(t, len(set.lines), procs)
		var group sync.WaitGroup
		for g := range 16 {
			group.Go(func() {
				for range 1000 {
					set.Add(g % Counters)
				}
			})
		}
		group.Wait()
		runtime.GOMAXPROCS(before)
		for i := range Counters {
			require.EqualValues(t, 4000, set.Sum(i))
		}
	}
}

func TestGoroutinesAreSpread(t *testing.T) {
	before := runtime.GOMAXPROCS(8)
	set := New()
	runtime.GOMAXPROCS(before)
	var ready, group sync.WaitGroup
	ready.Add(100)
	for range 100 {
		group.Go(func() {
			ready.Done()
			ready.Wait() // so that all have a stack of their own
			set.Add(0)
		})
	}
	group.Wait()
	used := 0
	for i := range set.lines {
		if set.lines[i].counters[0].Load() > 0 {
			used++
		}
	}
	require.Greater(t, used, len(set.lines)/3)
}
