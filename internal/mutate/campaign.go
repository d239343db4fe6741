package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// mutate runs the mutants of one package, and returns them. Once ctx is done, it
// returns them as they are by then.
func mutate(ctx context.Context, t *target, work string, o options) ([]*mutant, error) {
	wanted := func(s *source) bool { return len(o.files) == 0 || slices.Contains(o.files, s.name) }
	if !slices.ContainsFunc(t.files, wanted) {
		return nil, nil
	}
	b, err := compile(t, work, wanted)
	if err != nil {
		return nil, err
	}
	if err := stale(b, wanted, o.reasons); err != nil {
		return nil, err
	}
	chosen := choose(b.mutants, o)
	if o.list {
		for _, m := range chosen {
			fmt.Println(located(m))
		}
		return nil, nil
	}
	if err := runAll(ctx, chosen, o, &suite{program: b.program(), dir: t.dir}); err != nil {
		return chosen, err
	}
	for i, folder := range o.also {
		dir, program := filepath.Join(o.root, folder), filepath.Join(work, fmt.Sprint("also", i))
		if err := b.test(dir, program); err != nil {
			return chosen, err
		}
		if err := runAll(ctx, chosen, o, &suite{program: program, dir: dir, args: o.args}); err != nil {
			return chosen, err
		}
	}
	for _, m := range chosen {
		if m.alive() && !o.doubt || m.dead() && o.doubt {
			fmt.Println(fate(m))
		}
	}
	return chosen, nil
}

func fate(m *mutant) string {
	if m.killer != "" {
		return fmt.Sprintf("%s by %s: %s", m.outcome, m.killer, located(m))
	}
	return fmt.Sprintf("%s: %s", m.outcome, located(m))
}

func located(m *mutant) string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m) }

// choose returns the mutants that the options ask for.
func choose(mutants []*mutant, o options) []*mutant {
	var chosen []*mutant
	for _, m := range mutants {
		listed := o.reasons[m.String()] != ""
		if o.doubt && !listed {
			continue
		}
		if o.match.MatchString(located(m)) && (o.again == nil || o.again[m.String()]) {
			chosen = append(chosen, m)
		}
		if listed && !o.doubt {
			m.outcome = equivalent
		}
	}
	if o.sample > 0 && o.sample < len(chosen) {
		random := rand.New(rand.NewPCG(o.seed, 0))
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:o.sample]
		slices.SortFunc(chosen, func(a, b *mutant) int { return a.id - b.id })
	}
	return chosen
}

// runAll runs those mutants that were not killed before with the tests of a suite.
func runAll(ctx context.Context, mutants []*mutant, o options, s *suite) error {
	var left []*mutant
	for _, m := range mutants {
		if m.outcome == notRun || m.alive() {
			left = append(left, m)
		}
	}
	if len(left) == 0 {
		return nil
	}
	s.limits = o.limits
	if err := s.prepare(ctx, o.tests); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d mutants, %d tests\n", s.dir, len(left), len(s.tests))

	queue := make(chan *mutant)
	var workers sync.WaitGroup
	for range o.workers {
		workers.Go(func() {
			for m := range queue {
				s.try(ctx, m)
				if o.verbose {
					fmt.Fprintln(os.Stderr, fate(m))
				}
			}
		})
	}
	for _, m := range left {
		if ctx.Err() != nil {
			break
		}
		queue <- m
	}
	close(queue)
	workers.Wait()
	return ctx.Err()
}
