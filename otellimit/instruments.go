package otellimit

import (
	"github.com/goweir/weir"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names this package as what observes.
const scope = "github.com/goweir/weir/otellimit"

// limiterKey is the attribute that all metrics and spans have.
const limiterKey = attribute.Key("weir.limiter")

// An instrument shows one number of each limiter's Stats, or several that attributes tell apart.
type instrument struct {
	name, unit, description string
	falls                   bool // the number may become less
	readings                []reading
	observable              metric.Int64Observable // once it is made
}

// A reading is one of the numbers. An int64 has room for a decision each nanosecond, for 292 years.
type reading struct {
	of         func(*weir.Stats) int64
	attributes []attribute.KeyValue
}

// newInstruments returns those of every limiter.
func newInstruments(meter metric.Meter) ([]instrument, error) {
	instruments := []instrument{
		{
			name: "weir.decisions", unit: "{decision}",
			description: "Decisions about one token or more. The denied include those that shadow mode let through.",
			readings: []reading{
				{func(s *weir.Stats) int64 { return int64(s.Allowed) }, decided("allowed")},
				{func(s *weir.Stats) int64 { return int64(s.Denied) }, decided("denied")},
			},
		},
		{
			name: "weir.shadowed", unit: "{decision}", description: "Denied decisions that shadow mode let through.",
			readings: []reading{{of: func(s *weir.Stats) int64 { return int64(s.Shadowed) }}},
		},
		{
			name: "weir.waiting", unit: "{reservation}", description: "Reservations whose turn is still to come.", falls: true,
			readings: []reading{{of: func(s *weir.Stats) int64 { return int64(s.Waiting) }}},
		},
		{
			name: "weir.clients", unit: "{client}", description: "Clients held now.", falls: true,
			readings: []reading{{of: func(s *weir.Stats) int64 { return int64(s.Clients) }}},
		},
		{
			name: "weir.evicted", unit: "{client}", description: "Clients dropped because they were full.",
			readings: []reading{{of: func(s *weir.Stats) int64 { return int64(s.Evicted) }}},
		},
		{
			name: "weir.overflowed", unit: "{decision}", description: "Decisions for new clients while as many were held as may be.",
			readings: []reading{{of: func(s *weir.Stats) int64 { return int64(s.Overflowed) }}},
		},
		{
			name: "weir.local", unit: "{decision}", description: "Decisions made without asking the store.",
			readings: []reading{{of: func(s *weir.Stats) int64 { return int64(s.Local) }}},
		},
		{
			name: "weir.fallback", unit: "{decision}", description: "Decisions made because the store did not answer.",
			readings: []reading{{of: func(s *weir.Stats) int64 { return int64(s.Fallback) }}},
		},
	}
	for i := range instruments {
		if err := instruments[i].make(meter); err != nil {
			return nil, err
		}
	}
	return instruments, nil
}

func decided(decision string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("weir.decision", decision)}
}

func (i *instrument) make(meter metric.Meter) (err error) {
	unit, description := metric.WithUnit(i.unit), metric.WithDescription(i.description)
	if i.falls {
		i.observable, err = meter.Int64ObservableUpDownCounter(i.name, unit, description)
	} else {
		i.observable, err = meter.Int64ObservableCounter(i.name, unit, description)
	}
	return err
}

func (i *instrument) observe(o metric.Observer, limiter string, s *weir.Stats) {
	for _, r := range i.readings {
		o.ObserveInt64(i.observable, r.of(s),
			metric.WithAttributes(limiterKey.String(limiter)), metric.WithAttributes(r.attributes...))
	}
}
