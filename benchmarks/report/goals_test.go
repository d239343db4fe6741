package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGoals(t *testing.T) {
	r := Results{Speeds: []Speed{
		{Name: "limiter-allowed", Rows: []SpeedRow{
			{By: "floor", Floor: true, Serial: []float64{20, 10, 30}},
			{By: "weir", Serial: []float64{25, 12, 90}}, // 1.25, 1.2, 3
		}},
		{Name: "insert", Rows: []SpeedRow{
			{By: "weir", Serial: []float64{40}},
			{By: "slow", Serial: []float64{200}},
			{By: "quick", Serial: []float64{100}},
		}},
		{Name: "wait", Rows: []SpeedRow{
			{By: "weir", Serial: []float64{44}, Allocs: []float64{0}},
			{By: "weir, Allow", Serial: []float64{40}, Allocs: []float64{0.5}},
			{By: "slow", Serial: []float64{200}, Allocs: []float64{3}},
		}},
		{Name: "hot-denied", Rows: []SpeedRow{{By: "weir", Serial: []float64{30}, Parallel: []float64{20}}}},
	}}
	r.Latency = []Latency{
		{By: "weir", When: quietly, P9999: []time.Duration{100 * time.Microsecond}},
		{By: "weir", When: sweeping, P9999: []time.Duration{250 * time.Microsecond}},
	}
	byName := map[string]goal{}
	for _, g := range r.goals() {
		byName[g.what] = g
	}
	single := byName["one limiter, Allow / (clock reading + CAS)"]
	require.Equal(t, 1.25, single.measured)
	require.Equal(t, "yes", single.metText())

	insert := byName["insert a new key / the best peer"]
	require.Equal(t, 0.4, insert.measured)
	require.Equal(t, "**no**", insert.metText())

	denied := byName["one hot key, denied: speed-up on two cores"]
	require.Equal(t, 1.5, denied.measured)
	require.Equal(t, "**no**", denied.metText())

	swept := byName["p99.99 of Allow while 5 million are swept"]
	require.Equal(t, "at most 300 µs", swept.targetText())
	require.Equal(t, "yes", swept.metText())

	wait := byName["Wait that need not sleep / Allow"]
	require.Equal(t, 1.1, wait.measured)
	require.Equal(t, "yes", wait.metText())
	require.Equal(t, 0.5, r.mostAllocs("wait"))
	require.True(t, math.IsNaN(r.mostAllocs("wait", "hot-denied")), "not all were counted")
	require.True(t, math.IsNaN(r.mostAllocs("wait", "reserve")), "not all were measured")

	zipf := byName["Zipf 1.1 over a million / the floor"]
	require.True(t, math.IsNaN(zipf.measured))
	require.Equal(t, "not measured", zipf.measuredText())
	require.Empty(t, zipf.metText())
}
