//go:build race

package proof

import "flag"

// A world is ten times as slow under the race detector, which has little to find in
// a program of one goroutine.
func init() {
	flag.Lookup("rapid.checks").DefValue = "15"
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
}
