package promlimit

import (
	"github.com/goweir/weir"
	"github.com/prometheus/client_golang/prometheus"
)

// A metric is one number of a limiter's Stats.
type metric struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	labels []string // the values of those after limiter
	of     func(*weir.Stats) float64
}

var decisionsDesc = prometheus.NewDesc("weir_decisions_total",
	"Decisions about one token or more. The denied include those that shadow mode let through.",
	[]string{"limiter", "decision"}, nil)

func desc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"limiter"}, nil)
}

// metrics are those of every limiter. A float64 has each count below 2^53.
var metrics = []metric{
	{decisionsDesc, prometheus.CounterValue, []string{"allowed"}, func(s *weir.Stats) float64 { return float64(s.Allowed) }},
	{decisionsDesc, prometheus.CounterValue, []string{"denied"}, func(s *weir.Stats) float64 { return float64(s.Denied) }},
	{
		desc("weir_shadowed_total", "Denied decisions that shadow mode let through."),
		prometheus.CounterValue, nil, func(s *weir.Stats) float64 { return float64(s.Shadowed) },
	},
	{
		desc("weir_waiting", "Reservations whose turn is still to come."),
		prometheus.GaugeValue, nil, func(s *weir.Stats) float64 { return float64(s.Waiting) },
	},
	{
		desc("weir_clients", "Clients held now."),
		prometheus.GaugeValue, nil, func(s *weir.Stats) float64 { return float64(s.Clients) },
	},
	{
		desc("weir_evicted_total", "Clients dropped because they were full."),
		prometheus.CounterValue, nil, func(s *weir.Stats) float64 { return float64(s.Evicted) },
	},
	{
		desc("weir_overflowed_total", "Decisions for new clients while as many were held as may be."),
		prometheus.CounterValue, nil, func(s *weir.Stats) float64 { return float64(s.Overflowed) },
	},
	{
		desc("weir_local_total", "Decisions made without asking the store."),
		prometheus.CounterValue, nil, func(s *weir.Stats) float64 { return float64(s.Local) },
	},
	{
		desc("weir_fallback_total", "Decisions made because the store did not answer."),
		prometheus.CounterValue, nil, func(s *weir.Stats) float64 { return float64(s.Fallback) },
	},
}
