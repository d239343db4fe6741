package benchmarks

import (
	"testing"

	"github.com/goweir/weir/benchmarks/cases"
)

func BenchmarkLimiter_Allowed(b *testing.B) { run(b, cases.LimiterAllowed()) }
func BenchmarkLimiter_Denied(b *testing.B)  { run(b, cases.LimiterDenied()) }
