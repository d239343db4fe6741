package benchmarks

import (
	"testing"

	"github.com/goweir/weir"
)

// What a policy from a configuration costs, once it is read from there.
func BenchmarkParsePolicy(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"leaf", "token-bucket 100/s burst 20"},
		{"all", `all(token-bucket 10/s burst 20, sliding-window 1000/h as "hourly")`},
	} {
		b.Run("of="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := weir.ParsePolicy(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
