package promlimit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/promlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// A stub is a limiter that says what it is told to.
type stub func() weir.Stats

func (s stub) Stats() weir.Stats { return s() }

func counted(s weir.Stats) stub { return func() weir.Stats { return s } }

// gather scrapes a Collector as a registry does that trusts nobody. A metric is its name and the
// values of its labels.
func gather(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	metrics, err := gatherFrom(registry)
	require.NoError(t, err)
	return metrics
}

func gatherFrom(g prometheus.Gatherer) (map[string]float64, error) {
	families, err := g.Gather()
	metrics := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			metrics[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return metrics, err
}

func TestEveryNumberOfALimiterIsAMetric(t *testing.T) {
	c := promlimit.NewCollector()
	require.Empty(t, gather(t, c))
	c.Add("api", counted(weir.Stats{
		Allowed: 1, Denied: 2, Shadowed: 3, Waiting: 4, Clients: 5, Evicted: 6, Overflowed: 7, Local: 8, Fallback: 9,
	}))
	require.Equal(t, map[string]float64{
		"weir_decisions_total allowed api": 1, // labels are in the order of their names
		"weir_decisions_total denied api":  2,
		"weir_shadowed_total api":          3,
		"weir_waiting api":                 4,
		"weir_clients api":                 5,
		"weir_evicted_total api":           6,
		"weir_overflowed_total api":        7,
		"weir_local_total api":             8,
		"weir_fallback_total api":          9,
	}, gather(t, c))
}

func TestLimitersAreShownUnderTheirNames(t *testing.T) {
	hour := weir.TokenBucket(weir.PerHour(3))
	clock := weir.WithClock(weir.NewManualClock())
	everybody := weir.New(hour, clock)
	trial := weir.New(hour, clock, weir.WithShadow())
	users := weir.NewPerClient[string](hour, clock, weir.WithMaxClients(2, weir.DenyNew))
	defer users.Close()
	for range 5 {
		everybody.Allow()
		trial.Allow()
	}
	for _, user := range []string{"ann", "bob", "carl", "dora", "ann"} {
		users.Allow(user)
	}
	require.True(t, users.Reserve("bob", 3).OK())

	c := promlimit.NewCollector()
	c.Add("everybody", everybody)
	c.Add("trial", trial)
	c.Add("users", users)
	metrics := gather(t, c)
	require.Len(t, metrics, 3*9)
	require.Subset(t, metrics, map[string]float64{
		"weir_decisions_total allowed everybody": 3,
		"weir_decisions_total denied everybody":  2,
		"weir_shadowed_total everybody":          0,
		"weir_decisions_total allowed trial":     3,
		"weir_decisions_total denied trial":      2,
		"weir_shadowed_total trial":              2,
		"weir_clients trial":                     0,
		"weir_decisions_total allowed users":     4,
		"weir_decisions_total denied users":      2,
		"weir_overflowed_total users":            2,
		"weir_clients users":                     2,
		"weir_waiting users":                     1,
	})
}

func TestAScrapeAsksEachLimiterOnce(t *testing.T) {
	c := promlimit.NewCollector()
	asked := uint64(0)
	c.Add("api", stub(func() weir.Stats {
		asked++
		return weir.Stats{Allowed: asked, Denied: asked, Shadowed: asked}
	}))
	for n := range 3 {
		metrics := gather(t, c)
		require.Equal(t, float64(n+1), metrics["weir_decisions_total allowed api"])
		require.Equal(t, float64(n+1), metrics["weir_decisions_total denied api"])
		require.Equal(t, float64(n+1), metrics["weir_shadowed_total api"])
	}
}

func TestWhatIsRemovedIsNotShown(t *testing.T) {
	c := promlimit.NewCollector()
	require.False(t, c.Remove("api"))
	c.Add("api", counted(weir.Stats{Allowed: 1}))
	c.Add("web", counted(weir.Stats{Allowed: 2}))
	require.True(t, c.Remove("api"))
	require.False(t, c.Remove("api"))
	require.Len(t, gather(t, c), 9)
	c.Add("api", counted(weir.Stats{Allowed: 3})) // the name is free again
	require.Equal(t, 3., gather(t, c)["weir_decisions_total allowed api"])
}

func TestAddRefusesWhatPrometheusCannotShow(t *testing.T) {
	api := weir.New(weir.TokenBucket(weir.PerSecond(1)))
	for _, test := range []struct {
		name   string
		source promlimit.Source
		says   string
	}{
		{"", api, `promlimit: Add of a limiter without a name: Prometheus drops empty labels`},
		{"a\xff", api, `promlimit: Add("a\xff"): a name must be valid UTF-8`},
		{"taken", api, `promlimit: Add("taken"): another limiter has that name; Remove it first`},
		{"api", nil, `promlimit: Add("api") of a nil limiter`},
		{"api", (*weir.Limiter)(nil), `promlimit: Add("api") of a nil limiter`},
		{"api", (*weir.PerClient[int])(nil), `promlimit: Add("api") of a nil limiter`},
	} {
		c := promlimit.NewCollector()
		c.Add("taken", counted(weir.Stats{Allowed: 1}))
		require.PanicsWithValue(t, test.says, func() { c.Add(test.name, test.source) })
		require.Len(t, gather(t, c), 9)
		require.Equal(t, 1., gather(t, c)["weir_decisions_total allowed taken"])
	}
}

func TestAPanicOfALimiterFailsTheScrapeOnly(t *testing.T) {
	c := promlimit.NewCollector()
	c.Add("bad", stub(func() weir.Stats { panic("out of order") }))
	c.Add("good", counted(weir.Stats{Allowed: 1}))
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	metrics, err := gatherFrom(registry)
	require.ErrorContains(t, err, `promlimit: Stats of "bad": panic: out of order`)
	require.Len(t, metrics, 9)
	require.Equal(t, 1., metrics["weir_decisions_total allowed good"])
}

func TestTwoCollectorsNeedLabelsOfTheirOwn(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	collectors := map[string]*promlimit.Collector{}
	for _, tenant := range []string{"acme", "zeta"} {
		c := promlimit.NewCollector()
		c.Add("api", counted(weir.Stats{Allowed: 1}))
		collectors[tenant] = c
		prometheus.WrapRegistererWith(prometheus.Labels{"tenant": tenant}, registry).MustRegister(c)
	}
	metrics, err := gatherFrom(registry)
	require.NoError(t, err)
	require.Len(t, metrics, 2*9)
	require.Equal(t, 1., metrics["weir_decisions_total allowed api zeta"])

	plain := prometheus.NewRegistry()
	require.NoError(t, plain.Register(collectors["acme"]))
	require.ErrorAs(t, plain.Register(collectors["zeta"]), new(prometheus.AlreadyRegisteredError))
}

// Limiters come and go, decide and are scraped, all at once.
func TestACollectorIsSafeForConcurrentUse(t *testing.T) {
	c := promlimit.NewCollector()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	users := weir.NewPerClient[int](weir.TokenBucket(weir.PerSecond(1000)), weir.WithShadow())
	defer users.Close()
	c.Add("stays", users)
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for _, name := range []string{"a", "b", "c"} {
		writers.Go(func() {
			for i := range 300 {
				c.Add(name, users)
				users.Allow(i)
				c.Remove(name)
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			last := map[string]float64{}
			for more := true; more; {
				select {
				case <-done:
					more = false
				default:
				}
				metrics, err := gatherFrom(registry)
				if err != nil || len(metrics)%9 != 0 || len(metrics) == 0 {
					t.Errorf("%d metrics, %v", len(metrics), err)
					return
				}
				for _, name := range []string{"weir_decisions_total allowed stays", "weir_decisions_total denied stays"} {
					if metrics[name] < last[name] {
						t.Errorf("%s: %v after %v", name, metrics[name], last[name])
					}
				}
				last = metrics
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	metrics := gather(t, c)
	require.Len(t, metrics, 9)
	require.Equal(t, 900., metrics["weir_decisions_total allowed stays"]+metrics["weir_decisions_total denied stays"])
}

// A limiter that takes its time holds up no Add.
func TestASlowScrapeHoldsUpNobody(t *testing.T) {
	c := promlimit.NewCollector()
	inStats, goOn := make(chan struct{}), make(chan struct{})
	c.Add("slow", stub(func() weir.Stats {
		close(inStats)
		<-goOn
		return weir.Stats{}
	}))
	scraped := make(chan struct{})
	go func() {
		defer close(scraped)
		metrics := make(chan prometheus.Metric, 9)
		c.Collect(metrics)
	}()
	<-inStats
	added := make(chan struct{})
	go func() {
		defer close(added)
		c.Add("other", counted(weir.Stats{}))
		c.Remove("slow")
	}()
	select {
	case <-added:
	case <-time.After(30 * time.Second):
		t.Error("Add waits for a scrape")
	}
	close(goOn)
	<-scraped
	<-added
}
