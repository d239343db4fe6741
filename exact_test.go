package weir_test

import (
	"math"
	"math/big"

	"github.com/goweir/weir"
)

func bigInt(n int64) *big.Int { return big.NewInt(n) }

func plus(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }

// floorDiv floors for a positive b, as Euclid's division does.
func floorDiv(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

func ceilRat(r *big.Rat) *big.Int {
	q := floorDiv(new(big.Int).Neg(r.Num()), r.Denom())
	return q.Neg(q)
}

// saturated returns n as an int, or the greatest int.
func saturated(n *big.Int) int {
	if n.Cmp(bigInt(math.MaxInt)) > 0 {
		return math.MaxInt
	}
	return int(n.Int64())
}

// exactInterval is the time between two tokens as configured; roundedInterval is what a bucket makes of
// it: whole eighths of a nanosecond, never shorter.
func exactInterval(l weir.Limit) *big.Rat {
	return big.NewRat(int64(l.Period()), int64(l.Count()))
}

func roundedInterval(l weir.Limit) *big.Rat {
	eighths := ceilRat(new(big.Rat).Mul(exactInterval(l), big.NewRat(8, 1)))
	return new(big.Rat).SetFrac(eighths, bigInt(8))
}
