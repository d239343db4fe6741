package spacesaving

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// require checks the invariant of a summary against what really came.
func (s *summary[K]) require(t *testing.T, came map[K]uint64) {
	t.Helper()
	var all, sum uint64
	for _, f := range came {
		all += f
	}
	require.Len(t, s.places, len(s.heap))
	for i, c := range s.heap {
		require.Equal(t, i, s.places[c.Key])
		require.LessOrEqual(t, s.heap[(i-1)/2*min(i, 1)].Count, c.Count, "the lowest is on top")
		require.LessOrEqual(t, c.Error, s.least())
		requireBetween(t, c, came[c.Key])
		sum += c.Count
	}
	require.Equal(t, all, sum)
	require.LessOrEqual(t, s.least(), all/uint64(s.size))
	for key, f := range came {
		if _, found := s.places[key]; !found {
			require.LessOrEqual(t, f, s.least())
		}
	}
}

func requireBetween[K comparable](t *testing.T, c Count[K], f uint64) {
	t.Helper()
	require.LessOrEqual(t, c.Error, c.Count)
	require.LessOrEqual(t, c.Count-c.Error, f)
	require.LessOrEqual(t, f, c.Count)
}

// skewed draws a few keys often and many seldom.
func skewed(r *rand.Rand) int { return int(math.Exp(r.Float64() * 7)) }

func TestBoundsHoldAfterEachKey(t *testing.T) {
	for size := range 12 {
		r := rand.New(rand.NewPCG(uint64(size), 1))
		s, came := &summary[int]{size: size + 1}, map[int]uint64{}
		for range 2000 {
			key := skewed(r)
			s.add(key)
			came[key]++
			if len(came) < 50 || r.IntN(50) == 0 {
				s.require(t, came)
			}
		}
	}
}

func TestFewKeysAreCountedExactly(t *testing.T) {
	s := &summary[string]{size: 3}
	for _, key := range []string{"c", "a", "b", "a", "b", "a"} {
		s.add(key)
	}
	require.Equal(t, []Count[string]{{"a", 3, 0}, {"b", 2, 0}, {"c", 1, 0}},
		merged(4, [][]Count[string]{s.heap}, []uint64{0}))
}

func TestANewKeyTakesOverTheLowest(t *testing.T) {
	s := &summary[string]{size: 2}
	for _, key := range []string{"a", "a", "a", "b", "b", "c"} {
		s.add(key)
	}
	require.ElementsMatch(t, []Count[string]{{"a", 3, 0}, {"c", 3, 2}}, s.heap)
}

// TestAKeyUnequalToItselfIsNotCounted: it could never be found again.
func TestAKeyUnequalToItselfIsNotCounted(t *testing.T) {
	s := &summary[float64]{size: 2}
	for range 10 {
		s.add(math.NaN())
	}
	require.Empty(t, s.places)
	require.Empty(t, s.heap)
}

// TestWhatIsMergedHasTheBoundsOfAll: whatever part of the keys each summary saw.
func TestWhatIsMergedHasTheBoundsOfAll(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		parts := make([]summary[int], 1+r.IntN(4))
		size := 1 + r.IntN(20)
		came, n := map[int]uint64{}, uint64(r.IntN(2000))
		for range n {
			key, part := skewed(r), r.IntN(len(parts))
			if r.IntN(2) == 0 {
				part = key % len(parts)
			}
			parts[part].size = size
			parts[part].add(key)
			came[key]++
		}
		var heaps [][]Count[int]
		var least []uint64
		for i := range parts {
			parts[i].size = size
			heaps, least = append(heaps, parts[i].heap), append(least, parts[i].least())
		}
		top := merged(size, heaps, least)
		require.LessOrEqual(t, len(top), size)
		require.True(t, slices.IsSortedFunc(top, func(a, b Count[int]) int { return int(b.Count) - int(a.Count) }))
		found := map[int]bool{}
		for _, c := range top {
			requireBetween(t, c, came[c.Key])
			require.LessOrEqual(t, c.Error*uint64(size), n)
			found[c.Key] = true
		}
		for key, f := range came {
			if f*uint64(size) > n {
				require.True(t, found[key], "%d came %d times of %d", key, f, n)
			}
		}
	}
}

// TestANewKeyIsTheLowest: wherever in the heap it enters.
func TestANewKeyIsTheLowest(t *testing.T) {
	s, came := &summary[int]{size: 20}, map[int]uint64{}
	for key := range 20 {
		for range 1 + key*7%11 {
			s.add(key)
			came[key]++
			s.require(t, came)
		}
	}
}
