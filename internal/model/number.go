package model

import (
	"math"
	"math/big"
	"time"

	"github.com/goweir/weir"
)

// A number is exact and is never changed: an instant or a span in nanoseconds,
// or a count of tokens.
type number = *big.Rat

func whole[T ~int | ~int64](n T) number { return new(big.Rat).SetInt64(int64(n)) }

func plus(a, b number) number  { return new(big.Rat).Add(a, b) }
func minus(a, b number) number { return new(big.Rat).Sub(a, b) }
func times(a, b number) number { return new(big.Rat).Mul(a, b) }
func over(a, b number) number  { return new(big.Rat).Quo(a, b) }

func less(a, b number) bool  { return a.Cmp(b) < 0 }
func equal(a, b number) bool { return a.Cmp(b) == 0 }

func least(a, b number) number {
	if less(b, a) {
		return b
	}
	return a
}

func most(a, b number) number {
	if less(a, b) {
		return b
	}
	return a
}

// floor rounds down, for a negative number too.
func floor(a number) number {
	return new(big.Rat).SetInt(new(big.Int).Div(a.Num(), a.Denom())) // Euclid's, by a positive one
}

func ceil(a number) number { return minus(zero, floor(minus(zero, a))) }

var (
	zero = whole(0)
	one  = whole(1)
	// never is the wait for what is never admitted, and queueFull that for a
	// LeakyBucket whose queue is full: both are longer than any other.
	never     = whole(weir.Never)
	queueFull = whole(weir.Never - 1)
)

// asCount returns a count, rounded down, as an int or as the nearest one.
func asCount(a number) int {
	if a = floor(a); !less(a, whole(math.MaxInt)) {
		return math.MaxInt
	}
	return int(a.Num().Int64())
}

// asDuration returns a span as a Duration, or the longest that is not Never.
func asDuration(a number) time.Duration {
	if a = ceil(a); !less(a, whole(weir.Never-1)) {
		return weir.Never - 1
	}
	return time.Duration(a.Num().Int64())
}

// firstInstant looks for the first whole nanosecond from one instant on at which
// ok, which is so at another at the latest and never ceases to be.
func firstInstant(from, to number, ok func(t number) bool) number {
	if ok(from) {
		return from
	}
	for less(one, minus(to, from)) { // not yet at from, by to
		if middle := floor(over(plus(from, to), whole(2))); ok(middle) {
			to = middle
		} else {
			from = middle
		}
	}
	return to
}
