package weir

import "math"

// A price is what calls cost in a key of a limiter.
type price struct {
	counts bool // a call's n is what it takes, or
	costs  bool // cost, whichever is more
	cost   int  // 0 if there is none
}

// costOf returns what a call of n takes. 0 is always allowed, and a negative n
// never.
func (p price) costOf(n int) int {
	switch {
	case n <= 0:
		return n
	case p.counts:
		return max(n, p.cost)
	}
	return p.cost
}

// left returns the largest n of a call that the layer would admit where so many
// are left.
func (p price) left(remaining int) int {
	switch {
	case remaining < p.cost || p.cost < 0 && !p.counts:
		return 0
	case p.counts:
		return remaining
	}
	return math.MaxInt
}
