package weir

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// int64Edges are where int64 and its sums, differences and products turn.
var int64Edges = []int64{
	math.MinInt64, math.MinInt64 + 1, math.MinInt64 / 2, -3, -2, -1, 0, 1, 2, 3, 1 << 31, 3037000499, 3037000500,
	1 << 32, math.MaxInt64 / 2, math.MaxInt64/2 + 1, math.MaxInt64 - 1, math.MaxInt64,
}

// TestArithmeticSaturates: each result is the exact one, or the end of int64 that is nearest to it.
func TestArithmeticSaturates(t *testing.T) {
	saturated := func(exact *big.Int) int64 {
		switch {
		case exact.IsInt64():
			return exact.Int64()
		case exact.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	for _, a := range int64Edges {
		for _, b := range int64Edges {
			x, y := big.NewInt(a), big.NewInt(b)
			require.Equal(t, saturated(new(big.Int).Add(x, y)), saturatingAdd(a, b), "%d + %d", a, b)
			require.Equal(t, saturated(new(big.Int).Sub(x, y)), saturatingSub(a, b), "%d - %d", a, b)
			if a >= 0 && b >= 0 {
				require.Equal(t, saturated(new(big.Int).Mul(x, y)), saturatingMul(a, b), "%d * %d", a, b)
			}
		}
	}
	for n, want := range map[uint64]int64{0: 0, math.MaxInt64: math.MaxInt64, 1 << 63: math.MaxInt64, math.MaxUint64: math.MaxInt64} {
		require.Equal(t, want, clampInt64(n))
	}
	require.Equal(t, 7, clampInt(7))
	require.Equal(t, math.MaxInt, clampInt(math.MaxInt64))
}

// TestDivisionRoundsDownOrUp: as its name says, on both sides of 0.
func TestDivisionRoundsDownOrUp(t *testing.T) {
	for _, a := range int64Edges {
		for _, b := range []int64{1, 2, 3, 7, 1 << 31, math.MaxInt64} {
			floor, rest := new(big.Int).DivMod(big.NewInt(a), big.NewInt(b), new(big.Int))
			quotient, above := floorDiv(a, b)
			require.Equal(t, floor.Int64(), quotient, "%d / %d", a, b)
			require.Equal(t, rest.Int64(), above, "%d %% %d", a, b)
			if a < 0 {
				continue
			}
			if rest.Sign() > 0 {
				floor.Add(floor, big.NewInt(1))
			}
			require.Equal(t, floor.Int64(), ceilDiv(a, b), "%d / %d", a, b)
		}
	}
	quotient, exact := divMul(math.MaxUint64, 6, 6)
	require.EqualValues(t, uint64(math.MaxUint64), quotient)
	require.True(t, exact)
	quotient, exact = divMul(math.MaxUint64, 5, 6)
	require.EqualValues(t, uint64(math.MaxUint64)/6*5+2, quotient) // the rest of the division by 6 is 3, and 15/6 is 2
	require.False(t, exact)
}

// TestAnIntervalIsRoundedUp: and is nothing where nothing, or everything, passes.
func TestAnIntervalIsRoundedUp(t *testing.T) {
	for l, want := range map[Limit]uint64{
		Per(1, 1): 8, Per(8, 1): 1, Per(9, 1): 1, Per(7, 1): 2, Per(3, 10): 27,
		Unlimited(): 0, {}: 0, Per(0, 10): 0, Per(3, 10).WithBurst(0): 0,
	} {
		require.Equal(t, want, l.interval(), "%v", l)
	}
	require.False(t, Unlimited().deniesAll())
	require.True(t, Limit{}.deniesAll())
}

// TestACarriedDebtIsAsManyTokens: rounded up, and no more than all there are.
func TestACarriedDebtIsAsManyTokens(t *testing.T) {
	buckets := []bucket{{1, 8}, {8, 80}, {27, 81}, {1 << 40, 1 << 60}, {1 << 62, 1 << 62}}
	now := int64(1e18)
	for _, from := range buckets {
		for _, to := range buckets {
			for _, debt := range []uint64{1, 7, 8, from.interval, from.interval + 1, from.capacity - 1, from.capacity, from.capacity + 5, 1 << 63} {
				b, c := tokenBucket{bucket: from}, tokenBucket{bucket: to}
				want := new(big.Int).Mul(new(big.Int).SetUint64(debt), new(big.Int).SetUint64(to.interval))
				want.Add(want, new(big.Int).SetUint64(from.interval-1)).Div(want, new(big.Int).SetUint64(from.interval))
				if most := new(big.Int).SetUint64(to.capacity); want.Cmp(most) > 0 {
					want = most
				}
				if b == c {
					want.SetUint64(debt) // with what it is overdrawn by
				}
				require.Equal(t, c.wordOrFull(want.Uint64(), now), b.carry(debt, c, now), "%d from %v to %v", debt, from, to)
			}
		}
	}
}
