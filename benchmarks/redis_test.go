package benchmarks

import (
	"strings"
	"testing"

	"github.com/goweir/weir/benchmarks/cases"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/redislimit/redistest"
)

// BenchmarkRedis has a server of its own for each case.
func BenchmarkRedis(b *testing.B) {
	for _, in := range cases.InRedis() {
		c := in(redistest.Start(b).Addr, clients(1_000_000))
		b.Run(strings.TrimPrefix(c.Name, "redis-"), func(b *testing.B) {
			for _, by := range c.Contenders {
				b.Run("by="+label.Replace(by.Name), func(b *testing.B) {
					l := c.Start(by)
					defer l.Close()
					for b.Loop() {
						r := measure.Ask(l, c.Sources(c.Askers, 1), measure.Budget{Ops: 1024})
						b.ReportMetric(r.NsPerOp, "ns/decision")
					}
				})
			}
		})
	}
}
