package main

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
)

// collect returns the metrics of the only limiter, by name and decision.
func collect(reader metric.Reader) (map[string]int64, error) {
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		return nil, err
	}
	metrics := map[string]int64{}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
				name := m.Name
				if decision, has := point.Attributes.Value("weir.decision"); has {
					name += " " + decision.AsString()
				}
				metrics[name] = point.Value
			}
		}
	}
	return metrics, nil
}

// spans is a trace.SpanProcessor that counts the spans by their decision.
type spans struct {
	mu              sync.Mutex
	allowed, denied int64
	last            []attribute.KeyValue // of the last that was denied
}

func (s *spans) OnEnd(span trace.ReadOnlySpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range span.Attributes() {
		switch {
		case a.Key != "weir.allowed":
		case a.Value.AsBool():
			s.allowed++
		default:
			s.denied++
			s.last = span.Attributes()
		}
	}
}

func (s *spans) OnStart(context.Context, trace.ReadWriteSpan) {}
func (s *spans) Shutdown(context.Context) error               { return nil }
func (s *spans) ForceFlush(context.Context) error             { return nil }
