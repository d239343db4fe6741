package proof

import (
	"flag"
	"os"
	"testing"
)

// TestMain has each property checked on as many programs as take half a minute
// altogether, the same ones every time, unless -rapid.checks says how many: those
// are new ones, or those of -rapid.seed.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" || f.Name == "rapid.seed" })
	if !given {
		must(flag.Set("rapid.checks", "150"))
		must(flag.Set("rapid.seed", "1"))
	}
	os.Exit(m.Run())
}
