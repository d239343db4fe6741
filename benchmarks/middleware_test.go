package benchmarks

import (
	"testing"

	"github.com/goweir/weir/benchmarks/cases"
)

func BenchmarkMiddleware_Allowed(b *testing.B) { run(b, cases.Middleware()) }
func BenchmarkMiddleware_Denied(b *testing.B)  { run(b, cases.MiddlewareDenied()) }
