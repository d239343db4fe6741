package weir_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// TestAnAlgorithmThatThereIsNotHasANumber: its name never panics.
func TestAnAlgorithmThatThereIsNotHasANumber(t *testing.T) {
	for a, want := range map[weir.Algorithm]string{
		0:                                "invalid",
		weir.AlgorithmTokenBucket:        "token-bucket",
		weir.AlgorithmFirstOf:            "first-of",
		weir.AlgorithmFirstOf + 1:        "algorithm(8)",
		weir.AlgorithmTokenBucket | 0xf0: "algorithm(241)",
	} {
		require.Equal(t, want, a.String())
	}
}
