package main

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// progressEvery is how often a line is written.
const progressEvery = 5 * time.Second

// A progress says what goes on.
type progress struct {
	out    io.Writer
	began  time.Time
	length time.Duration
	of     *background
}

func newProgress(out io.Writer, length time.Duration, of *background) *progress {
	return &progress{out, time.Now(), length, of}
}

// during calls f and writes lines until it returns.
func (p *progress) during(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			p.line()
		}
	}
}

func (p *progress) line() {
	var allowed, denied uint64
	held := 0
	for _, s := range p.of.scenarios {
		a, d, _ := s.seen()
		allowed, denied = allowed+a, denied+d
		for _, k := range s.keepers() {
			held += k.Len()
		}
	}
	fmt.Fprintf(p.out, "%3.0fs of %v, %-10v: %.1fM calls, %.1fM allowed, %d clients held, heap %s, %d goroutines, %d faults\n",
		time.Since(p.began).Seconds(), p.length, p.of.stage.now(), float64(allowed+denied)/1e6, float64(allowed)/1e6,
		held, mega(heapNow()), runtime.NumGoroutine(), p.of.stage.faults.count())
}
