package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/goweir/weir/benchmarks/cases"
	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
)

// speed measures a case: in each round every contender has its turn from one
// goroutine, and then again from one on each core. Who begins changes.
func (r *runner) speed(c cases.Case) Speed {
	speed := Speed{Name: c.Name, Title: c.Title, About: c.About, New: c.New > 0}
	for _, by := range c.Contenders {
		speed.Rows = append(speed.Rows, SpeedRow{By: by.Name, Floor: by.Module == ""})
	}
	held := r.hold(c)
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	rounds := func() {
		for round := -r.warmups; round < r.rounds; round++ {
			for _, workers := range []int{1, cores} {
				for i := range c.Contenders {
					i = (i + round + r.warmups) % len(c.Contenders)
					r.progress.step(fmt.Sprintf("round %d of %d, %d cores, %s", round+1, r.rounds, workers, c.Contenders[i].Name))
					result := r.turn(c, c.Contenders[i], held, workers, uint64(round+r.warmups))
					switch row := &speed.Rows[i]; {
					case round < 0:
					case workers == 1:
						row.Serial = append(row.Serial, result.NsPerOp)
					default:
						row.Parallel = append(row.Parallel, result.NsPerOp)
					}
				}
			}
		}
	}
	if c.New > 0 {
		rounds()
		return speed
	}
	if c.Garbage {
		r.with(rounds)
	} else {
		r.without(rounds)
	}
	for i, by := range c.Contenders {
		r.progress.step("allocations of " + by.Name)
		speed.Rows[i].Allocs = []float64{r.allocs(c, by, held)}
	}
	return speed
}

// allocs returns how many allocations a contender makes for one operation.
func (r *runner) allocs(c cases.Case, by contender.Contender, held map[string]contender.Limiter) float64 {
	l, ok := held[by.Name]
	if !ok {
		l = c.Start(by)
		defer l.Close()
	}
	return measure.Allocs(l, c.Sources(1, 1)[0])
}

// hold builds the limiters that are measured again and again.
func (r *runner) hold(c cases.Case) map[string]contender.Limiter {
	held := map[string]contender.Limiter{}
	if c.Held == 0 {
		return held
	}
	// All contenders' clients at once leave no room for as much garbage.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	for _, by := range c.Contenders {
		r.progress.step(cases.Count(c.Held) + " clients of " + by.Name)
		held[by.Name] = c.Start(by)
	}
	return held
}

// turn is one contender in one round. The seed is the same for all.
func (r *runner) turn(c cases.Case, by contender.Contender, held map[string]contender.Limiter, workers int, seed uint64) measure.Result {
	sources := c.Sources(workers, seed)
	if l, ok := held[by.Name]; ok {
		return measure.Ask(l, sources, measure.Budget{Time: r.pass})
	}
	budget := measure.Budget{Time: r.pass}
	if c.New > 0 {
		runtime.GC()
		budget = measure.Budget{Ops: c.New}
	}
	l := c.Start(by)
	defer l.Close()
	return measure.Ask(l, sources, budget)
}
