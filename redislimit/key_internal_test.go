package redislimit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesInRedisAreUnambiguous: no two clients have a key in common, nor one with a policy, and
// all of a client are in one slot.
func TestNamesInRedisAreUnambiguous(t *testing.T) {
	var clients []string
	var longer func(string)
	longer = func(s string) {
		clients = append(clients, s)
		if len(s) < 5 {
			for _, c := range "%257D{}?" {
				longer(s + string(c))
			}
		}
	}
	longer("")
	for _, prefix := range []string{"", "a", "{a}", "x{a}y"} {
		ns, err := newNamespace(prefix)
		require.NoError(t, err)
		seen := map[string]bool{ns.policy("12345"): true}
		for _, client := range clients {
			state := ns.state(client)
			for _, name := range []string{state, ns.beside(state, "2"), ns.beside(state, "?")} {
				require.False(t, seen[name], "%q of %q", name, client)
				seen[name] = true
				require.Equal(t, slotOf(state), slotOf(name), "%q of %q", name, client)
			}
		}
	}
}
