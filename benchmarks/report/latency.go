package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/histogram"
	"github.com/goweir/weir/benchmarks/traffic"
)

// What goes on beside the decisions that are observed.
const (
	quietly   = "nothing else"
	sweeping  = "a sweep"
	doubling  = "the table doubles"
	inserting = "the new clients themselves"
	reloading = "SetPolicy with another limit"
	switching = "SetPolicy with another algorithm"
)

// observe times every single decision until it is told to stop or has seen so
// many, and some in any case. What it adds is one clock reading.
func observe(l contender.Limiter, source traffic.Source, ops int, stop *atomic.Bool) *histogram.Histogram {
	h, keys := new(histogram.Histogram), make([]string, 256)
	for more := true; more; more = ops > 0 && !stop.Load() {
		ops -= len(keys)
		source.Fill(keys)
		begin := time.Now()
		last := time.Duration(0)
		for i := range keys {
			l.Ask(keys[i : i+1])
			now := time.Since(begin)
			h.Record(now - last)
			last = now
		}
	}
	return h
}

const endless = 1 << 62

// observeFor observes for a time with nothing else going on.
func observeFor(d time.Duration, l contender.Limiter, source traffic.Source) *histogram.Histogram {
	var stop atomic.Bool
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	return observe(l, source, endless, &stop)
}

// observeBeside observes while f runs on the other core.
func observeBeside(f func(), l contender.Limiter, source traffic.Source) *histogram.Histogram {
	runtime.GC()
	var stop atomic.Bool
	var running, ended sync.WaitGroup
	running.Add(1)
	ended.Go(func() {
		running.Done()
		f()
		stop.Store(true)
	})
	running.Wait()
	defer ended.Wait()
	return observe(l, source, endless, &stop)
}

// record adds a round to the row of a contender and what went on.
func (r *Results) record(by, when string, h *histogram.Histogram) {
	row := r.latency(by, when)
	if row == nil {
		r.Latency = append(r.Latency, Latency{By: by, When: when})
		row = &r.Latency[len(r.Latency)-1]
	}
	row.P50 = append(row.P50, h.Quantile(0.5))
	row.P99 = append(row.P99, h.Quantile(0.99))
	row.P9999 = append(row.P9999, h.Quantile(0.9999))
	row.Max = max(row.Max, h.Max())
	row.Count += h.Count()
}
