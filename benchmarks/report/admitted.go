package main

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/traffic"
)

// admitted counts what each contender lets through when many goroutines ask it
// as often as they can.
func (r *runner) admitted() {
	// All but the floors, which let through everything.
	var contenders []contender.Contender
	for _, by := range append(contender.Keyed(), contender.Singles()...) {
		if by.Module != "" && by.Name != contender.WeirAll.Name && by.Name != contender.WeirCoarse.Name {
			contenders = append(contenders, by)
		}
	}
	contenders[0].Name += ".PerClient"
	for try := range r.retries {
		for i, by := range contenders {
			if try == 0 {
				r.results.Admitted = append(r.results.Admitted, Admitted{By: by.Name, Waits: by.Waits})
			}
			r.progress.step(by.Name)
			r.admit(by, &r.results.Admitted[i])
		}
	}
}

func (r *runner) admit(by contender.Contender, row *Admitted) {
	l := by.New(contender.Limit{Count: r.rate, Period: time.Second}, 1)
	defer l.Close()
	var asked, allowed atomic.Int64
	var stop atomic.Bool
	var askers sync.WaitGroup
	begin := time.Now()
	for range r.askers {
		askers.Go(func() {
			keys := make([]string, 16)
			traffic.Hot().Fill(keys)
			for !stop.Load() {
				allowed.Add(int64(l.Ask(keys)))
				asked.Add(int64(len(keys)))
			}
		})
	}
	time.Sleep(r.scale.admit)
	stop.Store(true)
	askers.Wait()
	took := time.Since(begin)

	limit := r.rate + int(math.Floor(float64(r.rate)*took.Seconds()))
	row.Admitted = append(row.Admitted, int(allowed.Load()))
	row.Limit = append(row.Limit, limit)
	row.Asked = append(row.Asked, int(asked.Load()))
}
