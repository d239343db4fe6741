// Package cases says what is measured: which contenders, built for what limit,
// under what traffic.
package cases

import (
	"sync"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/benchmarks/traffic"
)

// A Case is one question to all its contenders: what does a decision cost?
type Case struct {
	Name       string // short, for flags and file names
	Title      string
	About      string // what the reader should know
	Contenders []contender.Contender
	Limit      contender.Limit
	Spend      bool // the hot client has used up its limit before
	// Askers is how many goroutines ask at once; 0 for as many as cores.
	Askers int
	// Held is how many clients are there before. Building them takes time, so
	// one limiter is measured again and again; with none, each time a new one.
	Held int
	// New is how many decisions to measure where they bring new clients, so that
	// every contender has to hold the same; 0 for as many as the time allows.
	New int
	// Garbage is made by all contenders for each decision, so that it has to be
	// collected meanwhile, as it is in a program.
	Garbage bool
	// Traffic is what one goroutine sends.
	Traffic func(worker int, seed uint64) traffic.Source
}

// Start returns a contender as the case wants it before the measuring.
func (c Case) Start(by contender.Contender) contender.Limiter {
	l := by.New(c.Limit, c.Held+c.New)
	c.fill(l)
	if c.Spend {
		for range c.Limit.Count {
			l.Ask([]string{traffic.Key(0)})
		}
	}
	return l
}

// fill has every client that is held ask, once.
func (c Case) fill(l contender.Limiter) {
	if c.Askers == 0 {
		measure.Fill(l, 0, c.Held, 1)
		return
	}
	var filled sync.WaitGroup
	for i := range c.Askers {
		filled.Go(func() { measure.Fill(l, i*c.Held/c.Askers, (i+1)*c.Held/c.Askers, 1) })
	}
	filled.Wait()
}

// Sources returns the traffic of so many goroutines.
func (c Case) Sources(workers int, seed uint64) []traffic.Source {
	sources := make([]traffic.Source, workers)
	for i := range sources {
		sources[i] = c.Traffic(i, seed*uint64(workers)+uint64(i))
	}
	return sources
}
