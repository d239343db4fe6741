package benchmarks

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/benchmarks/traffic"
)

// What replacing the policy of a million clients takes, and how long the
// longest Allow takes meanwhile.
func BenchmarkPerClient_SetPolicy1M(b *testing.B) {
	n := clients(1_000_000)
	day, week := weir.Per(1<<30, 24*time.Hour), weir.Per(1<<30, 7*24*time.Hour)
	for _, to := range []struct {
		name   string
		policy weir.Policy
	}{{"limit", weir.TokenBucket(week)}, {"algorithm", weir.SlidingCounter(week)}} {
		b.Run("to="+to.name, func(b *testing.B) {
			policies := [2]weir.Policy{weir.TokenBucket(day), to.policy}
			held := weir.NewPerClient[string](policies[0], weir.WithStaleAfter(time.Hour))
			defer held.Close()
			measure.Fill(contender.AskClients(held), 0, n, 1)

			var stop atomic.Bool
			var asker sync.WaitGroup
			var longest time.Duration
			asker.Go(func() {
				source, keys := traffic.Uniform(n, 1), make([]string, 256)
				for !stop.Load() {
					source.Fill(keys)
					for _, key := range keys {
						begin := time.Now()
						held.Allow(key)
						longest = max(longest, time.Since(begin))
					}
				}
			})
			for i := 0; b.Loop(); i++ {
				if err := held.SetPolicy(policies[(i+1)%2]); err != nil {
					b.Fatal(err)
				}
			}
			stop.Store(true)
			asker.Wait()
			b.ReportMetric(float64(longest), "longest-ns")
		})
	}
}
