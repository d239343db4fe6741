package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// limited puts a limiter in front of a handler.
func limited(take func(client string) weir.Decision, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := take(clientOf(r))
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(d.Remaining))
		if !d.Allowed {
			deny(w, d)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clientOf is for this demo only, where all clients come from one address: anybody can write any
// name into a path. A service takes the key from what it has checked: a session, an API key, an address.
func clientOf(r *http.Request) string { return r.PathValue("client") }

func deny(w http.ResponseWriter, d weir.Decision) {
	if s := retryAfter(d.RetryAfter); s != "" {
		w.Header().Set("Retry-After", s)
	}
	http.Error(w, fmt.Sprintf("too many requests: %s", d.Policy), http.StatusTooManyRequests)
}

// retryAfter is d in whole seconds for a Retry-After field: rounded up, or the client would come back
// too early, and at least 1. Empty if it is no use to come back.
func retryAfter(d time.Duration) string {
	if d == weir.Never {
		return ""
	}
	seconds := d / time.Second
	if d%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(int64(max(seconds, 1)), 10)
}

func handler(all []*scenario, streams *sync.WaitGroup) http.Handler {
	mux := http.NewServeMux()
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "welcome, %s\n", clientOf(r))
	})
	for _, s := range all {
		h := limited(s.take, hello)
		if s.stream {
			h = upgradable(s.take, streams, h)
		}
		mux.Handle("/"+s.name+"/{client}", h)
	}
	return mux
}

type server struct {
	url     string
	http    *http.Server
	served  chan error
	streams sync.WaitGroup
}

func start(addr string, all []*scenario) (*server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{url: "http://" + reachable(l.Addr()), served: make(chan error, 1)}
	s.http = &http.Server{
		Handler:           handler(all, &s.streams),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	s.http.RegisterOnShutdown(cancel) // which ends the streams: Shutdown itself does not know them
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// grace is for requests under way when the server stops.
const grace = 2 * time.Second

// stop lets requests under way finish, and returns once nothing of the server is left.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		// Connections on which nothing was ever sent, as browsers open ahead of need: Shutdown waits longer for those.
		err = s.http.Close()
	}
	s.streams.Wait()
	if e := <-s.served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// reachable is an address to type into curl: a server on :8080 listens on [::], which is no host.
func reachable(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(t.Port))
	}
	return a.String()
}
