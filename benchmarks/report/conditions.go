package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
)

// conditions says where, when and how the figures came about.
func (r Results) conditions(p *page) {
	p.heading("How it was measured")
	p.line("| | |\n|---|---|")
	r.Machine.rows(p)
	p.row("rounds", fmt.Sprintf("%d, in %v", r.Rounds, r.Took.Round(time.Second)))

	p.line("\nThe figures are medians. In each round every contender has its turn, from one goroutine and then from one on")
	p.line("each of two cores, so that what disturbs the machine disturbs all of them. On two cores a figure is the time divided")
	p.line("by the decisions of both: half is a perfect speed-up. Keys are strings of 16 characters. They are made in small")
	p.line("portions outside of what is timed, and each contender's loop around its call is its own. Garbage collection is off where")
	p.line("nothing new is held, and on for new clients and the flood. Clients are not swept away meanwhile: weir keeps them for an")
	p.line("hour here, `WithStaleAfter(time.Hour)`, as go-limiter does for twelve.\n")
	p.line("To repeat it:\n")
	p.line("```sh\ngo run -C benchmarks ./report           # everything: this page and its charts\ngo run -C benchmarks ./report -quick    # does it still run?")
	p.line("go test -C benchmarks -run '^$' -bench . -count 8 | tee new.txt    # the same cases, for benchstat\nbenchstat -col /by new.txt\n```")
}

// contenders says how each is used.
func (r Results) contenders(p *page) {
	p.heading("Contenders")
	p.line("| name | module | used as |\n|---|---|---|")
	seen := map[string]bool{}
	list := slices.Concat(contender.Singles(), contender.Hot(), []contender.Contender{contender.FloorTable, contender.WeirLogs},
		contender.Waiting(), contender.Reserving(), contender.WithPlans(), contender.Layered())
	for _, c := range list {
		if seen[c.How] {
			continue
		}
		seen[c.How] = true
		p.row(c.Name, r.Machine.versionOf(c), c.How)
	}
}

func (m Machine) rows(p *page) {
	p.row("processor", fmt.Sprintf("%s, %d cores, %d used", m.CPU, m.Cores, min(cores, m.Cores)))
	if m.Memory > 0 {
		p.row("memory", fmt.Sprintf("%.0f GiB", float64(m.Memory)/(1<<30)))
	}
	p.row("system", m.OS)
	p.row("Go", m.Go)
	p.row("date", m.Date)
}

// versionOf returns a contender's module and, but for those of this repository, its version.
func (m Machine) versionOf(c contender.Contender) string {
	if version := m.Modules[c.Module]; version != "" && !isWeir(c.Name) {
		return c.Module + " " + version
	}
	return c.Module
}
