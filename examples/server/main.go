// Server is a web server behind limits, ready to copy: one for everybody together, one for each
// address, and one for each API key. Whoever brings no key, or an invented one, has an address.
//
//	go run ./examples/server
//	curl -i http://127.0.0.1:8080/hello
//	curl -i -H 'X-Api-Key: k-ann' http://127.0.0.1:8080/hello
//
// Behind proxies, name their addresses, and only those from which nobody else connects:
//
//	go run ./examples/server -trusted 10.1.0.0/16,10.2.0.7/32
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the `address` to listen on")
	trusted := flag.String("trusted", "", "the `prefixes` of proxies that are believed, separated by commas")
	flag.Parse()
	if err := run(*addr, *trusted); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(addr, trusted string) error {
	proxies, err := parsePrefixes(trusted)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	limits := newLimits(proxies)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger.Info("listening", "addr", listener.Addr())
	err = serve(ctx, listener, newHandler(limits, logger))
	logger.Info("stopped", "allowed", limits.addresses.Stats().Allowed, "denied", limits.denied())
	return err
}

// serve ends once ctx is done and the requests that are under way then are answered, or have had ten
// seconds for it.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler,
		// Limits count requests, not connections that never send one.
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		// Or OPTIONS * is answered without asking a handler, and a limit.
		DisableGeneralOptionsHandler: true,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	<-served
	return err
}

func parsePrefixes(list string) (prefixes []netip.Prefix, err error) {
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("-trusted: %w", err)
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}
