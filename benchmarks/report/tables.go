package main

import (
	"fmt"
	"slices"

	"github.com/goweir/weir/benchmarks/cases"
)

func (r Results) memoryTable(p *page) {
	if len(r.Memory) == 0 {
		return
	}
	p.heading("Memory and garbage collection")
	p.line("Bytes of heap a client after each has asked once, by `MemStats.HeapAlloc` after two collections, with all")
	p.line("slack. A peer that keeps its keys keeps the %d bytes of each. Then what `runtime.GC()` takes beside the most", 16)
	p.line("clients, from call to return, and what it took before there were any.\n")
	header := []string{""}
	for _, clients := range r.Memory[0].Clients {
		header = append(header, cases.Count(clients)+", B")
	}
	p.header(append(header, "a collection", "without")...)
	for _, m := range r.Memory {
		name := m.By
		if m.Note != "" {
			name += ", " + m.Note
		}
		row := []string{name}
		for _, bytes := range m.Bytes {
			row = append(row, fmt.Sprintf("%.1f", bytes))
		}
		p.row(append(row, short(median(m.GC)), short(median(m.Without)))...)
	}
	p.chart("memory", "Memory of a client")
}

func (r Results) latencyTable(p *page) {
	if len(r.Latency) == 0 {
		return
	}
	p.heading("Latency of single decisions")
	p.line("Every decision is timed from one core, which adds a clock reading to each, while the other core sweeps, brings")
	p.line("new clients or replaces the policy of a million; buckets are 1.6 %% wide. Percentiles are medians of the rounds,")
	p.line("the worst is of all rounds: the operating system's interruptions are in it.\n")
	p.header("", "beside", "p50", "p99", "p99.99", "worst", "decisions")
	for _, l := range r.Latency {
		p.row(l.By, l.When, short(median(l.P50)), short(median(l.P99)), short(median(l.P9999)), short(l.Max), fmt.Sprint(l.Count))
	}
	if len(r.Swept) > 0 {
		p.line("\nA sweep took %s.", short(median(r.Swept)))
	}
	for _, reload := range r.Reloaded {
		p.line("\nThe call of %s took %s, the longest %s.", reload.What, short(median(reload.Took)), short(slices.Max(reload.Took)))
	}
	p.chart("latency", "The slowest decisions")
}

func (r Results) admittedTable(p *page) {
	if len(r.Admitted) == 0 {
		return
	}
	p.heading("What is admitted")
	p.line("Many goroutines ask one limiter as often as they can. A limit of n per second with a burst of n is n + n x time:")
	p.line("more is too many. Less can be the contender's idea of a limit: a window of a second, or no burst. Of the tries")
	p.line("the one that admitted the largest share.\n")
	p.header("", "admitted", "by the limit", "share", "asked")
	for _, a := range r.Admitted {
		admitted, limit := a.most()
		verdict := fmt.Sprintf("%.2f %%", 100*float64(admitted)/float64(limit))
		if admitted > limit {
			verdict = "**" + verdict + "**"
		}
		name := a.By
		if a.Waits {
			name += " (waits, has no burst)"
		}
		p.row(name, fmt.Sprint(admitted), fmt.Sprint(limit), verdict, fmt.Sprint(a.Asked[0]))
	}
	p.chart("admitted", "Admitted under contention")
}

// most returns the try that admitted the largest share.
func (a Admitted) most() (admitted, limit int) {
	for i := range a.Admitted {
		if i == 0 || float64(a.Admitted[i])/float64(a.Limit[i]) > float64(admitted)/float64(limit) {
			admitted, limit = a.Admitted[i], a.Limit[i]
		}
	}
	return admitted, limit
}
