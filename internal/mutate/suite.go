package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A suite is a compiled test program, its tests, and which mutants each gets to see.
type suite struct {
	program string
	dir     string
	args    []string // of the program
	limits  limits

	mu    sync.Mutex
	tests []*test // whose kills mu guards
}

type test struct {
	name    string
	cost    time.Duration
	reached map[int]bool
	kills   int
}

type limits struct {
	timeout  time.Duration // of a process, beyond five times what its tests take
	memoryKB int           // of a process, as addresses
	slow     time.Duration // of a test without a mutant
}

var testName = regexp.MustCompile(`(?m)^(?:Test|Example|Fuzz)\w*$`)

// prepare runs every test that is wanted once, without a mutant. Those that fail like
// this, perhaps because they count allocations, or that are too slow, are left out.
func (s *suite) prepare(ctx context.Context, wanted *regexp.Regexp) error {
	cmd := exec.CommandContext(ctx, s.program, "-test.list", wanted.String())
	cmd.Dir = s.dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s -test.list: %w", s.program, err)
	}
	for _, name := range testName.FindAllString(string(out), -1) {
		t, err := s.reach(ctx, name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out: %s, for without a mutant: %v\n", name, err)
			continue
		}
		s.tests = append(s.tests, t)
	}
	return nil
}

func (s *suite) reach(ctx context.Context, name string) (*test, error) {
	file := filepath.Join(filepath.Dir(s.program), "reached")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	start := time.Now()
	out, err := s.run(ctx, "reach:"+file, []string{name}, s.limits.slow)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("it takes longer than %v", s.limits.slow)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	t := &test{name: name, cost: time.Since(start), reached: make(map[int]bool)}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for id := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		t.reached[n] = true
	}
	return t, nil
}

func (s *suite) run(ctx context.Context, mutant string, tests []string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"-c", `ulimit -v "$0" && exec "$@"`, strconv.Itoa(s.limits.memoryKB), s.program,
		"-test.failfast", "-test.timeout=0", "-test.run=^(" + strings.Join(tests, "|") + ")$"}
	cmd := exec.CommandContext(ctx, "sh", append(args, s.args...)...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "WEIR_MUTANT="+mutant)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(out), err
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// try runs the tests that reach a mutant, until one fails.
func (s *suite) try(ctx context.Context, m *mutant) {
	tests := s.reaching(m)
	if len(tests) == 0 && m.outcome == notRun {
		m.outcome = unreached
	}
	for _, some := range batches(tests) {
		var names []string
		limit := s.limits.timeout
		for _, t := range some {
			names = append(names, t.name)
			limit += 5 * t.cost
		}
		out, err := s.run(ctx, strconv.Itoa(m.id), names, limit)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			out, err = s.run(ctx, strconv.Itoa(m.id), names, 4*limit) // a busy machine is slow as well
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			m.outcome = timedOut
			return
		case err != nil:
			m.outcome = killed
			s.credit(m, out)
			return
		}
	}
	if len(tests) > 0 {
		m.outcome = survived
	}
}

// reaching returns the tests that reach m, those first that are quick or good at
// killing.
func (s *suite) reaching(m *mutant) []*test {
	s.mu.Lock()
	defer s.mu.Unlock()
	var tests []*test
	for _, t := range s.tests {
		if t.reached[m.id] {
			tests = append(tests, t)
		}
	}
	slices.SortStableFunc(tests, func(a, b *test) int {
		return int(a.cost)/(1+a.kills) - int(b.cost)/(1+b.kills)
	})
	return tests
}

// credit notes which test killed m. A crash does not say.
func (s *suite) credit(m *mutant, output string) {
	found := failedTest.FindStringSubmatch(output)
	if found == nil {
		return
	}
	m.killer = found[1]
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tests {
		if t.name == m.killer {
			t.kills++
		}
	}
}

// firstBatch is about how long the first process for a mutant takes. Most mutants
// need no other, and starting one takes a few milliseconds.
const firstBatch = 100 * time.Millisecond

// batches cuts tests into those of one process each, which take longer and longer.
func batches(tests []*test) (all [][]*test) {
	var batch []*test
	var cost time.Duration
	budget := firstBatch
	for _, t := range tests {
		if len(batch) > 0 && cost+t.cost > budget {
			all = append(all, batch)
			batch, cost, budget = nil, 0, 4*budget
		}
		batch, cost = append(batch, t), cost+t.cost
	}
	if len(batch) > 0 {
		all = append(all, batch)
	}
	return all
}
