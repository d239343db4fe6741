package httplimit

import (
	"testing"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// TestFieldsAreKeptUpToABound: each once, and beyond it they begin anew.
func TestFieldsAreKeptUpToABound(t *testing.T) {
	var fields policyFields
	for n := range 3 * mostFields {
		policies := []weir.Policy{weir.TokenBucket(weir.PerSecond(n + 1))}
		_, found := fields.find(policies)
		require.False(t, found)
		field := fields.add(policies)
		require.Equal(t, newPolicyField(policies), field)
		require.Equal(t, field, fields.add(policies))
		again, found := fields.find(policies)
		require.True(t, found)
		require.Equal(t, field, again)
		require.Len(t, *fields.known.Load(), n%mostFields+1)
	}
}
