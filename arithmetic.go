package weir

import (
	"math"
	"math/bits"
)

// Integers only, and none that wraps.

// divMul returns floor(a * b / c) and whether that is exact. a or b is at most
// c, so that the result fits.
func divMul(a, b, c uint64) (quotient uint64, exact bool) {
	hi, lo := bits.Mul64(a, b)
	quotient, rest := bits.Div64(hi, lo, c)
	return quotient, rest == 0
}

// floorDiv returns floor(a / b) and a's distance above that multiple of b.
func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

// ceilDiv returns ceil(a / b), a not negative and b positive.
func ceilDiv(a, b int64) int64 {
	quotient := a / b
	if a%b != 0 {
		quotient++
	}
	return quotient
}

func clampInt64(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func clampInt(n int64) int { return int(min(n, math.MaxInt)) }

// saturatingAdd returns a + b, for durations and counts of either sign.
func saturatingAdd[T ~int64](a, b T) T {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// saturatingSub returns a - b.
func saturatingSub[T ~int64](a, b T) T {
	if b == math.MinInt64 {
		return saturatingAdd(saturatingAdd(a, math.MaxInt64), 1)
	}
	return saturatingAdd(a, -b)
}

// saturatingMul returns a * b, neither of them negative.
func saturatingMul(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 {
		return math.MaxInt64
	}
	return clampInt64(lo)
}
