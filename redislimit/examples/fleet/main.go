// Fleet shows one limit that holds for four processes. It starts a redis-server and four processes
// of one HTTP service, sends all of them one client's requests, and kills Redis in the middle:
// then each process admits a quarter of the limit by itself, until Redis is back.
//
//	go run .
//
// It prints, second by second, what was admitted against the bound, ends by itself after ten
// seconds, and fails if a bound was broken in any of them, or in any number of them on end. It
// needs redis-server: apt-get install redis-server.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// processes is how many the service has.
const processes = 4

// A script is how long the fleet is loaded, and when Redis is away meanwhile.
type script struct {
	killed, back, end time.Duration
}

func main() {
	if store := os.Getenv(storeVariable); store != "" {
		exit(serve(store)) // this is one of the four
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(run(ctx, os.Stdout, script{killed: 4 * time.Second, back: 6 * time.Second, end: 10 * time.Second}))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context, out io.Writer, s script) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	store, err := newStore()
	if err != nil {
		return err
	}
	defer store.remove()
	if err := store.start(ctx); err != nil {
		return err
	}
	var urls []string
	for range processes {
		process, err := startProcess(store.addr)
		if err != nil {
			return err
		}
		defer process.stop()
		urls = append(urls, process.url)
	}
	fmt.Fprintf(out, "%d processes, and one limit for all of them: %v\n\n", processes, policy)

	t := newTally(time.Now())
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		load(ctx, urls, t)
	}()
	err = act(ctx, out, s, store, t)
	cancel()
	<-loaded
	if err != nil {
		return err
	}
	return t.check(out)
}

// act prints a line each second, and does to Redis what the script says.
func act(ctx context.Context, out io.Writer, s script, store *store, t *tally) error {
	t.header(out)
	for at := time.Second; at <= s.end; at += time.Second {
		select {
		case <-time.After(time.Until(t.begin.Add(at))):
		case <-ctx.Done():
			return ctx.Err()
		}
		t.row(out, at)
		switch at {
		case s.killed:
			fmt.Fprintln(out, "        Redis is killed")
			store.kill()
		case s.back:
			if err := store.start(ctx); err != nil {
				return err
			}
			fmt.Fprintln(out, "        Redis is back, with what it had written")
		}
	}
	return nil
}
