package weir_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// What is tried, remembered or looked ahead in takes the place of what was before.
func TestCopiesOfALogDoNotPileUp(t *testing.T) {
	hour, less := weir.SlidingWindow(weir.PerHour(3000)), weir.SlidingWindow(weir.PerHour(900))
	for name, again := range map[string]func(*weir.PerClient[int]){
		"a denial under a plan": func(c *weir.PerClient[int]) {
			require.True(t, c.AllowAs(1, weir.SlidingWindow(weir.PerHour(2900))))
			require.False(t, c.AllowAs(1, less))
		},
		"a look under another policy": func(c *weir.PerClient[int]) {
			c.Refund(1, 1)
			c.Charge(1, 1)
			require.False(t, c.AllowAs(1, less))
			c.AllowN(1, 3001)
		},
		"a look ahead": func(c *weir.PerClient[int]) {
			r := c.Reserve(1, 2999)
			require.Positive(t, r.Delay())
			c.Peek(1, 1)
			r.Cancel()
		},
	} {
		clock := weir.NewManualClock()
		c := newClients[int](t, hour, clock, weir.WithMaxClients(10, weir.DenyNew))
		for range 1000 {
			require.True(t, c.Allow(1))
			clock.Advance(time.Millisecond)
		}
		again(c)
		before := heapBytes()
		for range 120 {
			clock.Advance(time.Millisecond)
			again(c)
		}
		require.Less(t, heapBytes()-before, 150<<10, name)
		runtime.KeepAlive(c)
	}
}
