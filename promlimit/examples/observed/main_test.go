package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheMetricsAreWhatTheClientsCount(t *testing.T) {
	out := new(strings.Builder)
	require.NoError(t, run(t.Context(), out, "127.0.0.1:0", 1500*time.Millisecond), out)
	require.Contains(t, out.String(), "\nSo do the metrics.\n")
	require.Regexp(t, `\n +1 +\d+ +\d+ +\d+\n`, out.String())
	require.Contains(t, out.String(), "\nweir_clients{limiter=\"keys\"} 3\n")
}

func TestAMetricThatIsWrongIsFound(t *testing.T) {
	good := func() metrics {
		return metrics{
			decisions("everybody", "allowed"): 7, decisions("keys", "allowed"): 7,
			decisions("everybody", "denied"): 2, decisions("keys", "denied"): 3,
		}
	}
	c := counts{allowed: 7, denied: 5}
	require.NoError(t, c.check(io.Discard, good()))
	for name := range good() {
		wrong := good()
		wrong[name]++
		require.Error(t, c.check(io.Discard, wrong), name)
	}
	require.Error(t, new(counts).check(io.Discard, metrics{}))
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	require.Error(t, run(t.Context(), io.Discard, "127.0.0.1:-1", time.Second))
}
