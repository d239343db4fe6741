package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"text/tabwriter"
)

// A score counts what became of mutants.
type score map[outcome]int

func (s score) all() (n int) {
	for _, some := range s {
		n += some
	}
	return n
}

func (s score) killed() int { return s[killed] + s[timedOut] }
func (s score) alive() int  { return s[survived] + s[unreached] }

// percent is of those that were run and are not equivalent.
func (s score) percent() float64 {
	return 100 * float64(s.killed()) / float64(max(1, s.killed()+s.alive()))
}

// report writes the scores of each file, each package and the whole.
func report(out io.Writer, mutants []*mutant) score {
	files, packages, total := make(map[string]score), make(map[string]score), make(score)
	for _, m := range mutants {
		count(files, m.file, m.outcome)
		count(packages, path.Dir(m.file), m.outcome)
		total[m.outcome]++
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "score\tmutants\tkilled\ttimed out\tsurvived\tunreached\tequivalent\tnot run\t")
	for _, scores := range []map[string]score{files, packages, {"total": total}} {
		for _, name := range slices.Sorted(maps.Keys(scores)) {
			s := scores[name]
			fmt.Fprintf(table, "%.1f %%\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t %s\n", s.percent(), s.all(), s[killed], s[timedOut],
				s[survived], s[unreached], s[equivalent], s[notRun], name)
		}
	}
	table.Flush()
	return total
}

func count(scores map[string]score, name string, o outcome) {
	if scores[name] == nil {
		scores[name] = make(score)
	}
	scores[name][o]++
}
