package weir_test

import (
	"strconv"
	"testing"

	"github.com/goweir/weir/internal/conformance"
	"github.com/stretchr/testify/require"
)

// TestMemoryDecidesAsTheTracesSay: what any other implementation is held to.
func TestMemoryDecidesAsTheTracesSay(t *testing.T) {
	files, err := conformance.Load("conformance")
	require.NoError(t, err)
	traces, steps := 0, 0
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			for _, trace := range file.Traces {
				require.NoError(t, conformance.Play(trace, conformance.Memory))
				steps += len(trace.Steps)
			}
		})
		traces += len(file.Traces)
	}
	if strconv.IntSize == 64 {
		require.GreaterOrEqual(t, traces, 200)
		require.GreaterOrEqual(t, steps, 50_000)
	}
}
