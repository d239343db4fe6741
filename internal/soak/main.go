// Soak drives weir by the real clock, with all its parts at work at once, and
// holds everything it does against what it promises. It exits with 1 if any of
// this did not hold:
//
//   - No span admits more than MaxWithin says: of each key, all spans between
//     its newest admissions and its whole life, but for what is exempt by nature.
//   - What a Decision says of a key that nobody else asks for comes true: what
//     Remains is there, and RetryAfter is exact.
//   - Stats add up to what the callers saw, and never decrease.
//   - Left alone, all clients are swept, and nobody waits.
//   - Memory and goroutines are then what they were after the first quarter of
//     the run, and once all is closed what they were before it.
//
// A progress line goes to stderr now and then, the summary to stdout.
//
//	go run ./internal/soak -for 10m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// shortest is how long a run has to be for everything to have its turn.
const shortest = time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first Ctrl-C ends the run in good order; from then on a second one kills.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0 when everything held, 1 when something did not,
// 2 for a wrong flag.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	length := flags.Duration("for", 30*time.Second, "how long the workers work; the checks at the end take a few seconds more")
	seed := flags.Uint64("seed", rand.Uint64(), "of the traffic, which depends on the clock too")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "soak: no arguments expected beside the flags, got %q\n", flags.Args())
		return 2
	case *length < shortest:
		fmt.Fprintf(stderr, "soak: -for %v: must be at least %v\n", *length, shortest)
		return 2
	}
	fmt.Fprintf(stdout, "soak for %v with seed %d\n\n", *length, *seed)
	r := soak(ctx, *length, *seed, allScenarios, stderr)
	r.print(stdout)
	if r.faults.count() > 0 {
		return 1
	}
	return 0
}
