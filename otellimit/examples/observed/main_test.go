package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMetricsAndSpansAreWhatTheClientsCount(t *testing.T) {
	out := new(strings.Builder)
	require.NoError(t, run(t.Context(), out, 1500*time.Millisecond), out)
	require.Contains(t, out.String(), "\nSo do the metrics and the spans.")
	require.Regexp(t, `\n +1 +\d+ +\d+ +\d+\n`, out.String())
	require.Contains(t, out.String(), "\n  weir.limiter = keys\n")
	require.Contains(t, out.String(), "\n  weir.allowed = false\n")
}

func TestWhatIsWrongIsFound(t *testing.T) {
	c := counts{allowed: 7, denied: 5}
	good := map[string]int64{"weir.decisions allowed": 7, "weir.decisions denied": 5}
	require.NoError(t, c.check(io.Discard, good, &spans{allowed: 7, denied: 5}))
	require.Error(t, c.check(io.Discard, good, &spans{allowed: 6, denied: 5}))
	require.Error(t, c.check(io.Discard, good, &spans{allowed: 7, denied: 6}))
	for name := range good {
		wrong := map[string]int64{"weir.decisions allowed": 7, "weir.decisions denied": 5}
		wrong[name]++
		require.Error(t, c.check(io.Discard, wrong, &spans{allowed: 7, denied: 5}), name)
	}
	require.Error(t, new(counts).check(io.Discard, nil, new(spans)))
}
