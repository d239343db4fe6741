package promlimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/promlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func ExampleCollector() {
	logins := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(5)))
	defer logins.Close()
	api := weir.New(weir.TokenBucket(weir.PerSecond(100)))
	mux := http.NewServeMux()

	limits := promlimit.NewCollector()
	limits.Add("logins", logins)
	limits.Add("api", api)
	prometheus.MustRegister(limits)
	mux.Handle("/metrics", promhttp.Handler())

	defer prometheus.Unregister(limits)

	for range 7 {
		logins.Allow("ann")
	}
	show(mux, `limiter="logins"`)
	// Output:
	// weir_clients{limiter="logins"} 1
	// weir_decisions_total{decision="allowed",limiter="logins"} 5
	// weir_decisions_total{decision="denied",limiter="logins"} 2
	// weir_evicted_total{limiter="logins"} 0
	// weir_fallback_total{limiter="logins"} 0
	// weir_local_total{limiter="logins"} 0
	// weir_overflowed_total{limiter="logins"} 0
	// weir_shadowed_total{limiter="logins"} 0
	// weir_waiting{limiter="logins"} 0
}

// Limiters that belong together have a registerer that says so.
func ExampleCollector_labels() {
	registry := prometheus.NewRegistry()
	limits := promlimit.NewCollector()
	limits.Add("api", weir.New(weir.TokenBucket(weir.PerSecond(100))))

	acme := prometheus.WrapRegistererWith(prometheus.Labels{"tenant": "acme"}, registry)
	acme.MustRegister(limits)

	show(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), "weir_clients{")
	// Output: weir_clients{limiter="api",tenant="acme"} 0
}

// show prints those of the metrics of a handler that contain some text.
func show(metrics http.Handler, text string) {
	scrape := httptest.NewRecorder()
	metrics.ServeHTTP(scrape, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(scrape.Body.String()) {
		if strings.Contains(line, text) {
			fmt.Print(line)
		}
	}
}
