package weir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestACounterHasNoRoomBeforeTheWindowThatIsReserved: until its very beginning.
func TestACounterHasNoRoomBeforeTheWindowThatIsReserved(t *testing.T) {
	counter, s := slidingCounter{count: 5, period: 10}, state{words: []uint64{1, 0, 3}}
	for now := range int64(10) {
		require.Zero(t, counter.room(s, now, 0), now)
	}
	require.EqualValues(t, 2, counter.room(s, 10, 0))
}
