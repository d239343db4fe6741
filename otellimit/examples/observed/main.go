// Observed shows a server whose limiters are observed with OpenTelemetry: what they count as metrics, and
// each decision on the span of its request. It loads itself and prints once a second what a reader collects.
//
//	go run .
//
// It ends by itself after three seconds, and fails if metrics or spans are not what its clients have counted.
// A program of yours has a reader and a span processor that export.
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

	"github.com/goweir/weir"
	"github.com/goweir/weir/otellimit"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	length := flag.Duration("for", 3*time.Second, "how long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *length); err != nil {
		fmt.Fprintln(os.Stderr, "observed:", err)
		os.Exit(1)
	}
}

// run serves and loads for so long, or until ctx is done.
func run(ctx context.Context, out io.Writer, length time.Duration) (err error) {
	reader, spans := metric.NewManualReader(), new(spans)
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	defer func() {
		err = errors.Join(err, meters.Shutdown(context.Background()), tracers.Shutdown(context.Background()))
	}()

	keys := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(20).WithBurst(10)).Named("key"))
	defer keys.Close()
	limits, err := otellimit.Register(meters)
	if err != nil {
		return err
	}
	defer limits.Close()
	limits.Add("keys", keys)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newHandler(keys, tracers), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var counts counts
	var clients sync.WaitGroup
	for key, every := range map[string]time.Duration{"ann": 100 * time.Millisecond, "bot": 4 * time.Millisecond} {
		clients.Go(func() { send(ctx, "http://"+listener.Addr().String(), key, every, &counts) })
	}
	watched := watch(ctx, out, reader)
	cancel()
	clients.Wait()
	ended := server.Shutdown(context.Background()) // once all spans have ended
	<-served
	if err := errors.Join(watched, ended, counts.failed); err != nil {
		return err
	}
	metrics, err := collect(reader)
	if err != nil {
		return err
	}
	return counts.check(out, metrics, spans)
}

// watch prints each second what the reader collects, until ctx is done.
func watch(ctx context.Context, out io.Writer, reader metric.Reader) error {
	fmt.Fprintln(out, "second   allowed   denied   clients")
	for second := 1; ; second++ {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
		m, err := collect(reader)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%6d   %7d  %7d   %7d\n", second, m["weir.decisions allowed"], m["weir.decisions denied"], m["weir.clients"])
	}
}
