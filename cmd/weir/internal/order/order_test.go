package order

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run sends rows of (instant, number) with a frontier that is an hour behind the
// newest, and returns the numbers as they come out.
func run(t *testing.T, most int, instants []int64) []uint64 {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var got []uint64
	s := New(2, func(rows []uint64) error {
		for ; len(rows) > 0; rows = rows[2:] {
			got = append(got, rows[1])
		}
		return nil
	})
	s.most = most
	newest := int64(0)
	for i, at := range instants {
		newest = max(newest, at)
		require.NoError(t, s.Add([]uint64{uint64(at), uint64(i)}))
		if i%100 == 0 {
			require.NoError(t, s.Release(newest-int64(time.Hour)))
		}
	}
	require.NoError(t, s.Flush())
	s.Close()
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "a temporary file is left")
	return got
}

func TestRowsComeOutInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		for _, most := range []int{mostHeld, 5000, 100} {
			var instants []int64
			var want []uint64
			for i := range 20_000 {
				at := time.Duration(i)*time.Second - time.Duration(random.Int64N(int64(time.Hour-time.Second)))
				instants = append(instants, int64(at.Truncate(unit))+1e18)
				want = append(want, uint64(i))
			}
			slices.SortStableFunc(want, func(a, b uint64) int { return int(instants[a] - instants[b]) })
			require.Equal(t, want, run(t, most, instants), "%v, %d words in memory", unit, most)
		}
	}
}

func TestTemporaryFilesGoWithAnError(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := New(1, func([]uint64) error { return nil })
	s.most = 10
	for i := range 1000 {
		require.NoError(t, s.Add([]uint64{uint64(i) * 1e9}))
	}
	require.NotEmpty(t, s.overflow)
	s.Close()
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// What is released is not held: memory does not grow with an orderly log.
func TestWhatIsReleasedIsNotHeld(t *testing.T) {
	s := New(1, func([]uint64) error { return nil })
	for i := range int64(100_000) {
		require.NoError(t, s.Add([]uint64{uint64(i * 1e9)}))
		require.NoError(t, s.Release((i-10)*1e9))
	}
	require.LessOrEqual(t, s.held, 20)
	require.LessOrEqual(t, len(s.slots)+len(s.free)+len(s.seconds), 100)
}
