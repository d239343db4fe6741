package weir_test

import (
	"math"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// What Layers only ask leaves a key under its plan, and is remembered only if it is a denial.
func TestLayersThatAskAKeyUnderAPlanLeaveItAsItIs(t *testing.T) {
	plan, plain := weir.TokenBucket(weir.PerDay(100)), weir.TokenBucket(weir.PerHour(10).WithBurst(60))
	for _, n := range []int{0, 1, 5, -1, 61} {
		for _, pending := range []bool{false, true} {
			clock := weir.NewManualClock()
			asked, other := newClients[int](t, plain, clock), newClients[int](t, plain, clock)
			closed := weir.New(weir.TokenBucket(weir.Unlimited().WithBurst(0)), weir.WithClock(clock))
			layers := weir.NewLayers(weir.By(asked, byAddr).WithCost(bySize), weir.Global[visit](closed))
			for _, c := range []*weir.PerClient[int]{asked, other} {
				require.True(t, c.TakeAs(1, 55, plan).Allowed)
				if pending {
					require.Positive(t, c.Reserve(1, 60).Delay())
					c.TakeAs(1, 1, plan)
				}
			}
			require.False(t, layers.Allow(visit{1, 1, n}))
			clock.Advance(time.Hour)
			require.Equal(t, other.TakeAs(1, 0, plan), asked.TakeAs(1, 0, plan), "%d, %v", n, pending)
			require.Equal(t, other.Peek(1, 1), asked.Peek(1, 1), "%d, %v", n, pending)
			require.Equal(t, other.TakeAs(1, 1, plan), asked.TakeAs(1, 1, plan), "%d, %v", n, pending)
		}
	}
}

// A policy that remembers nothing leaves a key under its plan, in Layers as in Allow.
func TestLayersOfAnUnlimitedPolicyLeaveAKeyUnderItsPlan(t *testing.T) {
	plan := weir.FixedWindow(weir.PerSecond(1))
	clients := newClients[int](t, weir.TokenBucket(weir.Unlimited()), weir.NewManualClock())
	layers := weir.NewLayers(weir.By(clients, byAddr), weir.By(clients, byUser))
	for _, admitted := range []bool{true, false} {
		require.Equal(t, admitted, clients.TakeAs(1, 1, plan).Allowed)
		require.Equal(t, math.MaxInt, layers.Take(visit{1, 2, 1}, 1).Remaining)
	}
	// Who holds a receipt reserves, which forgets what was used.
	hold, err := layers.Hold(t.Context(), visit{1, 2, 1}, 1)
	require.NoError(t, err)
	require.NoError(t, hold.Settle(t.Context(), 5))
	require.True(t, clients.TakeAs(1, 1, plan).Allowed)
}
