// Demo puts weir in front of a real HTTP server and sends it real traffic for ten seconds: clients
// that stay within their limits, clients that do not, and one that floods. It prints what each was
// allowed beside the most that its limit can admit in that time, and exits with 1 if more got through
// or a client that kept to its limit was denied.
//
//	go run ./examples/demo
//	go run ./examples/demo -for 30s
//	go run ./examples/demo -addr 127.0.0.1:8080    # no traffic of its own: try it with curl
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first Ctrl-C ends the run in good order; from then on a second one kills.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0 when everything held, 1 when something did not, 2 for a wrong flag.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "", "serve at this `address`, without traffic of its own, until Ctrl-C")
	length := flags.Duration("for", 10*time.Second, "how long the clients send")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := checkFlags(flags, *length); err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 2
	}

	all := scenarios()
	defer closeAll(all)
	if *addr != "" {
		return serve(ctx, *addr, all, stdout, stderr)
	}
	return exercise(ctx, all, *length, stdout, stderr)
}

func checkFlags(flags *flag.FlagSet, length time.Duration) error {
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("no arguments expected beside the flags, got %q", flags.Args())
	case length <= 0:
		return fmt.Errorf("-for %v: must be positive", length)
	case set["addr"] && set["for"]:
		return errors.New("-addr serves until Ctrl-C, so -for has no meaning beside it")
	}
	return nil
}

// serve answers requests at addr until ctx ends.
func serve(ctx context.Context, addr string, all []*scenario, stdout, stderr io.Writer) int {
	s, err := start(addr, all)
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
	printHelp(stdout, s.url, all)
	<-ctx.Done()
	if err := s.stop(); err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
	printStats(stdout, all)
	return 0
}

// exercise serves on a free loopback port and lets every scenario's clients loose on it.
func exercise(ctx context.Context, all []*scenario, length time.Duration, stdout, stderr io.Writer) int {
	s, err := start("127.0.0.1:0", all)
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return 1
	}
	fmt.Fprintf(stdout, "weir behind %s, its clients sending for %v\n\n", s.url, length)
	printScenarios(stdout, all)

	r := drive(ctx, s.url, all, length, stderr)
	if err := s.stop(); err != nil {
		r.faults = append(r.faults, err.Error())
	}
	r.print(stdout)
	if len(r.faults) > 0 {
		return 1
	}
	return 0
}
