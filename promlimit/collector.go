package promlimit

import (
	"fmt"
	"maps"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/goweir/weir"
	"github.com/prometheus/client_golang/prometheus"
)

// A Source is a limiter that counts: *weir.Limiter, *weir.PerClient, *redislimit.PerClient. Its
// Stats may be called by several goroutines at once.
type Source interface{ Stats() weir.Stats }

// A Collector is a prometheus.Collector of limiters, each under a name. Make it with
// NewCollector. It is safe for concurrent use.
type Collector struct {
	mu      sync.Mutex
	sources map[string]Source
}

// NewCollector returns a Collector without limiters.
func NewCollector() *Collector {
	return &Collector{sources: map[string]Source{}}
}

// Add has s collected under a name, from the next scrape on. Like prometheus.MustRegister it
// panics on what is a mistake in the program: if s is nil, and if the name is empty, not valid
// UTF-8, or that of another limiter.
func (c *Collector) Add(name string, s Source) {
	switch v := reflect.ValueOf(s); {
	case !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil():
		panic(fmt.Sprintf("promlimit: Add(%q) of a nil limiter", name))
	case name == "":
		panic("promlimit: Add of a limiter without a name: Prometheus drops empty labels")
	case !utf8.ValidString(name):
		panic(fmt.Sprintf("promlimit: Add(%q): a name must be valid UTF-8", name))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.sources[name]; taken {
		panic(fmt.Sprintf("promlimit: Add(%q): another limiter has that name; Remove it first", name))
	}
	c.sources[name] = s
}

// Remove ends what Add began, and reports whether there was such a limiter. A scrape that is
// under way may still show it.
func (c *Collector) Remove(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, found := c.sources[name]
	delete(c.sources, name)
	return found
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range metrics {
		descs <- m.desc
	}
}

// Collect implements prometheus.Collector. A limiter whose Stats panics makes the scrape fail
// with an error that names it; the program goes on.
func (c *Collector) Collect(collected chan<- prometheus.Metric) {
	c.mu.Lock()
	sources := maps.Clone(c.sources) // neither Stats nor a slow scrape holds up Add
	c.mu.Unlock()
	for name, s := range sources {
		stats, err := read(s)
		if err != nil {
			collected <- prometheus.NewInvalidMetric(decisionsDesc, fmt.Errorf("promlimit: Stats of %q: %w", name, err))
			continue
		}
		for _, m := range metrics {
			labels := append([]string{name}, m.labels...)
			collected <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(&stats), labels...)
		}
	}
}

// read returns the Stats of s. The registry calls Collect in a goroutine of its own, in which
// a panic would be the program's end.
func read(s Source) (stats weir.Stats, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.Stats(), nil
}
