//go:build race

package weir_test

// programs is how many random programs, or steps of one, to try: under the race
// detector each takes ten times as long, and it has little to find in what one
// goroutine does.
func programs(n uint64) uint64 { return n / 8 }
