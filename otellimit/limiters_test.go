package otellimit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/otellimit"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// A stub is a limiter that says what it is told to.
type stub func() weir.Stats

func (s stub) Stats() weir.Stats { return s() }

func counted(s weir.Stats) stub { return func() weir.Stats { return s } }

// register returns limiters and the reader of their metrics.
func register(t *testing.T) (*otellimit.Limiters, sdk.Reader) {
	t.Helper()
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	limits, err := otellimit.Register(provider)
	require.NoError(t, err)
	return limits, reader
}

// collect returns what a reader collects. A metric is its name and the values of its attributes.
func collect(t *testing.T, reader sdk.Reader) map[string]int64 {
	t.Helper()
	metrics, err := collectSome(reader)
	require.NoError(t, err)
	return metrics
}

func collectSome(reader sdk.Reader) (map[string]int64, error) {
	var collected metricdata.ResourceMetrics
	err := reader.Collect(context.Background(), &collected)
	metrics := map[string]int64{}
	for _, m := range all(collected) {
		for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
			name := m.Name
			for _, attribute := range point.Attributes.ToSlice() {
				name += " " + attribute.Value.AsString()
			}
			metrics[name] = point.Value
		}
	}
	return metrics, err
}

func all(collected metricdata.ResourceMetrics) (metrics []metricdata.Metrics) {
	for _, scope := range collected.ScopeMetrics {
		metrics = append(metrics, scope.Metrics...)
	}
	return metrics
}

func TestEveryNumberOfALimiterIsAMetric(t *testing.T) {
	limits, reader := register(t)
	require.Empty(t, collect(t, reader))
	limits.Add("api", counted(weir.Stats{
		Allowed: 1, Denied: 2, Shadowed: 3, Waiting: 4, Clients: 5, Evicted: 6, Overflowed: 7, Local: 8, Fallback: 9,
	}))
	require.Equal(t, map[string]int64{
		"weir.decisions allowed api": 1, // attributes are in the order of their keys
		"weir.decisions denied api":  2,
		"weir.shadowed api":          3,
		"weir.waiting api":           4,
		"weir.clients api":           5,
		"weir.evicted api":           6,
		"weir.overflowed api":        7,
		"weir.local api":             8,
		"weir.fallback api":          9,
	}, collect(t, reader))
}

func TestTheInstrumentsAreThoseOfTheDocumentation(t *testing.T) {
	limits, reader := register(t)
	limits.Add("api", counted(weir.Stats{}))
	var collected metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &collected))
	require.Equal(t, "github.com/goweir/weir/otellimit", collected.ScopeMetrics[0].Scope.Name)
	var instruments [][]string
	for _, m := range all(collected) {
		require.NotEmpty(t, m.Description)
		sum := m.Data.(metricdata.Sum[int64])
		kind := "up-down counter"
		if sum.IsMonotonic {
			kind = "counter"
		}
		instruments = append(instruments, []string{m.Name, m.Unit, kind})
		for _, point := range sum.DataPoints {
			decision, has := point.Attributes.Value("weir.decision")
			require.Equal(t, m.Name == "weir.decisions", has)
			if has {
				require.Contains(t, []string{"allowed", "denied"}, decision.AsString())
			}
			limiter, _ := point.Attributes.Value("weir.limiter")
			require.Equal(t, "api", limiter.AsString())
		}
	}
	require.Equal(t, documented(t, "doc.go"), instruments)
	require.Equal(t, documented(t, "README.md"), instruments)
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

	limits, reader := register(t)
	limits.Add("everybody", everybody)
	limits.Add("trial", trial)
	limits.Add("users", users)
	metrics := collect(t, reader)
	require.Len(t, metrics, 3*9)
	require.Subset(t, metrics, map[string]int64{
		"weir.decisions allowed everybody": 3,
		"weir.decisions denied everybody":  2,
		"weir.shadowed everybody":          0,
		"weir.decisions allowed trial":     3,
		"weir.decisions denied trial":      2,
		"weir.shadowed trial":              2,
		"weir.clients trial":               0,
		"weir.decisions allowed users":     4,
		"weir.decisions denied users":      2,
		"weir.overflowed users":            2,
		"weir.clients users":               2,
		"weir.waiting users":               1,
	})
}

// What goroutines counted of their own answers is what is collected, before and after more of it.
func TestWhatIsCollectedIsWhatALoadHasCounted(t *testing.T) {
	limits, reader := register(t)
	clients := weir.NewPerClient[int](weir.TokenBucket(weir.PerSecond(2000).WithBurst(100)))
	defer clients.Close()
	limits.Add("clients", clients)
	var allowed, denied int64
	for range 3 {
		var mu sync.Mutex
		var load sync.WaitGroup
		for range 8 {
			load.Go(func() {
				var yes, no int64
				for i := range 2000 {
					if clients.Allow(i % 3) {
						yes++
					} else {
						no++
					}
				}
				mu.Lock()
				defer mu.Unlock()
				allowed, denied = allowed+yes, denied+no
			})
		}
		load.Wait()
		metrics := collect(t, reader)
		require.Equal(t, allowed, metrics["weir.decisions allowed clients"])
		require.Equal(t, denied, metrics["weir.decisions denied clients"])
		require.EqualValues(t, 3, metrics["weir.clients clients"])
	}
	require.NotZero(t, allowed)
	require.NotZero(t, denied)
}

func TestACollectionAsksEachLimiterOnce(t *testing.T) {
	limits, reader := register(t)
	asked := uint64(0)
	limits.Add("api", stub(func() weir.Stats {
		asked++
		return weir.Stats{Allowed: asked, Denied: asked, Shadowed: asked}
	}))
	for n := range int64(3) {
		metrics := collect(t, reader)
		require.Equal(t, n+1, metrics["weir.decisions allowed api"])
		require.Equal(t, n+1, metrics["weir.decisions denied api"])
		require.Equal(t, n+1, metrics["weir.shadowed api"])
	}
}

func TestWhatIsRemovedOrClosedIsNotShown(t *testing.T) {
	limits, reader := register(t)
	require.False(t, limits.Remove("api"))
	limits.Add("api", counted(weir.Stats{Allowed: 1}))
	limits.Add("web", counted(weir.Stats{Allowed: 2}))
	require.Len(t, collect(t, reader), 2*9)
	require.True(t, limits.Remove("api"))
	require.False(t, limits.Remove("api"))
	require.Len(t, collect(t, reader), 9)
	limits.Add("api", counted(weir.Stats{Allowed: 3})) // the name is free again
	require.EqualValues(t, 3, collect(t, reader)["weir.decisions allowed api"])

	require.NoError(t, limits.Close())
	require.NoError(t, limits.Close())
	limits.Add("late", stub(func() weir.Stats { panic("asked after Close") }))
	require.Empty(t, collect(t, reader))
}

func TestAddRefusesWhatCannotBeShown(t *testing.T) {
	api := weir.New(weir.TokenBucket(weir.PerSecond(1)))
	for _, test := range []struct {
		name   string
		source otellimit.Source
		says   string
	}{
		{"", api, `otellimit: Add of a limiter without a name`},
		{"a\xff", api, `otellimit: Add("a\xff"): a name must be valid UTF-8`},
		{"taken", api, `otellimit: Add("taken"): another limiter has that name; Remove it first`},
		{"api", nil, `otellimit: Add("api") of a nil limiter`},
		{"api", (*weir.Limiter)(nil), `otellimit: Add("api") of a nil limiter`},
		{"api", (*weir.PerClient[int])(nil), `otellimit: Add("api") of a nil limiter`},
	} {
		limits, reader := register(t)
		limits.Add("taken", counted(weir.Stats{Allowed: 1}))
		require.PanicsWithValue(t, test.says, func() { limits.Add(test.name, test.source) })
		metrics := collect(t, reader)
		require.Len(t, metrics, 9)
		require.EqualValues(t, 1, metrics["weir.decisions allowed taken"])
	}
}

func TestAPanicOfALimiterIsAnErrorAndLeavesOutNoOther(t *testing.T) {
	limits, reader := register(t)
	limits.Add("bad", stub(func() weir.Stats { panic("out of order") }))
	limits.Add("good", counted(weir.Stats{Allowed: 1}))
	metrics, err := collectSome(reader)
	require.ErrorContains(t, err, `otellimit: Stats of "bad": panic: out of order`)
	require.Len(t, metrics, 9)
	require.EqualValues(t, 1, metrics["weir.decisions allowed good"])
}

// A provider fails in the instrument that is named so, or in the callback.
type failing struct {
	noop.MeterProvider
	at string
}

type failingMeter struct {
	noop.Meter
	at string
}

var errProvider = errors.New("no more instruments")

func (p failing) Meter(string, ...metric.MeterOption) metric.Meter { return failingMeter{at: p.at} }

func (m failingMeter) Int64ObservableCounter(name string, _ ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	if name == m.at {
		return nil, errProvider
	}
	return noop.Int64ObservableCounter{}, nil
}

func (m failingMeter) Int64ObservableUpDownCounter(name string, _ ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	if name == m.at {
		return nil, errProvider
	}
	return noop.Int64ObservableUpDownCounter{}, nil
}

func (m failingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	if m.at == "callback" {
		return nil, errProvider
	}
	return noop.Registration{}, nil
}

func TestRegisterReturnsTheErrorOfTheProvider(t *testing.T) {
	for _, at := range []string{"weir.decisions", "weir.waiting", "weir.fallback", "callback"} {
		limits, err := otellimit.Register(failing{at: at})
		require.ErrorIs(t, err, errProvider, at)
		require.Nil(t, limits)
	}
	limits, err := otellimit.Register(noop.NewMeterProvider())
	require.NoError(t, err)
	limits.Add("api", counted(weir.Stats{}))
	require.NoError(t, limits.Close())
}

// Limiters come and go, decide and are collected by two readers, all at once.
func TestLimitersAreSafeForConcurrentUse(t *testing.T) {
	readers := []sdk.Reader{sdk.NewManualReader(), sdk.NewManualReader()}
	provider := sdk.NewMeterProvider(sdk.WithReader(readers[0]), sdk.WithReader(readers[1]))
	defer func() { require.NoError(t, provider.Shutdown(context.Background())) }()
	limits, err := otellimit.Register(provider)
	require.NoError(t, err)
	users := weir.NewPerClient[int](weir.TokenBucket(weir.PerSecond(1000)), weir.WithShadow())
	defer users.Close()
	limits.Add("stays", users)
	var writers, collectors sync.WaitGroup
	done := make(chan struct{})
	for _, name := range []string{"a", "b", "c"} {
		writers.Go(func() {
			for i := range 300 {
				limits.Add(name, users)
				users.Allow(i)
				limits.Remove(name)
			}
		})
	}
	for _, reader := range readers {
		collectors.Go(func() {
			last := map[string]int64{}
			for more := true; more; {
				select {
				case <-done:
					more = false
				default:
				}
				metrics, err := collectSome(reader)
				if err != nil || len(metrics)%9 != 0 || len(metrics) == 0 {
					t.Errorf("%d metrics, %v", len(metrics), err)
					return
				}
				for _, name := range []string{"weir.decisions allowed stays", "weir.decisions denied stays"} {
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
	collectors.Wait()
	metrics := collect(t, readers[0])
	require.Len(t, metrics, 9)
	require.EqualValues(t, 900, metrics["weir.decisions allowed stays"]+metrics["weir.decisions denied stays"])
	require.NoError(t, limits.Close())
}

// A limiter that takes its time holds up no Add.
func TestASlowCollectionHoldsUpNobody(t *testing.T) {
	limits, reader := register(t)
	inStats, goOn := make(chan struct{}), make(chan struct{})
	limits.Add("slow", stub(func() weir.Stats {
		close(inStats)
		<-goOn
		return weir.Stats{}
	}))
	collected := make(chan error, 1)
	go func() { collected <- reader.Collect(context.Background(), new(metricdata.ResourceMetrics)) }()
	<-inStats
	added := make(chan struct{})
	go func() {
		defer close(added)
		limits.Add("other", counted(weir.Stats{}))
		limits.Remove("slow")
	}()
	select {
	case <-added:
	case <-time.After(30 * time.Second):
		t.Error("Add waits for a collection")
	}
	close(goOn)
	require.NoError(t, <-collected)
	<-added
}
