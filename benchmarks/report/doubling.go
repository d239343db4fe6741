package main

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/histogram"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/benchmarks/traffic"
)

// doubling observes decisions on clients that are held while as many again come
// in, and the decisions on these.
func (r *runner) doubling() {
	contenders := []contender.Contender{contender.WeirClients, contender.GoLimiter, contender.MutexMap, contender.SyncMap}
	for round := range r.rounds {
		for _, by := range contenders {
			r.progress.step(fmt.Sprintf("round %d of %d, %s", round+1, r.rounds, by.Name))
			r.double(by, uint64(round))
		}
	}
}

func (r *runner) double(by contender.Contender, seed uint64) {
	l := by.New(contender.Roomy, 2*r.doubled)
	defer l.Close()
	measure.Fill(l, 0, r.doubled, 1)
	held := traffic.Uniform(r.doubled, seed)
	if by.Name != contender.WeirClients.Name {
		r.results.record(by.Name, quietly, observeFor(r.quiet, l, held))
	}
	var inserts *histogram.Histogram
	lookups := observeBeside(func() {
		var never atomic.Bool
		inserts = observe(l, traffic.New(math.MaxUint32), r.doubled, &never)
	}, l, held)
	r.results.record(by.Name, doubling, lookups)
	r.results.record(by.Name, inserting, inserts)
}
