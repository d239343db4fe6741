package main

import (
	"fmt"
	"math"
	"time"
)

// A goal is what weir means to reach, and whether it did.
type goal struct {
	what     string
	most     bool // it is a most, else a least
	target   float64
	measured float64 // NaN if it was not
	unit     string
}

func (g goal) met() bool {
	if g.most {
		return g.measured <= g.target
	}
	return g.measured >= g.target
}

func (g goal) targetText() string {
	if g.most {
		return fmt.Sprintf("at most %.4g%s", g.target, g.unit)
	}
	return fmt.Sprintf("at least %.4g%s", g.target, g.unit)
}

func (g goal) measuredText() string {
	if math.IsNaN(g.measured) {
		return "not measured"
	}
	return fmt.Sprintf("%.3g%s", g.measured, g.unit)
}

func (g goal) metText() string {
	switch {
	case math.IsNaN(g.measured):
		return ""
	case g.met():
		return "yes"
	default:
		return "**no**"
	}
}

func atMost(target float64, unit, what string, measured float64) goal {
	return goal{what, true, target, measured, unit}
}

func atLeast(target float64, unit, what string, measured float64) goal {
	return goal{what, false, target, measured, unit}
}

// goals lists them all.
func (r Results) goals() []goal {
	allowed, denied := r.speed("limiter-allowed"), r.speed("limiter-denied")
	hot, hotDenied := r.speed("hot-allowed"), r.speed("hot-denied")
	uniform, zipf := r.speed("uniform-1m"), r.speed("zipf")
	insert, wait, layers := r.speed("insert"), r.speed("wait"), r.speed("layers")
	requests := r.speed("http")
	goals := []goal{
		atMost(1.3, "", "one limiter, Allow / (clock reading + CAS)", serial(allowed, "weir", "floor")),
		atLeast(2.2, "", "x/time/rate Allow / weir Allow", serial(allowed, "x/time/rate", "weir")),
		atMost(1.6, "", "All of two token buckets / one", serial(allowed, "weir, All of two", "weir")),
		atMost(0.4, "", "coarse clock / system clock", serial(allowed, "weir, coarse clock", "weir")),
		atLeast(1.6, "", "one limiter, denied: speed-up on two cores", speedUp(denied, "weir")),
		atLeast(1.6, "", "one hot key, denied: speed-up on two cores", speedUp(hotDenied, "weir")),
		atMost(1.5, "", "one hot key, allowed / (hash + clock + CAS), one core", serial(hot, "weir", "floor")),
		atMost(1.5, "", "the same on two cores", parallel(hot, "weir", "floor")),
		atLeast(1.5, "", "go-limiter / weir on one hot key, one core", serial(hot, "go-limiter", "weir")),
		atLeast(1.8, "", "the same on two cores", parallel(hot, "go-limiter", "weir")),
		atMost(1.25, "", "a million keys, uniform / the floor on a random line", serial(uniform, "weir", "floor")),
		atLeast(1.5, "", "the best peer / weir, the same", serial(uniform, uniform.bestPeer(), "weir")),
		atMost(1.3, "", "Zipf 1.1 over a million / the floor", serial(zipf, "weir", "floor")),
		atMost(0.35, "", "insert a new key / the best peer", serial(insert, "weir", insert.bestPeer())),
		atMost(1.2, "", "Wait that need not sleep / Allow", serial(wait, "weir", "weir, Allow")),
		atMost(3.5, "", "three layers, Allow / one limiter per client, Allow", serial(layers, "weir", "weir, Allow")),
		atMost(0, "", "allocations of Wait, Reserve, Cancel, Settle, TakeAs or three layers, the most of these",
			r.mostAllocs("wait", "reserve", "reserve-pending", "takeas", "takeas-1m", "layers")),
		atLeast(4, "", "httprate / httplimit with the standard fields, a request that is allowed", serial(requests, "httprate", "weir")),
		atMost(3, "", "allocations of a request that is allowed, with the standard fields", requests.allocs("weir")),
		atMost(0, "", "the same with Retry-After only", requests.allocs("weir, Retry-After only")),
	}
	goals = append(goals, r.memoryGoals()...)
	return append(goals, r.latencyGoals()...)
}

func (r Results) memoryGoals() (goals []goal) {
	for i, clients := range []string{"1", "3", "10"} {
		goals = append(goals, atMost(21, " B", "a client, token bucket, at "+clients+" million", r.memory("weir").bytes(i)))
	}
	logs := math.NaN()
	for i := range 3 {
		if bytes := r.memory("weir, sliding log").bytes(i); math.IsNaN(logs) || bytes > logs {
			logs = bytes
		}
	}
	collection := math.NaN()
	if m := r.memory("weir"); m != nil {
		collection = float64(median(m.GC)) / 1e6
	}
	return append(goals,
		atMost(64, " B", "a client, sliding log of 1000/h with 3 used, the most of these", logs),
		atMost(2, " ms", "a garbage collection beside 10 million clients", collection))
}

func (m *Memory) bytes(i int) float64 {
	if m == nil || i >= len(m.Bytes) {
		return math.NaN()
	}
	return m.Bytes[i]
}

// latencyGoals allow 200 µs, or three times what is usual if that is more.
func (r Results) latencyGoals() (goals []goal) {
	quiet := r.latency("weir", quietly)
	most := 200.0
	if quiet != nil {
		most = max(most, 3*float64(median(quiet.P9999))/float64(time.Microsecond))
	}
	for _, g := range []struct{ when, what string }{
		{sweeping, "p99.99 of Allow while 5 million are swept"},
		{doubling, "p99.99 of Allow while the table doubles"},
		{inserting, "p99.99 of the Allow that make it double"},
		{reloading, "p99.99 of Allow while a million get another limit"},
		{switching, "p99.99 of Allow while a million get another algorithm"},
	} {
		measured := math.NaN()
		if l := r.latency("weir", g.when); l != nil {
			measured = float64(median(l.P9999)) / float64(time.Microsecond)
		}
		goals = append(goals, atMost(most, " µs", g.what, measured))
	}
	return goals
}
