// Package measure times limiters under traffic.
package measure

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/traffic"
)

// chunk is how many keys are made at a time, outside of what is timed: few
// enough that they stay in the first-level cache, and enough that the two clock
// readings around them cost a tenth of a nanosecond each.
const chunk = 512

// A Budget is how long to measure: until all workers together have asked Ops
// times or, if that is 0, for Time.
type Budget struct {
	Ops   int
	Time  time.Duration
	Chunk int // how many keys a goroutine asks for between looks at the time; by default 512
}

// A Result is what one measurement found.
type Result struct {
	NsPerOp float64 // of the whole machine: two workers at 40 ns each make 20
	Allowed float64 // share of the answers
}

// Ask sends the traffic of each source through l, each from a goroutine of its
// own. Only the asking is timed, and each worker by itself: the throughput is the
// sum of theirs. Of more goroutines than cores all is timed, as they also wait for
// one where they do not ask.
func Ask(l contender.Limiter, sources []traffic.Source, budget Budget) Result {
	workers := make([]worker, len(sources))
	var done atomic.Bool
	var ready, finished sync.WaitGroup
	var start time.Time
	begin := make(chan struct{})
	for i, source := range sources {
		workers[i] = worker{source: source, keys: make([]string, cmp.Or(budget.Chunk, chunk))}
		ready.Add(1)
		finished.Go(func() {
			ready.Done()
			<-begin
			workers[i].run(l, max(1, budget.Ops/len(sources)), budget.Ops == 0, &done)
			if len(sources) > runtime.GOMAXPROCS(0) {
				workers[i].took = time.Since(start)
			}
		})
	}
	ready.Wait()
	start = time.Now()
	close(begin)
	if budget.Ops == 0 {
		time.Sleep(budget.Time)
		done.Store(true)
	}
	finished.Wait()

	var asked, allowed int
	var opsPerNs float64
	for i := range workers {
		w := &workers[i]
		asked, allowed = asked+w.asked, allowed+w.allowed
		opsPerNs += float64(w.asked) / float64(max(1, w.took))
	}
	return Result{NsPerOp: 1 / opsPerNs, Allowed: float64(allowed) / float64(asked)}
}

type worker struct {
	source         traffic.Source
	keys           []string
	asked, allowed int
	took           time.Duration
	_              [128]byte // no two workers share a cache line
}

func (w *worker) run(l contender.Limiter, ops int, endless bool, done *atomic.Bool) {
	for endless || ops > 0 {
		keys := w.keys
		if !endless {
			keys = keys[:min(len(keys), ops)]
			ops -= len(keys)
		}
		w.source.Fill(keys)
		begin := time.Now()
		allowed := l.Ask(keys)
		w.took += time.Since(begin)
		w.asked += len(keys)
		w.allowed += allowed
		if endless && done.Load() {
			return
		}
	}
}

// Allocs returns how many allocations l makes for one decision of this traffic.
func Allocs(l contender.Limiter, source traffic.Source) float64 {
	keys := make([]string, chunk)
	source.Fill(keys)
	return testing.AllocsPerRun(10, func() { l.Ask(keys) }) / chunk
}

// Fill makes l hold the clients from first to last - 1, as each of them would:
// by asking, times times.
func Fill(l contender.Limiter, first, last, times int) {
	source, keys := traffic.New(uint64(first)), make([]string, chunk)
	for left := last - first; left > 0; left -= len(keys) {
		keys = keys[:min(chunk, left)]
		source.Fill(keys)
		for range times {
			l.Ask(keys)
		}
	}
}
