package main

import (
	"io"
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/promlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A service is limited for all together, and for each API key.
type service struct {
	everybody *weir.Limiter
	keys      *weir.PerClient[string]
}

func newService() *service {
	return &service{
		everybody: weir.New(weir.TokenBucket(weir.PerSecond(100).WithBurst(50))),
		keys:      weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(20).WithBurst(10))),
	}
}

func (s *service) close() { _ = s.keys.Close() }

func (s *service) handler() http.Handler {
	limits := promlimit.NewCollector()
	limits.Add("everybody", s.everybody)
	limits.Add("keys", s.keys)
	registry := prometheus.NewRegistry()
	registry.MustRegister(limits)

	limit := httplimit.Limit(
		httplimit.Global(s.everybody),
		weir.By(s.keys, httplimit.HeaderKey("X-Api-Key")),
	)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{})) // never limited
	mux.Handle("GET /hello", limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello\n")
	})))
	return mux
}
