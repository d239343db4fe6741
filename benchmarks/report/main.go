// Command report measures weir beside its peers and writes BENCHMARKS.md with
// its charts.
//
//	go run -C benchmarks ./report               everything: about a quarter of an hour and 16 GB
//	go run -C benchmarks ./report -quick        does it still run? Its figures mean nothing
//	go run -C benchmarks ./report -run '^hot'   only some sections
//	go run -C benchmarks ./report -from FILE    writes the pages again from results.json, or with -redis redis.json
//	go run -C benchmarks ./report -redis        the limiters in Redis instead, and redislimit/BENCHMARKS.md: ten minutes
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// cores is how many the parallel figures are for.
const cores = 2

func main() {
	full := fullScale()
	rounds := flag.Int("rounds", full.rounds, "how often each contender has its turn")
	quick := flag.Bool("quick", false, "one short round with few clients")
	only := flag.String("run", "", "measure only the sections that match this `regexp`")
	from := flag.String("from", "", "measure nothing and write the results in this `file`")
	redis := flag.Bool("redis", false, "measure limiters that keep their states in Redis")
	out := flag.String("out", "", "the `folder` to write to; default: the repository for a whole run, else a temporary one")
	flag.Parse()

	scale := full
	if *quick {
		scale = quickScale()
	} else {
		scale.rounds = max(1, *rounds)
	}
	if err := run(scale, *only, *from, *out, *redis); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(s scale, only, from, out string, redis bool) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if out == "" {
		// A part or a trial never replaces the real figures.
		out = ".."
		if s.quick || only != "" {
			if out, err = os.MkdirTemp("", "weir-benchmarks-"); err != nil {
				return err
			}
		}
	}
	if redis {
		return runRedis(s, match, from, out)
	}
	var results Results
	if from != "" {
		results, err = readResults(from)
	} else {
		runtime.GOMAXPROCS(cores)
		results = newRunner(s, match, os.Stderr).all()
	}
	if err != nil {
		return err
	}
	if err := results.write(out); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "written:", filepath.Join(out, "BENCHMARKS.md"))
	return nil
}

func runRedis(s scale, match *regexp.Regexp, from, out string) (err error) {
	var results Results
	if from != "" {
		results, err = readResults(from)
	} else {
		runtime.GOMAXPROCS(cores)
		results, err = newRunner(s, match, os.Stderr).redis()
	}
	if err != nil {
		return err
	}
	if err := results.writeRedis(out); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "written:", filepath.Join(out, "redislimit", "BENCHMARKS.md"))
	return nil
}
