package replay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScaledLimitsAreTimesAFactor(t *testing.T) {
	for text, want := range map[string]string{
		"token-bucket 10/s burst 20": "token-bucket 5/s burst 10",
		"all(fixed-window 7/m, first-of(sliding-window 1/h, sliding-counter 4/h), unlimited)": "all(fixed-window 4/m, first-of(sliding-window 1/h, sliding-counter 2/h), token-bucket unlimited)",
		"leaky-bucket 9/s queue 3": "leaky-bucket 5/s",
		"0":                        "token-bucket 0",
	} {
		require.Equal(t, want, candidate(t, text).Scaled(0.5).Layers[0].Policy.String(), text)
	}
	c := candidate(t, "address: 10/s; global: 1000/s").Scaled(8)
	require.Equal(t, "token-bucket 80/s", c.Layers[0].Policy.String())
	require.True(t, c.Layers[1].Global)
}
