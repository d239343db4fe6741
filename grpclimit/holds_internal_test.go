package grpclimit

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// However many keys there are, no more are kept than twice those that are held.
func TestHoldsThatAreOverAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h holds
		for i := range 100_000 {
			h.extend(strconv.Itoa(i), 10*time.Second)
			time.Sleep(10 * time.Millisecond) // so that a thousand are held at a time
			require.LessOrEqual(t, len(h.keys), 2*1001)
		}
		require.Equal(t, 10*time.Second-10*time.Millisecond, h.left("99999"))
		require.Equal(t, 10*time.Millisecond, h.left("99001"))
		require.Zero(t, h.left("99000"))
	})
}

func TestAHoldIsNeverCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h holds
		h.extend("a", 10*time.Second)
		_, grown := h.look("a")
		h.extend("a", 9*time.Second)
		require.Equal(t, 10*time.Second, h.left("a"))
		select {
		case <-grown:
			require.Fail(t, "it has not grown")
		default:
		}
		h.extend("a", 11*time.Second)
		<-grown
		require.Equal(t, 11*time.Second, h.left("a"))
	})
}
