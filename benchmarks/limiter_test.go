package benchmarks

import (
	"testing"

	"github.com/goweir/weir/benchmarks/cases"
)

func BenchmarkLimiter_Allowed(b *testing.B)        { run(b, cases.LimiterAllowed()) }
func BenchmarkLimiter_Denied(b *testing.B)         { run(b, cases.LimiterDenied()) }
func BenchmarkLimiter_Wait(b *testing.B)           { run(b, cases.Wait()) }
func BenchmarkLimiter_Reserve(b *testing.B)        { run(b, cases.Reserve()) }
func BenchmarkLimiter_ReservePending(b *testing.B) { run(b, cases.ReservePending()) }
