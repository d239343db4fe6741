// Observed is a web server with a page that shows its limits at work, under a load that
// changes: open http://127.0.0.1:8080/debug/weir, then a limiter by its name.
//
//	go run ./examples/observed
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
	"github.com/goweir/weir/httplimit"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the `address` to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "observed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/debug/weir\n", listener.Addr())
	handler, page := newHandler()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	server.RegisterOnShutdown(page.Close)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		load(ctx, "http://"+listener.Addr().String())
	}()
	select {
	case err = <-served:
		return err
	case <-ctx.Done():
	}
	<-loaded
	grace, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler returns a server with limits, and the page that shows them.
func newHandler() (http.Handler, *debuglimit.Page) {
	everybody := weir.New(weir.TokenBucket(weir.PerSecond(300)))
	users := weir.NewPerClient[string](weir.All(
		weir.TokenBucket(weir.PerSecond(20).WithBurst(40)).Named("burst"),
		weir.SlidingWindow(weir.PerMinute(900)).Named("minute"),
	), weir.WithTopDenied(100))
	logins := weir.NewPerClient[string](weir.SlidingWindow(weir.Per(5, 20*time.Second)), weir.WithTopDenied(100))

	user := httplimit.HeaderKey("X-User")
	requests := weir.NewLayers(httplimit.Global(everybody), weir.By(users, user))
	mux := http.NewServeMux()
	mux.Handle("/search", (&httplimit.Middleware{Layers: requests}).Handler(hello))
	mux.Handle("/login", httplimit.Limit(weir.By(logins, user))(hello))

	page := new(debuglimit.Page)
	page.Add("everybody", debuglimit.Limiter(everybody))
	page.Add("users", debuglimit.PerClient(users, debuglimit.Strings()))
	page.Add("logins", debuglimit.PerClient(logins, debuglimit.Strings()))
	page.AddLayers("/search", requests)
	mux.Handle("/debug/weir", page)
	return mux, page
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
