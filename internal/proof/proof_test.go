package proof

import (
	"flag"
	"os"
	"testing"
)

// TestMain has each property checked on as many programs as take half a minute
// altogether, unless -rapid.checks says how many.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		must(flag.Set("rapid.checks", "150"))
	}
	os.Exit(m.Run())
}
