package main

import (
	"fmt"
	"time"

	"github.com/goweir/weir"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/benchmarks/traffic"
)

// reload observes decisions on clients while their policy is replaced, and for a
// while after that: whoever is not carried by SetPolicy is by a decision.
func (r *runner) reload() {
	// Each of them admits all that is asked for.
	day, week := weir.Per(1<<30, 24*time.Hour), weir.Per(1<<30, 7*24*time.Hour)
	for _, change := range []struct {
		when     string
		policies [2]weir.Policy
	}{
		{reloading, [2]weir.Policy{weir.TokenBucket(day), weir.TokenBucket(week)}},
		{switching, [2]weir.Policy{weir.TokenBucket(day), weir.SlidingCounter(week)}},
	} {
		clients := weir.NewPerClient[string](change.policies[0], weir.WithStaleAfter(time.Hour))
		l := contender.AskClients(clients)
		r.progress.step(change.when)
		measure.Fill(l, 0, r.million, 3)
		row := Reload{What: change.when}
		for round := range r.rounds {
			r.progress.step(fmt.Sprintf("round %d of %d, %s", round+1, r.rounds, change.when))
			var took time.Duration
			r.results.record(contender.WeirClients.Name, change.when, observeBeside(func() {
				begin := time.Now()
				if err := clients.SetPolicy(change.policies[(round+1)%2]); err != nil {
					panic(err)
				}
				took = time.Since(begin)
				time.Sleep(r.quiet)
			}, l, traffic.Uniform(r.million, uint64(round))))
			row.Took = append(row.Took, took)
		}
		if held := clients.Len(); held != r.million {
			panic(fmt.Sprintf("%d clients are held, not %d", held, r.million))
		}
		_ = clients.Close()
		r.results.Reloaded = append(r.results.Reloaded, row)
	}
}
