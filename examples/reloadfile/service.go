package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/policyfile"
)

// A service answers each user as often as the policy "api" of a file says.
type service struct {
	api     *weir.PerClient[string]
	http    *http.Server
	stop    func()
	hup     chan os.Signal
	watched chan error
	served  chan error
}

// start returns once the file's limits are in force. From then on it looks into the file every so
// often, and at once on a SIGHUP.
func start(l net.Listener, path string, every time.Duration, log *slog.Logger) (*service, error) {
	policies, err := policyfile.Read(path)
	if err != nil {
		return nil, err
	}
	if _, ok := policies["api"]; !ok {
		return nil, fmt.Errorf(`%s: no policy "api"`, path)
	}
	s := &service{
		api:     weir.NewPerClient[string](policies["api"]),
		hup:     make(chan os.Signal, 1),
		watched: make(chan error, 1),
		served:  make(chan error, 1),
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	signal.Notify(s.hup, syscall.SIGHUP)
	go func() {
		s.watched <- policyfile.Watch(ctx, path, every, s.apply,
			policyfile.WithCurrent(policies), policyfile.WithSignal(s.hup), policyfile.WithLogger(log))
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{user}", s.hello)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// apply puts in force what changed.
func (s *service) apply(changed map[string]weir.Policy) error {
	if p, ok := changed["api"]; ok {
		return s.api.SetPolicy(p)
	}
	return nil
}

// hello trusts the user's name in the path, which only an example does.
func (s *service) hello(w http.ResponseWriter, r *http.Request) {
	d := s.api.Take(r.PathValue("user"), 1)
	if !d.Allowed {
		if d.RetryAfter != weir.Never { // in whole seconds, rounded up
			w.Header().Set("Retry-After", strconv.Itoa(int((d.RetryAfter-1)/time.Second)+1))
		}
		http.Error(w, "too many requests: "+d.Policy, http.StatusTooManyRequests)
		return
	}
	fmt.Fprintln(w, "hello")
}

// close lets requests under way finish, and returns once nothing of the service is left.
func (s *service) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if e := <-s.served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	signal.Stop(s.hup)
	s.stop()
	return errors.Join(err, <-s.watched, s.api.Close())
}
