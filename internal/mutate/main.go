package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

type options struct {
	root     string
	packages []string
	files    []string
	match    *regexp.Regexp
	tests    *regexp.Regexp
	also     []string
	args     []string        // of the programs of also
	again    map[string]bool // by name; all if nil
	sample   int
	seed     uint64
	workers  int
	list     bool
	doubt    bool // run what equivalent.txt lists, and nothing else
	verbose  bool
	reasons  map[string]string
	limits   limits
}

func main() {
	o, err := parse()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	var packages, files, match, again, tests, also, args string
	flag.StringVar(&packages, "package", "", "mutate these `packages`, as ./httplimit,./internal/...")
	flag.StringVar(&files, "file", "", "mutate these `files` only, as bucket.go,httplimit/host.go")
	flag.StringVar(&match, "match", "", "run only mutants whose line in -list matches this `regexp`")
	flag.StringVar(&again, "again", "", "run only the mutants that this `file` lists, which is what an earlier run printed")
	flag.StringVar(&tests, "run", ".", "use only the tests whose names match this `regexp`")
	flag.StringVar(&also, "also", "", "try what survives with the tests in these `folders` too, as internal/proof")
	flag.StringVar(&args, "args", "", "`arguments` for these, as -rapid.checks=30")
	flag.IntVar(&o.sample, "sample", 0, "run only `n` of each package's mutants, chosen at random")
	flag.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flag.IntVar(&o.workers, "j", 1, "run this `many` mutants at a time")
	flag.DurationVar(&o.limits.timeout, "timeout", 5*time.Second, "a mutant's tests may take this `long`, and five times what they take without it")
	flag.DurationVar(&o.limits.slow, "slow", 10*time.Minute, "leave out tests that take this `long` without a mutant")
	flag.IntVar(&o.limits.memoryKB, "memory", 4<<20, "`KiB` of addresses that a mutant may take")
	flag.BoolVar(&o.list, "list", false, "list the mutants, and run none")
	flag.BoolVar(&o.doubt, "doubt", false, "run only what equivalent.txt lists, to see that no test kills it")
	flag.BoolVar(&o.verbose, "v", false, "say what becomes of each mutant, and which test killed it")
	flag.Parse()

	if flag.NArg() != 1 || o.workers < 1 {
		return o, errors.New("usage: mutate [flags] <the module's folder>; -j is at least 1")
	}
	o.packages, o.files, o.also, o.args = split(packages), split(files), split(also), strings.Fields(args)
	var err error
	if o.match, err = regexp.Compile(match); err != nil {
		return o, err
	}
	if o.tests, err = regexp.Compile(tests); err != nil {
		return o, err
	}
	if o.again, err = listedIn(again); err != nil {
		return o, err
	}
	if o.root, err = filepath.Abs(flag.Arg(0)); err != nil {
		return o, err
	}
	o.reasons, err = equivalents(equivalentText)
	return o, err
}

// An earlier run prints the outcome, the file and line, and the mutant.
var printed = regexp.MustCompile(`(?m)^(?:[\w ]+: )?\S+:\d+: (.*)$`)

func listedIn(file string) (map[string]bool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	names := make(map[string]bool)
	for _, match := range printed.FindAllStringSubmatch(string(text), -1) {
		names[strings.TrimSpace(match[1])] = true
	}
	return names, err
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func run(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	if err := astray(o.root, o.reasons); err != nil {
		return err
	}
	targets, err := load(o.root, o.packages)
	if err != nil {
		return err
	}
	var all []*mutant
	for i, t := range targets {
		folder := filepath.Join(work, fmt.Sprint(i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return err
		}
		mutants, err := mutate(ctx, t, folder, o)
		all = append(all, mutants...)
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	if o.list {
		return nil
	}
	total := report(os.Stdout, all)
	if err := ctx.Err(); err != nil {
		return err
	}
	what, n := "survivors", total.alive()
	if o.doubt {
		what, n = "killed, and so not equivalent", total.killed()
	}
	if n > 0 {
		return fmt.Errorf("%s: %d", what, n)
	}
	return nil
}
