package benchmarks

import (
	"flag"
	"runtime"
	"strings"
	"testing"

	"github.com/goweir/weir/benchmarks/cases"
	"github.com/goweir/weir/benchmarks/measure"
)

// clients returns n, or a thousandth where nobody will look at the figures.
func clients(n int) int {
	if smoke() {
		return n / 1000
	}
	return n
}

// smoke reports whether each benchmark runs only once, to see that it does.
func smoke() bool {
	return testing.Short() || flag.Lookup("test.benchtime").Value.String() == "1x"
}

// A mode is how many goroutines ask.
type mode struct {
	name    string
	workers int
}

func modes() []mode { return []mode{{"serial", 1}, {"parallel", runtime.GOMAXPROCS(0)}} }

// label makes a name one part of a benchmark's name.
var label = strings.NewReplacer("/", "-", " ", "", ",", "-")

// run is the benchmark of a case: each contender from one goroutine, and from
// one a core. The clients it holds are built once for both and for all b.N.
func run(b *testing.B, c cases.Case) {
	for _, by := range c.Contenders {
		b.Run("by="+label.Replace(by.Name), func(b *testing.B) {
			held := c.New == 0
			l := c.Start(by)
			defer func() { l.Close() }()
			for _, mode := range modes() {
				b.Run(mode.name, func(b *testing.B) {
					if !held {
						l.Close()
						l = c.Start(by)
					}
					b.ReportAllocs()
					r := measure.Ask(l, c.Sources(mode.workers, uint64(b.N)), measure.Budget{Ops: b.N})
					// Without what it took to make the keys.
					b.ReportMetric(r.NsPerOp, "ns/op")
				})
			}
		})
	}
}
