package otellimit

import (
	"context"
	"errors"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/sources"
	"go.opentelemetry.io/otel/metric"
)

// A Source is a limiter that counts: *weir.Limiter, *weir.PerClient, *redislimit.PerClient. Its
// Stats may be called by several goroutines at once.
type Source interface{ Stats() weir.Stats }

// Limiters are those whose metrics are collected, each under a name. Make them with Register.
// They are safe for concurrent use.
type Limiters struct {
	instruments  []instrument
	registration metric.Registration
	sources      sources.Set
}

// Register makes the instruments with a Meter of the provider, whose scope is this package, and
// observes with them whatever is added, whenever a reader collects. Register once for a provider.
// The error is the provider's.
func Register(p metric.MeterProvider) (*Limiters, error) {
	meter := p.Meter(scope)
	instruments, err := newInstruments(meter)
	if err != nil {
		return nil, err
	}
	l := &Limiters{instruments: instruments, sources: sources.Set{Package: "otellimit"}}
	var observables []metric.Observable
	for _, i := range instruments {
		observables = append(observables, i.observable)
	}
	l.registration, err = meter.RegisterCallback(l.observe, observables...)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Add has s observed under a name, from the next collection on. It panics on what is a mistake
// in the program: if s is nil, and if the name is empty, not valid UTF-8, or that of another
// limiter.
func (l *Limiters) Add(name string, s Source) { l.sources.Add(name, s) }

// Remove ends what Add began, and reports whether there was such a limiter. A collection that is
// under way may still show it.
func (l *Limiters) Remove(name string) bool { return l.sources.Remove(name) }

// Close ends the observing. It may be called again.
func (l *Limiters) Close() error { return l.registration.Unregister() }

// observe is the callback of all instruments. A limiter whose Stats panics is left out, with an
// error that names it; the program and the other limiters go on.
func (l *Limiters) observe(_ context.Context, o metric.Observer) error {
	var errs []error
	l.sources.Each(func(name string, stats weir.Stats, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		for _, i := range l.instruments {
			i.observe(o, name, &stats)
		}
	})
	return errors.Join(errs...)
}
