package schedule_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/schedule"
	"github.com/goweir/weir/internal/schedule/standin/atomic"
	"github.com/goweir/weir/internal/schedule/standin/sync"
	"github.com/stretchr/testify/require"
)

// A machine is what the threads of a random program share.
type machine struct {
	words   [2]uint64
	counter atomic.Int64
	locks   [2]sync.Mutex
	kept    [2]int // under the locks
	told    int    // by way of Outside
	seen    [][]uint64
}

// An instruction is one of a random program's. It notes what it sees.
type instruction struct{ op, word, value int }

func (m *machine) do(thread int, in instruction) {
	see := func(v uint64) { m.seen[thread] = append(m.seen[thread], v) }
	word, value := &m.words[in.word], uint64(in.value)
	switch in.op {
	case 0:
		see(atomic.LoadUint64(word))
	case 1:
		atomic.StoreUint64(word, value)
	case 2:
		if atomic.CompareAndSwapUint64(word, value, value+1) {
			see(value)
		}
	case 3:
		m.counter.Add(int64(value))
	case 4:
		see(uint64(m.counter.Load()))
	case 5: // both locks, in one order or the other
		m.locks[in.word].Lock()
		defer m.locks[in.word].Unlock()
		fallthrough
	case 6:
		lock := in.word ^ in.op&1
		m.locks[lock].Lock()
		m.kept[lock] = 3*m.kept[lock] + in.value
		if in.value == 1 {
			see(atomic.LoadUint64(word))
		}
		m.locks[lock].Unlock()
	case 7:
		schedule.Sleep(1)
		see(uint64(schedule.Elapsed()))
	case 8:
		schedule.Go(func() { atomic.StoreUint64(word, 7) })
	case 9:
		schedule.Outside(func() { m.told += in.value })
	case 10:
		schedule.Await(func() bool { return m.told != in.word })
	}
}

// outcomes returns what a random program comes to, by all orders or by those that
// make a difference; nothing if it may be blocked for ever.
func outcomes(t *testing.T, threads [][]instruction, o schedule.Options) (map[string]bool, schedule.Report) {
	all := make(map[string]bool)
	report, err := schedule.Explore(o, func() schedule.Program {
		m := &machine{seen: make([][]uint64, len(threads))}
		var p schedule.Program
		for i, instructions := range threads {
			p.Threads = append(p.Threads, func() {
				for _, in := range instructions {
					m.do(i, in)
				}
			})
		}
		p.Check = func() error {
			all[fmt.Sprint(m.words, m.counter, m.kept, m.seen)] = true
			return nil
		}
		return p
	})
	if err != nil {
		require.ErrorContains(t, err, "deadlock")
		return nil, report
	}
	return all, report
}

// TestNothingIsLeftOut: random programs come to the same if one is run of the orders
// that come to the same, and those that are run stand for all.
func TestNothingIsLeftOut(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 19))
	programs, deadlocks, most := 0, 0, 0.0
	for programs < 300 {
		threads := make([][]instruction, 2+random.IntN(2))
		for i := range threads {
			for range 1 + random.IntN(5-len(threads)) {
				threads[i] = append(threads[i], instruction{random.IntN(11), random.IntN(2), random.IntN(3)})
			}
		}
		want, every := outcomes(t, threads, schedule.Options{Every: true, Runs: 5000})
		if want != nil && !every.Done {
			continue // too many orders to run them all
		}
		programs++
		got, some := outcomes(t, threads, schedule.Options{Count: true})
		require.Equal(t, want, got, "%v", threads)
		if want == nil {
			deadlocks++
			continue
		}
		require.True(t, some.Done)
		require.EqualValues(t, every.Runs, some.Interleavings, "%v", threads)
		most = max(most, float64(every.Runs)/float64(some.Runs))
	}
	require.Positive(t, deadlocks)
	require.Greater(t, most, 100.0)
}

// TestAFailureTellsItsSteps: those of the run that failed, in order.
func TestAFailureTellsItsSteps(t *testing.T) {
	_, err := schedule.Explore(schedule.Options{}, func() schedule.Program {
		var n uint64
		increment := func() { atomic.StoreUint64(&n, atomic.LoadUint64(&n)+1) }
		return schedule.Program{
			Threads: []func(){increment, increment},
			Check: func() error {
				if n != 2 {
					return errors.New("lost")
				}
				return nil
			},
		}
	})
	require.ErrorContains(t, err, "lost")
	require.Equal(t, 4, strings.Count(err.Error(), "\n\tthread"))
}

// TestAPanicIsAFailure: also one under a lock.
func TestAPanicIsAFailure(t *testing.T) {
	_, err := schedule.Explore(schedule.Options{}, func() schedule.Program {
		var mu sync.Mutex
		free := true
		thread := func() {
			mu.Lock()
			defer mu.Unlock()
			if !free {
				panic("no longer free")
			}
			free = false
		}
		return schedule.Program{Threads: []func(){thread, thread}, Check: func() error { return nil }}
	})
	require.ErrorContains(t, err, "no longer free")
}

// TestChanceIsAFailure: what is left of a program is not known if it does something
// else when it is run again.
func TestChanceIsAFailure(t *testing.T) {
	runs := 0
	_, err := schedule.Explore(schedule.Options{}, func() schedule.Program {
		runs++
		var n uint64
		thread := func() {
			for range 4 - runs {
				atomic.StoreUint64(&n, 1)
			}
		}
		return schedule.Program{Threads: []func(){thread, thread}, Check: func() error { return nil }}
	})
	require.ErrorContains(t, err, "something else")
}
