package weir

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestADrawEndsAtTheMost: computed exactly, however much is drawn.
func TestADrawEndsAtTheMost(t *testing.T) {
	for _, b := range []bucket{{8, 80}, {1 << 40, 1 << 42}, {1 << 62, 1 << 62}} {
		most := b.capacity + mostOverdraft
		for _, debt := range []uint64{0, 1, b.capacity, most - 1, most, most + 1, math.MaxUint64} {
			for _, n := range []int64{0, 1, 3, 1 << 22, 1 << 24, 1 << 56, math.MaxInt64} {
				want := new(big.Int).Mul(big.NewInt(n), new(big.Int).SetUint64(b.interval))
				want.Add(want, new(big.Int).SetUint64(debt))
				if highest := new(big.Int).SetUint64(max(debt, most)); want.Cmp(highest) > 0 {
					want = highest
				}
				require.Equal(t, want.Uint64(), b.draw(debt, n), "%+v: %d and %d more", b, debt, n)
			}
		}
	}
}

// TestADebtIsSeenUpToTheFurthest: what is beyond, time has passed.
func TestADebtIsSeenUpToTheFurthest(t *testing.T) {
	b := bucket{8, 80}
	for debt, want := range map[uint64]uint64{1: 1, 80: 80, 100: 100, 101: 0, math.MaxUint64: 0} {
		require.Equal(t, want, b.debt(ticks(1000)+debt, 1000, 100))
	}
	require.Zero(t, b.debt(0, -1, math.MaxUint64), "0 is full whatever the time is")
	require.Zero(t, b.wordOrFull(0, 1000))
	require.Equal(t, ticks(1000)+1, b.wordOrFull(1, 1000))
}

func TestABucketHasBeenFullSinceItsWord(t *testing.T) {
	b := bucket{8, 80}
	word := b.word(3*ticksPerNano, 1000)
	require.EqualValues(t, 0, b.fullFor(word, 1003))
	require.EqualValues(t, 497, b.fullFor(word, 1500))
	require.EqualValues(t, 496, b.fullFor(word+1, 1500), "not a whole nanosecond more")
}

func TestNothingWaitsForNothing(t *testing.T) {
	b := bucket{8, 80}
	require.Zero(t, b.wait(1000, 0), "whatever is owed")
	require.Zero(t, b.wait(72, 1))
	require.EqualValues(t, 1, b.wait(73, 1))
	require.EqualValues(t, 10, b.wait(80, 10))
	require.EqualValues(t, 1, b.tokens(72))
	require.Zero(t, b.tokens(73))
	require.Zero(t, b.tokens(1000))
}
