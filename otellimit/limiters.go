package otellimit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/goweir/weir"
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

	mu      sync.Mutex
	sources map[string]Source
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
	l := &Limiters{instruments: instruments, sources: map[string]Source{}}
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
func (l *Limiters) Add(name string, s Source) {
	switch v := reflect.ValueOf(s); {
	case !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil():
		panic(fmt.Sprintf("otellimit: Add(%q) of a nil limiter", name))
	case name == "":
		panic("otellimit: Add of a limiter without a name")
	case !utf8.ValidString(name):
		panic(fmt.Sprintf("otellimit: Add(%q): a name must be valid UTF-8", name))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.sources[name]; taken {
		panic(fmt.Sprintf("otellimit: Add(%q): another limiter has that name; Remove it first", name))
	}
	l.sources[name] = s
}

// Remove ends what Add began, and reports whether there was such a limiter. A collection that is
// under way may still show it.
func (l *Limiters) Remove(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, found := l.sources[name]
	delete(l.sources, name)
	return found
}

// Close ends the observing. It may be called again.
func (l *Limiters) Close() error { return l.registration.Unregister() }

// observe is the callback of all instruments. A limiter whose Stats panics is left out, with an
// error that names it; the program and the other limiters go on.
func (l *Limiters) observe(_ context.Context, o metric.Observer) error {
	l.mu.Lock()
	sources := maps.Clone(l.sources) // Stats does not hold up Add
	l.mu.Unlock()
	var errs []error
	for name, s := range sources {
		stats, err := read(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("otellimit: Stats of %q: %w", name, err))
			continue
		}
		for _, i := range l.instruments {
			i.observe(o, name, &stats)
		}
	}
	return errors.Join(errs...)
}

// read returns the Stats of s. A reader collects in a goroutine of its own, in which a panic
// would be the program's end.
func read(s Source) (stats weir.Stats, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.Stats(), nil
}
