package cases

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/goweir/weir/internal/schedule"
)

// A row is what cases came to: those of a test, of the same threads, or all.
type row struct {
	name  string
	cases int
	whole int // cases of which no run is left
	schedule.Report
}

func (r *row) add(one schedule.Report) {
	whole := 0
	if one.Done {
		whole = 1
	}
	r.join(&row{cases: 1, whole: whole, Report: one})
}

func (r *row) join(other *row) {
	r.cases += other.cases
	r.whole += other.whole
	r.Runs += other.Runs
	r.Redundant += other.Redundant
	r.TooDeep += other.TooDeep
	r.Interleavings += other.Interleavings
	r.Steps = max(r.Steps, other.Steps)
}

func (r *row) String() string {
	return fmt.Sprintf("%d cases, %d of them whole: %d runs (%d redundant, %d too deep) of up to %d steps",
		r.cases, r.whole, r.Runs, r.Redundant, r.TooDeep, r.Steps)
}

// A table has a row for the threads of each test, in the order in which they came.
type table struct {
	tests []string
	rows  map[string][]*row // of a test
}

// explored is all that the tests explored.
var explored = table{rows: make(map[string][]*row)}

func (t *table) add(test, threads string, r schedule.Report) {
	test, _, _ = strings.Cut(test, "/")
	if t.rows[test] == nil {
		t.tests = append(t.tests, test)
	}
	for _, row := range t.rows[test] {
		if row.name == threads {
			row.add(r)
			return
		}
	}
	t.rows[test] = append(t.rows[test], &row{name: threads})
	t.add(test, threads, r)
}

// print prints the rows, and what those of each test and all come to. The
// interleavings are those that the runs stand for.
func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name string, r *row) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%.3g\t%d\n", name, r.cases, r.whole, r.Runs, r.TooDeep, r.Interleavings, r.Steps)
	}
	fmt.Fprintln(w, "\tcases\twhole\truns\ttoo deep\tinterleavings\tmost steps")
	var all row
	for _, test := range t.tests {
		var sum row
		for _, r := range t.rows[test] {
			sum.join(r)
		}
		line(test, &sum)
		for _, r := range t.rows[test] {
			line("    "+r.name, r)
		}
		all.join(&sum)
	}
	line("all", &all)
	_ = w.Flush()
}
