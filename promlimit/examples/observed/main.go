// Observed shows a server whose limiters Prometheus can scrape. It loads itself, scrapes itself once a
// second as a Prometheus would, and prints what it saw.
//
//	go run .
//
// It ends by itself after three seconds, with what its metrics say in the end, and fails if that is not what
// its clients have counted. To have a Prometheus and a Grafana of your own look at it, give it time:
//
//	go run . -addr localhost:8080 -for 10m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "the `address` to listen on")
	length := flag.Duration("for", 3*time.Second, "how long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *addr, *length); err != nil {
		fmt.Fprintln(os.Stderr, "observed:", err)
		os.Exit(1)
	}
}

// run serves and loads for so long, or until ctx is done.
func run(ctx context.Context, out io.Writer, addr string, length time.Duration) error {
	service := newService()
	defer service.close()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: service.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		_ = server.Close()
		<-served
	}()
	url := "http://" + listener.Addr().String()
	fmt.Fprintf(out, "Metrics are at %s/metrics.\n\n", url)

	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var counts counts
	var clients sync.WaitGroup
	for _, c := range clientele {
		clients.Go(func() { c.send(ctx, url, &counts) })
	}
	err = watch(ctx, out, url)
	cancel()
	clients.Wait()
	if err != nil {
		return err
	}
	metrics, err := scrape(url)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s", metrics)
	return errors.Join(counts.failed, counts.check(out, metrics))
}

// watch prints each second what the metrics say of it, until ctx is done.
func watch(ctx context.Context, out io.Writer, url string) error {
	before, err := scrape(url)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "a second     allowed   denied   clients")
	for second := 1; ; second++ {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
		now, err := scrape(url)
		if err != nil {
			return err
		}
		rate := func(decision string) float64 { return now.decisions(decision) - before.decisions(decision) }
		fmt.Fprintf(out, "%8d   %9.0f %8.0f %9.0f\n", second, rate("allowed"), rate("denied"), now[`weir_clients{limiter="keys"}`])
		before = now
	}
}
