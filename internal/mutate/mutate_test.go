package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func sample(t *testing.T) *target {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("testdata", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := load(root, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 1 {
		t.Fatalf("%d packages, not 1", len(targets))
	}
	return targets[0]
}

func everything() options {
	return options{
		match:   regexp.MustCompile(""),
		tests:   regexp.MustCompile("."),
		workers: 2,
		limits:  limits{timeout: time.Second, memoryKB: 8 << 20, slow: 10 * time.Minute},
	}
}

// TestEveryMutantComesToWhatItShould runs all mutants of the sample, and compares
// them and what became of them with testdata/outcomes.txt.
func TestEveryMutantComesToWhatItShould(t *testing.T) {
	mutants, err := mutate(context.Background(), sample(t), t.TempDir(), everything())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		if m.outcome == timedOut {
			m.outcome = killed
		}
		got = append(got, fmt.Sprintf("%s: %s", m.outcome, m))
	}
	text, err := os.ReadFile(filepath.Join("testdata", "outcomes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("wanted, and not there: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("there, and not wanted: %s", line)
		}
	}
}

// TestAnEndlessMutantIsStopped: it counts as killed, and says how.
func TestAnEndlessMutantIsStopped(t *testing.T) {
	o := everything()
	o.limits.timeout = 200 * time.Millisecond
	o.match = regexp.MustCompile(`i > 0 -> i >= 0`)
	mutants, err := mutate(context.Background(), sample(t), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) != 1 || mutants[0].outcome != timedOut {
		t.Errorf("got %v, not one mutant that timed out", mutants)
	}
}

// TestAnEquivalentMutantIsNotRun: but one that equivalent.txt alone knows is an error.
func TestAnEquivalentMutantIsNotRun(t *testing.T) {
	o := everything()
	o.match = regexp.MustCompile(`compare: a < b -> a <= b`)
	o.reasons = map[string]string{"sample.go compare: a < b -> a <= b": "for the sake of this test"}
	mutants, err := mutate(context.Background(), sample(t), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) != 1 || mutants[0].outcome != equivalent {
		t.Errorf("got %v, not one equivalent mutant", mutants)
	}
	o.reasons = map[string]string{"sample.go compare: a < b -> a << b": "it was renamed since"}
	if _, err := mutate(context.Background(), sample(t), t.TempDir(), o); err == nil {
		t.Error("a reason for what is not there is no error")
	}
}

// TestADoubtedMutantIsRun: those that equivalent.txt lists, and no others.
func TestADoubtedMutantIsRun(t *testing.T) {
	o := everything()
	o.match = regexp.MustCompile(`compare: a < b`)
	o.reasons = map[string]string{"sample.go compare: a < b -> a <= b": "this is not true"}
	o.doubt = true
	mutants, err := mutate(context.Background(), sample(t), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) != 1 || mutants[0].outcome != killed || mutants[0].killer != "TestCompare" {
		t.Errorf("got %v, not one mutant that TestCompare killed", mutants)
	}
}

// TestAnEquivalentMutantOfAFileThatIsGoneIsAnError: no package would find it stale.
func TestAnEquivalentMutantOfAFileThatIsGoneIsAnError(t *testing.T) {
	root := sample(t).dir
	if err := astray(root, map[string]string{"sample.go compare: a < b -> a <= b": "so"}); err != nil {
		t.Error(err)
	}
	if err := astray(root, map[string]string{"gone.go compare: a < b -> a <= b": "so"}); err == nil {
		t.Error("no error")
	}
}

func TestEveryEquivalentMutantHasAReason(t *testing.T) {
	if _, err := equivalents(equivalentText); err != nil {
		t.Error(err)
	}
	got, err := equivalents("# a comment\na.go f: 1 -> 2\n\tbecause\n\tit is so\n\nb.go g: x -> y\n\tso\n")
	if err != nil || len(got) != 2 || got["a.go f: 1 -> 2"] != "because it is so" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"a.go f: 1 -> 2\n", "a.go f: 1 -> 2\nb.go g: x -> y\n\tso\n", "a\n\tso\na\n\tso\n"} {
		if _, err := equivalents(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// TestBatchesGrow: the quick tests come first, in few processes.
func TestBatchesGrow(t *testing.T) {
	var tests []*test
	for _, ms := range []time.Duration{30, 30, 30, 200, 150, 5000} {
		tests = append(tests, &test{cost: ms * time.Millisecond})
	}
	var sizes []int
	for _, batch := range batches(tests) {
		sizes = append(sizes, len(batch))
	}
	if !slices.Equal(sizes, []int{3, 2, 1}) {
		t.Errorf("batches of %v tests, not of 3, 2 and 1", sizes)
	}
	if batches(nil) != nil {
		t.Error("a batch of no test")
	}
}

// TestAScoreLeavesOutTheEquivalent: it is of those that could be killed.
func TestAScoreLeavesOutTheEquivalent(t *testing.T) {
	s := score{killed: 2, timedOut: 1, survived: 2, unreached: 3, equivalent: 10, notRun: 10}
	if got := s.percent(); got != 37.5 {
		t.Errorf("%v %%, not 37.5 %%", got)
	}
}

// TestAReportAddsUp: by file, then by package, then all.
func TestAReportAddsUp(t *testing.T) {
	var out strings.Builder
	total := report(&out, []*mutant{
		{file: "b.go", outcome: killed}, {file: "a.go", outcome: survived},
		{file: "x/a.go", outcome: timedOut}, {file: "x/a.go", outcome: equivalent}, {file: "x/a.go", outcome: unreached},
	})
	want := [][]string{
		{"0.0", "1", "0", "0", "1", "0", "0", "0", "a.go"},
		{"100.0", "1", "1", "0", "0", "0", "0", "0", "b.go"},
		{"50.0", "3", "0", "1", "0", "1", "1", "0", "x/a.go"},
		{"50.0", "2", "1", "0", "1", "0", "0", "0", "."},
		{"50.0", "3", "0", "1", "0", "1", "1", "0", "x"},
		{"50.0", "5", "1", "1", "1", "1", "1", "0", "total"},
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	for i, line := range lines {
		if got := strings.Fields(strings.Replace(line, " %", "", 1)); i >= len(want) || !slices.Equal(got, want[i]) {
			t.Errorf("line %d is %q", i, got)
		}
	}
	if len(lines) != len(want) || total.alive() != 2 || total.killed() != 2 {
		t.Errorf("%d lines, total %v", len(lines), total)
	}
}

// TestWhatARunPrintsCanBeRunAgain: -again reads what -list, -v and a campaign print.
func TestWhatARunPrintsCanBeRunAgain(t *testing.T) {
	m := &mutant{file: "x/a.go", line: 12, function: "T.f", from: "a: b", to: "nothing"}
	dead := &mutant{file: "b.go", function: "g", from: "1", to: "1 + 1", outcome: killed, killer: "TestG_some"}
	file := filepath.Join(t.TempDir(), "earlier")
	alive := *m
	alive.outcome, alive.line = unreached, 13
	text := strings.Join([]string{"./x: 3 mutants, 2 tests", located(m), fate(&alive), fate(dead)}, "\n")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := listedIn(file)
	if err != nil || len(got) != 2 || !got[m.String()] || !got[dead.String()] {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := listedIn(""); err != nil || got != nil {
		t.Errorf("got %v, %v without a file", got, err)
	}
}
