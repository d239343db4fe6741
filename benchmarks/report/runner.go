package main

import (
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/goweir/weir/benchmarks/cases"
)

// A runner measures one section after the other.
type runner struct {
	scale
	match    *regexp.Regexp
	progress *progress
	results  Results
}

func newRunner(s scale, match *regexp.Regexp, log io.Writer) *runner {
	return &runner{scale: s, match: match, progress: newProgress(log)}
}

// all runs the sections that match.
func (r *runner) all() Results {
	r.results = Results{Machine: thisMachine(), Quick: r.quick, Rounds: r.rounds}
	type section struct {
		name string
		run  func()
	}
	var sections []section
	add := func(name string, run func()) {
		if r.match.MatchString(name) {
			sections = append(sections, section{name, run})
		}
	}
	for _, c := range r.cases() {
		add(c.Name, func() { r.results.Speeds = append(r.results.Speeds, r.speed(c)) })
	}
	add("memory", r.memory)
	add("sweep", r.sweep)
	add("doubling", r.doubling)
	add("setpolicy", r.reload)
	add("admitted", r.admitted)

	begin := time.Now()
	for i, s := range sections {
		r.progress.section(s.name, i+1, len(sections))
		s.run()
		debug.FreeOSMemory() // the next one begins with an empty heap
	}
	r.progress.end()
	r.results.Took = time.Since(begin)
	return r.results
}

func (r *runner) cases() []cases.Case {
	return []cases.Case{
		cases.LimiterAllowed(),
		cases.LimiterDenied(),
		cases.HotAllowed(),
		cases.HotDenied(),
		cases.Zipf(r.million),
		cases.Uniform("uniform-1m", r.million),
		cases.Uniform("uniform-10m", r.tens),
		cases.Insert(r.growing),
		cases.Flood(r.growing),
		cases.Wait(),
		cases.Reserve(),
		cases.ReservePending(),
		cases.TakeAs(),
		cases.TakeAsMany(r.million),
		cases.Layers(),
		cases.Middleware(),
		cases.MiddlewareDenied(),
	}
}

// liveHeap is that of a small server. Its size says how often there are
// collections.
const liveHeap = 64 << 20

// with runs f with garbage collections as a small server has them.
func (r *runner) with(f func()) {
	live := make([]byte, liveHeap)
	runtime.GC()
	f()
	runtime.KeepAlive(live)
}

// without runs f without garbage collections, which would fall on whoever has
// its turn. Where memory runs out, they come all the same.
func (r *runner) without(f func()) {
	runtime.GC()
	if memory := r.results.Machine.Memory; memory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(memory / 10 * 8)))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	f()
}
