package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A page is Markdown in the making.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) heading(text string) { p.line("\n## %s\n", text) }

func (p *page) chart(name, title string) { p.line("\n![%s](%s/%s.svg)", title, chartFolder, name) }

func (p *page) header(cells ...string) {
	p.row(cells...)
	rule := make([]string, len(cells))
	for i := range rule {
		if rule[i] = "---:"; i == 0 {
			rule[i] = "---"
		}
	}
	p.row(rule...)
}

func (p *page) row(cells ...string) { p.line("| %s |", strings.Join(cells, " | ")) }

// markdown returns BENCHMARKS.md.
func (r Results) markdown() string {
	p := &page{}
	p.line("# Benchmarks\n")
	if r.Quick {
		p.line("**A trial run with few clients and no repetition: the figures mean nothing.**\n")
	}
	p.line("weir beside its peers, what people write by hand, and floors: what any limiter has to do at least.")
	r.goalTable(p)
	r.conditions(p)
	r.contenders(p)
	for _, s := range r.Speeds {
		s.table(p)
	}
	r.memoryTable(p)
	r.latencyTable(p)
	r.admittedTable(p)
	return p.String()
}

func (r Results) goalTable(p *page) {
	goalRows(p, r.goals())
	p.line("\nRatios are on one core unless they say otherwise, and medians of the rounds' ratios. Where weir is further from a")
	p.line("floor than it should be, the rows between say by what: \"floor + count\" counts what it decides, exactly, and")
	p.line("\"floor + count + find\" also finds the key, in weir's table. What is left is deciding.")
	p.line("The goal for p99.99 is 200 µs, or three times what it is with nothing else going on if that is more.")
}

func goalRows(p *page, goals []goal) {
	p.heading("Goals")
	p.header("what", "goal", "measured", "met")
	for _, g := range goals {
		p.row(g.what, g.targetText(), g.measuredText(), g.metText())
	}
}

func (s Speed) table(p *page) {
	p.heading(s.Title)
	p.line("%s\n", s.About)
	header := []string{"", "one core, ns", "/ weir", "two cores, ns", "/ weir", "speed-up"}
	counted := slices.ContainsFunc(s.Rows, func(row SpeedRow) bool { return len(row.Allocs) > 0 })
	if counted {
		header = append(header, "allocations")
	}
	p.header(header...)
	for _, row := range s.Rows {
		cells := []string{row.By, nanos(median(row.Serial)), times(serial(&s, row.By, "weir")),
			nanos(median(row.Parallel)), times(parallel(&s, row.By, "weir")), times(speedUp(&s, row.By))}
		if counted {
			cells = append(cells, fmt.Sprintf("%.3g", median(row.Allocs)))
		}
		p.row(cells...)
	}
	p.chart(s.Name, s.Title)
}

func nanos(ns float64) string {
	if ns < 100 {
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}

func times(ratio float64) string {
	if math.IsNaN(ratio) {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}

// short writes a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", d.Seconds()*1e6)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", d.Seconds()*1e3)
	default:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
}
