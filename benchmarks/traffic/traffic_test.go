package traffic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func draw(s Source, n int) map[string]int {
	count := map[string]int{}
	keys := make([]string, 100)
	for range n / len(keys) {
		s.Fill(keys)
		for _, key := range keys {
			count[strings.Clone(key)]++
		}
	}
	return count
}

func TestKeysDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range uint64(1000) {
		seen[Key(i)] = true
		require.Len(t, Key(i), KeyLen)
	}
	require.Len(t, seen, 1000)
}

func TestUniformDrawsAllClients(t *testing.T) {
	count := draw(Uniform(10, 7), 10_000)
	require.Len(t, count, 10)
	for i := range uint64(10) {
		require.InDelta(t, 1000, count[Key(i)], 200)
	}
}

func TestZipfPrefersTheFirst(t *testing.T) {
	count := draw(Zipf(1000, 7), 100_000)
	// 1 / sum(1/i^1.1) over a thousand, and 2^-1.1 of that.
	require.InDelta(t, 17_900, count[Key(0)], 900)
	require.InDelta(t, 8_350, count[Key(1)], 600)
}

func TestNewcomersComeOnceAndStay(t *testing.T) {
	require.Len(t, draw(New(5), 1000), 1000)

	source, first := New(5), make([]string, 3)
	source.Fill(first)
	source.Fill(make([]string, 3))
	require.Equal(t, []string{Key(5), Key(6), Key(7)}, first)
}

func TestFloodIsNineTenthsTheAttacker(t *testing.T) {
	count := draw(Flood(1, 7), 1000)
	require.Equal(t, 900, count[Key(0)])
	require.Len(t, count, 101)
}

func TestHotIsOneClient(t *testing.T) {
	require.Equal(t, map[string]int{Key(0): 1000}, draw(Hot(), 1000))
}
