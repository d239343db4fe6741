package main

import (
	"fmt"
	"time"

	"github.com/goweir/weir"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/benchmarks/traffic"
)

// sweep observes decisions on live clients while many stale ones are swept.
func (r *runner) sweep() {
	// Who asks once is full again, and stale, after a millisecond.
	policy := weir.TokenBucket(weir.PerSecond(1000).WithBurst(1 << 30))
	clients := weir.NewPerClient[string](policy, weir.WithSweepEvery(0))
	defer clients.Close()
	for i := range r.live {
		clients.AllowN(traffic.Key(uint64(i)), 1<<27) // a day and a half
	}
	l := contender.AskClients(clients)
	for round := range r.rounds {
		r.progress.step(fmt.Sprintf("round %d of %d", round+1, r.rounds))
		measure.Fill(l, r.live, r.live+r.swept, 1)
		time.Sleep(2 * time.Millisecond)
		source := traffic.Uniform(r.live, uint64(round))
		r.results.record(contender.WeirClients.Name, quietly, observeFor(r.quiet, l, source))

		var took time.Duration
		r.results.record(contender.WeirClients.Name, sweeping, observeBeside(func() {
			begin := time.Now()
			if swept := clients.Sweep(); swept != r.swept {
				panic(fmt.Sprintf("swept %d clients, not %d", swept, r.swept))
			}
			took = time.Since(begin)
		}, l, source))
		r.results.Swept = append(r.results.Swept, took)
	}
}
