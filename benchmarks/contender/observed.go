package contender

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/goweir/weir"
	"github.com/goweir/weir/otellimit"
	"github.com/goweir/weir/promlimit"
)

// WeirObserved is Weir with all that can look at it.
var WeirObserved = Contender{
	Name: "weir, observed", Module: weirModule, How: "the same with `OnDenied`, and in promlimit and otellimit, read ten times a second",
	New: func(l Limit, _ int) Limiter {
		w := weir.New(weir.TokenBucket(l.weir()))
		w.OnDenied(func(weir.Decision) {})
		return observed(askWeir(w), w)
	},
}

// WeirClientsObserved is WeirClients with all that can look at it.
var WeirClientsObserved = Contender{
	Name: WeirObserved.Name, Module: weirModule, How: WeirObserved.How,
	New: func(l Limit, _ int) Limiter {
		w := weir.NewPerClient[string](weir.TokenBucket(l.weir()), weir.WithStaleAfter(time.Hour))
		w.OnDenied(func(string, weir.Decision) {})
		return observed(AskClients(w), w)
	},
}

// observed has the metrics of l, which are those of s, read until it is closed.
func observed(l Limiter, s promlimit.Source) Limiter {
	o := newObservers(s)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(100 * time.Millisecond) // a Prometheus takes 15 s by default
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := o.read(); err != nil {
					panic(err)
				}
			case <-done:
				return
			}
		}
	}()
	closeLimiter := l.Close
	l.Close = func() {
		close(done)
		<-ended
		o.close()
		closeLimiter()
	}
	return l
}

// observers are a registry and a reader that have a limiter's metrics.
type observers struct {
	registry *prometheus.Registry
	reader   *metric.ManualReader
	provider *metric.MeterProvider
	limits   *otellimit.Limiters
}

func newObservers(s promlimit.Source) *observers {
	o := &observers{registry: prometheus.NewRegistry(), reader: metric.NewManualReader()}
	collector := promlimit.NewCollector()
	collector.Add("limiter", s)
	o.registry.MustRegister(collector)
	o.provider = metric.NewMeterProvider(metric.WithReader(o.reader))
	o.limits = must(otellimit.Register(o.provider))
	o.limits.Add("limiter", s)
	return o
}

// read asks both for all metrics.
func (o *observers) read() error {
	_, err := o.registry.Gather()
	return errors.Join(err, o.reader.Collect(context.Background(), new(metricdata.ResourceMetrics)))
}

func (o *observers) close() {
	_ = o.limits.Close()
	_ = o.provider.Shutdown(context.Background())
}
