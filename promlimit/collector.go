package promlimit

import (
	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/sources"
	"github.com/prometheus/client_golang/prometheus"
)

// A Source is a limiter that counts: *weir.Limiter, *weir.PerClient, *redislimit.PerClient. Its
// Stats may be called by several goroutines at once.
type Source interface{ Stats() weir.Stats }

// A Collector is a prometheus.Collector of limiters, each under a name. Make it with
// NewCollector. It is safe for concurrent use.
type Collector struct{ sources sources.Set }

// NewCollector returns a Collector without limiters.
func NewCollector() *Collector {
	return &Collector{sources.Set{Package: "promlimit", Nameless: ": Prometheus drops empty labels"}}
}

// Add has s collected under a name, from the next scrape on. Like prometheus.MustRegister it
// panics on what is a mistake in the program: if s is nil, and if the name is empty, not valid
// UTF-8, or that of another limiter.
func (c *Collector) Add(name string, s Source) { c.sources.Add(name, s) }

// Remove ends what Add began, and reports whether there was such a limiter. A scrape that is
// under way may still show it.
func (c *Collector) Remove(name string) bool { return c.sources.Remove(name) }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range metrics {
		descs <- m.desc
	}
}

// Collect implements prometheus.Collector. A limiter whose Stats panics makes the scrape fail
// with an error that names it; the program goes on.
func (c *Collector) Collect(collected chan<- prometheus.Metric) {
	c.sources.Each(func(name string, stats weir.Stats, err error) {
		if err != nil {
			collected <- prometheus.NewInvalidMetric(decisionsDesc, err)
			return
		}
		for _, m := range metrics {
			labels := append([]string{name}, m.labels...)
			collected <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(&stats), labels...)
		}
	})
}
