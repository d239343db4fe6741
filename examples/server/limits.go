package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// limits are the limiters of the server. Keep them where their Stats and SetPolicy are needed.
type limits struct {
	everybody *weir.Limiter
	addresses *weir.PerClient[netip.Prefix]
	users     *weir.PerClient[string]
	proxies   []netip.Prefix
}

// newLimits takes options so that the tests can pass a clock of their own.
func newLimits(proxies []netip.Prefix, opts ...weir.Option) *limits {
	// Whoever owns many addresses could fill the memory with them: bound how many are held. Beyond that,
	// of a few, the one that owes least is forgotten.
	bounded := append(slices.Clip(opts), weir.WithMaxClients(1_000_000, weir.EvictFullest))
	return &limits{
		everybody: weir.New(weir.TokenBucket(weir.PerSecond(1000)).Named("everybody"), opts...),
		addresses: weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(10).WithBurst(20)).Named("address"), bounded...),
		users:     weir.NewPerClient[string](weir.SlidingWindow(weir.PerHour(1000)).Named("key"), opts...),
		proxies:   proxies,
	}
}

// users are those whose keys are known. A program has them in a database, as hashes.
var users = map[string]string{"k-ann": "ann", "k-bob": "bob"}

// user is who sent a request, if they have proved it. An invented key is nobody's: it would be a
// client of its own, with a limit of its own.
func user(r *http.Request) (string, bool) {
	name, known := users[r.Header.Get("X-Api-Key")]
	return name, known
}

func newHandler(l *limits, logger *slog.Logger) http.Handler {
	api := httplimit.Middleware{
		Layers: weir.NewLayers(
			httplimit.Global(l.everybody),
			weir.By(l.addresses, httplimit.ClientIP(l.proxies...)),
			weir.By(l.users, user),
		),
		Logger: logger,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {}) // never limited
	mux.Handle("GET /hello", api.Handler(http.HandlerFunc(hello)))
	return mux
}

func hello(w http.ResponseWriter, r *http.Request) {
	name, known := user(r)
	if !known {
		name = "stranger"
	}
	fmt.Fprintf(w, "Hello, %s.\n", name)
}

func (l *limits) denied() uint64 {
	return l.everybody.Stats().Denied + l.addresses.Stats().Denied + l.users.Stats().Denied
}
