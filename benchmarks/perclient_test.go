package benchmarks

import (
	"testing"

	"github.com/goweir/weir/benchmarks/cases"
)

func BenchmarkPerClient_HotAllowed(b *testing.B) { run(b, cases.HotAllowed()) }
func BenchmarkPerClient_HotDenied(b *testing.B)  { run(b, cases.HotDenied()) }
func BenchmarkPerClient_Zipf1M(b *testing.B)     { run(b, cases.Zipf(clients(1_000_000))) }
func BenchmarkPerClient_Uniform1M(b *testing.B) {
	run(b, cases.Uniform("uniform-1m", clients(1_000_000)))
}
func BenchmarkPerClient_Uniform10M(b *testing.B) {
	run(b, cases.Uniform("uniform-10m", clients(10_000_000)))
}
func BenchmarkPerClient_TakeAs(b *testing.B)   { run(b, cases.TakeAs()) }
func BenchmarkPerClient_Layers(b *testing.B)   { run(b, cases.Layers()) }
func BenchmarkPerClient_TakeAs1M(b *testing.B) { run(b, cases.TakeAsMany(clients(1_000_000))) }
func BenchmarkPerClient_Insert(b *testing.B)   { run(b, cases.Insert(clients(1_000_000))) }
func BenchmarkPerClient_Flood(b *testing.B)    { run(b, cases.Flood(clients(1_000_000))) }
