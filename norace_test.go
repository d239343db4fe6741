//go:build !race

package weir_test

// programs is how many random programs, or steps of one, to try.
func programs(n uint64) uint64 { return n }
