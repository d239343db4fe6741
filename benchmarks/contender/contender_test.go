package contender

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The figures of a contender that denies where it should allow, or the other
// way round, would be those of something else.
func TestContendersAllowAndDeny(t *testing.T) {
	contenders := slices.Concat(Singles(), Hot(), Population(), Waiting(), Reserving(), WithPlans(), []Contender{WeirLogs, WeirObserved, WeirClientsObserved})
	for _, c := range contenders {
		t.Run(c.Name, func(t *testing.T) {
			roomy := c.New(Roomy, 3)
			defer roomy.Close()
			require.Equal(t, 4, roomy.Ask([]string{"a", "b", "a", "c"}), "with room for all")

			if c.Module == "" || c.Waits { // a floor decides nothing
				return
			}
			closed := c.New(Closed, 3)
			defer closed.Close()
			require.Equal(t, 1, closed.Ask([]string{"a", "a", "a"}), "one a day")
		})
	}
}
