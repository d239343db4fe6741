package promlimit_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/promlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
)

// oddNames are all that labels can be.
var oddNames = []string{
	`"quoted"`, `back\slash\n`, "line\nfeed", "a\x00b", "\r\t\v\x7f", " ", "{}=,#", "Größe 1 µs", "日本語 🚰", "\u2028\u202e\ufeff\ufffd\U0010ffff",
}

// A site is a server behind a Limiter and a PerClient, and what its clients have counted.
type site struct {
	*httptest.Server
	everybody *weir.Limiter
	keys      *weir.PerClient[string]
	statuses  map[string]map[int]*atomic.Int64 // by path
}

func newSite(t *testing.T, limits prometheus.Collector) *site {
	s := &site{
		everybody: weir.New(weir.TokenBucket(weir.PerSecond(300).WithBurst(50))),
		keys:      weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(50).WithBurst(20))),
		statuses:  map[string]map[int]*atomic.Int64{},
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(limits)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	mux.Handle("/everybody", httplimit.Limit(httplimit.Global(s.everybody))(hello))
	mux.Handle("/keys", httplimit.Limit(weir.By(s.keys, httplimit.HeaderKey("X-Api-Key")))(hello))
	for _, path := range []string{"/everybody", "/keys"} {
		s.statuses[path] = map[int]*atomic.Int64{http.StatusOK: {}, http.StatusTooManyRequests: {}}
	}
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		s.Close()
		_ = s.keys.Close()
	})
	return s
}

// load has four clients send requests, and counts the answers.
func (s *site) load(t *testing.T, requests int) {
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := range requests {
				path := []string{"/everybody", "/keys"}[i%2]
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				request.Header.Set("X-Api-Key", strconv.Itoa(client))
				response, err := s.Client().Do(request)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				s.statuses[path][response.StatusCode].Add(1)
			}
		})
	}
	clients.Wait()
}

// corner brings a limiter to where its other numbers are not 0: two clients are evicted, two
// held, three refused as there is no room, and one waits.
func corner(t *testing.T) *weir.PerClient[string] {
	clock := weir.NewManualClock()
	c := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(2)), weir.WithClock(clock), weir.WithSweepEvery(0), weir.WithMaxClients(2, weir.DenyNew))
	t.Cleanup(func() { _ = c.Close() })
	c.Allow("a")
	c.Allow("b")
	clock.Advance(time.Hour)
	require.Equal(t, 2, c.Sweep())
	for _, key := range []string{"c", "d", "e", "f", "g"} {
		c.Allow(key)
	}
	require.True(t, c.Reserve("c", 2).OK())
	return c
}

// everySeries is what a Collector with these limiters shows.
func everySeries(stats map[string]weir.Stats) map[string]float64 {
	series := map[string]float64{}
	for name, s := range stats {
		add := func(metric, decision string, value float64) {
			series[fmt.Sprintf("%s %q %s", metric, name, decision)] = value
		}
		add("weir_decisions_total", "allowed", float64(s.Allowed))
		add("weir_decisions_total", "denied", float64(s.Denied))
		add("weir_shadowed_total", "", float64(s.Shadowed))
		add("weir_waiting", "", float64(s.Waiting))
		add("weir_clients", "", float64(s.Clients))
		add("weir_evicted_total", "", float64(s.Evicted))
		add("weir_overflowed_total", "", float64(s.Overflowed))
		add("weir_local_total", "", float64(s.Local))
		add("weir_fallback_total", "", float64(s.Fallback))
	}
	return series
}

// A Prometheus that scrapes a server under load has what the load has counted.
func TestPrometheusCountsWhatTheClientsHaveCounted(t *testing.T) {
	limits := promlimit.NewCollector()
	site := newSite(t, limits)
	limits.Add("everybody", site.everybody)
	limits.Add("keys", site.keys)
	full := corner(t)
	limits.Add("corner", full)
	store := weir.Stats{Allowed: 40, Denied: 5, Shadowed: 4, Local: 30, Fallback: 3}
	limits.Add("store", counted(store))
	for i, name := range oddNames {
		limits.Add(name, counted(weir.Stats{Allowed: uint64(i)}))
	}
	alerts, err := filepath.Abs("alerts.yml")
	require.NoError(t, err)
	prometheus := startPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 50ms, evaluation_interval: 50ms}
rule_files: [%q]
scrape_configs: [{job_name: site, static_configs: [{targets: [%q]}]}]
`, alerts, site.Listener.Addr()))

	// It scrapes meanwhile.
	eventually(t, func() error {
		samples, err := prometheus.query(`weir_decisions_total`)
		if err == nil && len(samples) == 0 {
			err = errors.New("nothing is scraped")
		}
		return err
	})
	site.load(t, 600)
	full.Allow("one more")

	answers := func(path string, status int) uint64 { return uint64(site.statuses[path][status].Load()) }
	stats := map[string]weir.Stats{
		"everybody": {Allowed: answers("/everybody", 200), Denied: answers("/everybody", 429)},
		"keys":      {Allowed: answers("/keys", 200), Denied: answers("/keys", 429), Clients: 4},
		"corner":    {Allowed: 5, Denied: 4, Waiting: 1, Clients: 2, Evicted: 2, Overflowed: 4},
		"store":     store,
	}
	for _, path := range []string{"/everybody", "/keys"} {
		require.EqualValues(t, 4*300, answers(path, 200)+answers(path, 429))
		require.NotZero(t, answers(path, 200))
		require.NotZero(t, answers(path, 429))
	}
	names := []string{"everybody", "keys", "corner", "store"}
	for i, name := range oddNames {
		stats[name] = weir.Stats{Allowed: uint64(i)}
		names = append(names, name)
	}
	want := everySeries(stats)
	eventually(t, func() error {
		samples, err := prometheus.query(`{__name__=~"weir_.+"}`)
		got := map[string]float64{}
		for _, s := range samples {
			got[fmt.Sprintf("%s %q %s", s.name, s.labels["limiter"], s.labels["decision"])] = s.value
		}
		if err == nil && !maps.Equal(want, got) {
			err = fmt.Errorf("Prometheus has %v\nand not %v", got, want)
		}
		return err
	})
	// Meanwhile no counter went back.
	samples, err := prometheus.query(`sum(resets(weir_decisions_total[10m]))`)
	require.NoError(t, err)
	require.Len(t, samples, 1)
	require.Zero(t, samples[0].value)

	var listed []string
	require.NoError(t, prometheus.get("label/limiter/values", url.Values{"match[]": {"weir_decisions_total"}}, &listed))
	require.ElementsMatch(t, names, listed)
	prometheus.answers(slices.Concat(dashboardQueries(t), readmeQueries(t)))
	prometheus.judges(alertNames(t))
}

// answers checks that each query has an answer.
func (s server) answers(queries []string) {
	require.NotEmpty(s.t, queries)
	for _, query := range queries {
		eventually(s.t, func() error {
			samples, err := s.query(query)
			if err == nil && len(samples) == 0 {
				err = fmt.Errorf("no answer: %s", query)
			}
			return err
		})
	}
}

// judges checks that Prometheus has these alerts, and has evaluated them.
func (s server) judges(alerts []string) {
	eventually(s.t, func() error {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := s.get("rules", nil, &data); err != nil {
			return err
		}
		var good []string
		for _, group := range data.Groups {
			for _, rule := range group.Rules {
				if rule.Health == "ok" {
					good = append(good, rule.Name)
				}
			}
		}
		if !slices.Equal(good, alerts) {
			return fmt.Errorf("of %v these are well: %v in %+v", alerts, good, data)
		}
		return nil
	})
}
