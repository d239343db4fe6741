package benchmarks

import (
	"slices"
	"testing"

	"github.com/goweir/weir/benchmarks/cases"
	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
)

func BenchmarkLimiter_ObservedAllowed(b *testing.B)   { runObserved(b, cases.LimiterObserved()) }
func BenchmarkLimiter_ObservedDenied(b *testing.B)    { runObserved(b, cases.LimiterObservedDenied()) }
func BenchmarkPerClient_ObservedAllowed(b *testing.B) { runObserved(b, cases.HotObserved()) }
func BenchmarkPerClient_ObservedDenied(b *testing.B)  { runObserved(b, cases.HotObservedDenied()) }

// turn is how often one is asked before it is the other's turn: so few times that whatever else the machine
// does falls on both.
const turn = 4096

// runObserved is the benchmark of a limiter that is observed, beside one that is not. They take turns, as the
// difference is less than what one of them differs from run to run. ns/op is the median of the first, and
// observed/plain that of the ratios of two turns beside each other.
func runObserved(b *testing.B, c cases.Case) {
	limiters := make([]contender.Limiter, 2)
	for i, by := range c.Contenders {
		limiters[i] = c.Start(by)
		defer limiters[i].Close()
	}
	for _, mode := range modes() {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			var observed, plain, ratios []float64
			for left := b.N; left > 0; left -= turn {
				var ns [2]float64
				for i := range limiters {
					i = (i + len(ratios)) % 2 // who begins changes
					sources := c.Sources(mode.workers, uint64(len(ratios)))
					ns[i] = measure.Ask(limiters[i], sources, measure.Budget{Ops: min(left, turn) * mode.workers}).NsPerOp
				}
				plain, observed, ratios = append(plain, ns[0]), append(observed, ns[1]), append(ratios, ns[1]/ns[0])
			}
			b.ReportMetric(median(observed), "ns/op")
			b.ReportMetric(median(plain), "plain-ns/op")
			b.ReportMetric(median(ratios), "observed/plain")
		})
	}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
