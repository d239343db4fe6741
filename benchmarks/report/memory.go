package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/goweir/weir/benchmarks/cases"
	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/measure"
)

// logLimit is of the sliding logs, of which each client uses logUsed.
var logLimit = contender.Limit{Count: 1000, Period: time.Hour}

const logUsed = 3

// collections is how many garbage collections are timed.
const collections = 9

// memory measures what a client takes: contenders one after the other, each
// alone on the heap.
func (r *runner) memory() {
	for _, by := range contender.Keyed() {
		r.results.Memory = append(r.results.Memory, r.memoryOf(by, contender.Roomy, 1))
	}
	logs := r.memoryOf(contender.WeirLogs, logLimit, logUsed)
	logs.Note = fmt.Sprintf("%d per %v, %d used", logLimit.Count, logLimit.Period, logUsed)
	r.results.Memory = append(r.results.Memory, logs)
}

func (r *runner) memoryOf(by contender.Contender, limit contender.Limit, used int) Memory {
	m := Memory{By: by.Name, Clients: r.scale.memory}
	before := settle()
	m.Without = collect()
	most := m.Clients[len(m.Clients)-1]
	l := by.New(limit, most)
	defer l.Close()
	filled := 0
	for _, clients := range m.Clients {
		r.progress.step(cases.Count(clients) + " clients of " + by.Name)
		measure.Fill(l, filled, clients, used)
		filled = clients
		m.Bytes = append(m.Bytes, float64(heap()-before)/float64(clients))
	}
	r.progress.step("collections beside " + by.Name)
	m.GC = collect()
	return m
}

// settle waits until what was there before is gone: some peers end in a
// finalizer, which takes a few collections.
func settle() int64 {
	now := heap()
	for {
		time.Sleep(10 * time.Millisecond)
		before := now
		if now = heap(); now > before-64<<10 {
			return now
		}
	}
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// collect returns what some garbage collections took, from begin to end.
func collect() (took []time.Duration) {
	for range collections {
		begin := time.Now()
		runtime.GC()
		took = append(took, time.Since(begin))
	}
	return took
}
