// Layers puts three limits in front of an HTTP server: one for everybody together, one for each
// address, and one for each user who is known. A request has to pass all that apply to it, and one
// that is denied takes nothing from any of them.
package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// Limits are what a server allows.
type Limits struct {
	Everybody *weir.Limiter
	Addresses *weir.PerClient[netip.Addr]
	Users     *weir.PerClient[string]
	layers    *weir.Layers[*http.Request]
}

// NewLimits takes options so that the test can pass a clock of its own.
func NewLimits(opts ...weir.Option) *Limits {
	l := &Limits{
		Everybody: weir.New(weir.TokenBucket(weir.PerSecond(1000)).Named("everybody"), opts...),
		Addresses: weir.NewPerClient[netip.Addr](weir.TokenBucket(weir.PerSecond(5).WithBurst(10)).Named("address"),
			// Anybody can come from many addresses: bound how many are held.
			append(opts, weir.WithMaxClients(1_000_000, weir.EvictFullest))...),
		Users: weir.NewPerClient[string](weir.SlidingWindow(weir.PerMinute(8)).Named("user"), opts...),
	}
	l.layers = weir.NewLayers(
		weir.Global[*http.Request](l.Everybody),
		weir.By(l.Addresses, address),
		weir.By(l.Users, user),
	)
	return l
}

// address returns the peer's. Behind a proxy that is the proxy's.
func address(r *http.Request) (netip.Addr, bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr().Unmap(), err == nil
}

// user returns who a request is from; to one from nobody the layer does not apply. A real server
// believes only what it has verified.
func user(r *http.Request) (string, bool) {
	name, _, ok := r.BasicAuth()
	return name, ok
}

// Handler limits the requests to next.
func (l *Limits) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d := l.layers.Take(r, 1); !d.Allowed {
			// Whole seconds, rounded up: who comes back then is not too early.
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(d.RetryAfter.Seconds()))))
			http.Error(w, "too many requests: "+d.Policy, http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Close ends what the limiters have running.
func (l *Limits) Close() {
	_ = l.Addresses.Close()
	_ = l.Users.Close()
}

func main() {
	// A clock moved by hand, so that a minute passes at once. A program leaves the option out.
	run(os.Stdout, weir.NewManualClock())
}

func run(w io.Writer, clock *weir.ManualClock) {
	limits := NewLimits(weir.WithClock(clock))
	defer limits.Close()
	handler := limits.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))

	ask := func(times int, from, name string) {
		answers := map[int]int{}
		last := ""
		for range times {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = from + ":50000"
			if name != "" {
				r.SetBasicAuth(name, "secret")
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			answers[answer.Code]++
			if answer.Code == http.StatusTooManyRequests {
				last = fmt.Sprintf("; %s s: %s", answer.Header().Get("Retry-After"), answer.Body)
			} else {
				last = "\n"
			}
		}
		fmt.Fprintf(w, "%d from %s as %q: %d allowed, %d denied%s", times, from, name, answers[200], answers[429], last)
	}
	ask(9, "192.0.2.1", "ann")    // the user binds
	ask(3, "192.0.2.1", "bob")    // the address does: 8 of its 10 are ann's, and what she was denied cost nothing
	ask(1, "198.51.100.7", "ann") // ann from elsewhere is still ann
	ask(12, "198.51.100.7", "")   // nobody in particular
	clock.Advance(time.Minute)
	ask(8, "192.0.2.1", "ann")

	for _, s := range []struct {
		name  string
		stats weir.Stats
	}{
		{"everybody", limits.Everybody.Stats()}, {"addresses", limits.Addresses.Stats()}, {"users", limits.Users.Stats()},
	} {
		fmt.Fprintf(w, "%s: %d allowed, denied %d\n", s.name, s.stats.Allowed, s.stats.Denied)
	}
}
