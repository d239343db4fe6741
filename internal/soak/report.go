package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A report is what a run came to.
type report struct {
	length time.Duration
	faults *faults

	before footprint // before there were limiters
	idle   footprint // after the first quarter
	after  footprint // at the end
	closed footprint // without limiters again

	closings, abandonings uint64
	rows                  []row
}

// A row is what became of a scenario.
type row struct {
	name                  string
	allowed, denied, keys uint64
	full, broken          uint64
	latency               [activities]string
}

// fill takes over what the scenarios counted.
func (r *report) fill(all []*scenario, b *background) {
	r.closings, r.abandonings = b.churn.closed.Load(), b.churn.abandoned.Load()
	var lanes []*lane
	for _, s := range all {
		r.rows = append(r.rows, newRow(s.name, s.lanes))
		lanes = append(lanes, s.lanes...)
	}
	r.rows = append(r.rows, newRow("all", lanes))
}

func newRow(name string, lanes []*lane) row {
	o := row{name: name}
	var latency [activities]histogram
	for _, l := range lanes {
		o.allowed += l.allowed.Load()
		o.denied += l.denied.Load()
		o.keys += l.keys.Load()
		o.full += l.full.Load()
		o.broken += l.broken.Load()
		for a := range l.latency {
			latency[a].merge(&l.latency[a])
		}
	}
	for a := range latency {
		o.latency[a] = latency[a].String()
	}
	return o
}

func (r *report) print(w io.Writer) {
	r.printCounts(w)
	r.printLatencies(w)
	fmt.Fprintf(w, "\n%d made and closed, %d abandoned, in %v.\n", r.closings, r.abandonings, r.length.Round(time.Second))
	fmt.Fprintf(w, "heap: %s and %d goroutines before, %s and %d idle after a quarter, %s and %d idle at the end, %s and %d with all closed\n",
		mega(r.before.heap), r.before.goroutines, mega(r.idle.heap), r.idle.goroutines,
		mega(r.after.heap), r.after.goroutines, mega(r.closed.heap), r.closed.goroutines)
	r.faults.print(w)
}

func (r *report) printCounts(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tcalls\tallowed\tdenied\tkeys\tat bound\tbound\t")
	for _, o := range r.rows {
		bound := "kept"
		if o.broken > 0 {
			bound = "BROKEN"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", o.name, o.allowed+o.denied, o.allowed, o.denied, o.keys, o.full, bound)
	}
	t.Flush()
	fmt.Fprintf(w, "\nat bound: admissions with which as much was admitted in some span as can be\n\n")
}

func (r *report) printLatencies(w io.Writer) {
	fmt.Fprintf(w, "Allow beside each activity, 99.99 %% of calls within / the worst\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "scenario\t")
	for a := range activities {
		fmt.Fprintf(t, "%v\t", a)
	}
	fmt.Fprintln(t)
	for _, o := range r.rows {
		fmt.Fprintf(t, "%s\t%s\t\n", o.name, strings.Join(o.latency[:], "\t"))
	}
	t.Flush()
}

func (h *histogram) String() string {
	if h.most == 0 {
		return "-"
	}
	return brief(h.quantile(0.9999)) + "/" + brief(h.most)
}

// brief returns d with two digits.
func brief(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit).String()
}
