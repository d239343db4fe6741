// Flood puts a gRPC server behind limits and lets four users loose on it: one that keeps to its
// limit, one that floods, one that does what it is told, and one that uploads in streams as fast as
// it may. It prints what each was served beside the most that its limit can admit in that time.
//
//	go run .
//
// It ends by itself after about five seconds, and fails if more got through, if what the clients and the
// server have counted differs from what the limiters have, or if who kept to the limit was denied.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
)

func main() {
	length := flag.Duration("for", 5*time.Second, "how long the users go on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *length); err != nil {
		fmt.Fprintln(os.Stderr, "flood:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, length time.Duration) error {
	limits := newLimits()
	defer limits.close()
	server := grpc.NewServer(append(limits.options(), grpc.WaitForHandlers(true))...) // when it stops
	service := &greeter{served: map[string]int{}}
	server.RegisterService(&greeterService, service)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	done := make(chan error)
	go func() { done <- server.Serve(l) }()

	fmt.Fprintf(out, "%s, for %v: all together %v; each user %v; messages %v\n\n", l.Addr(), length,
		limits.everybody.Policy(), limits.users.Policy(), limits.uploads.Policy())
	began := time.Now()
	users, err := drive(ctx, l.Addr().String(), length)
	lasted := time.Since(began)
	server.Stop()
	if stopped := <-done; err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	return report{users, service, limits, lasted}.check(out)
}
