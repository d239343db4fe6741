package weir_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// TestARemoteNeedsItsFunctions: each of them but Policy.
func TestARemoteNeedsItsFunctions(t *testing.T) {
	decide := func(context.Context, string, int) (weir.Decision, error) { return weir.Decision{Allowed: true}, nil }
	refund := func(context.Context, string, int) error { return nil }
	key := func(string) (string, bool) { return "", true }
	all := weir.Remote[string]{Take: decide, Peek: decide, Refund: refund}
	require.NotPanics(t, func() { weir.ByRemote(all, key) })
	for name, lack := range map[string]func(c *weir.Remote[string]){
		"take":   func(c *weir.Remote[string]) { c.Take = nil },
		"peek":   func(c *weir.Remote[string]) { c.Peek = nil },
		"refund": func(c *weir.Remote[string]) { c.Refund = nil },
	} {
		c := all
		lack(&c)
		require.PanicsWithValue(t, "weir: ByRemote needs Take, Peek, Refund and a key function, and one of them is nil",
			func() { weir.ByRemote(c, key) }, name)
	}
	require.Panics(t, func() { weir.ByRemote[string](all, nil) })
}

// TestARemoteLayerIsNotAskedForLessThanNothing: the answer is known, and stays so.
func TestARemoteLayerIsNotAskedForLessThanNothing(t *testing.T) {
	asked := 0
	decide := func(context.Context, string, int) (weir.Decision, error) {
		asked++
		return weir.Decision{Allowed: true}, nil
	}
	layers := weir.NewLayers(weir.ByRemote(weir.Remote[string]{
		Take: decide, Peek: decide, Refund: func(context.Context, string, int) error { return nil },
	}, func(string) (string, bool) { return "", true }))
	d, err := layers.TakeContext(t.Context(), "", -1)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Equal(t, weir.Never, d.RetryAfter)
	require.Zero(t, asked)
}
