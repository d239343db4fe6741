package weir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newFull makes a PerClient of four shards that is full, with nobody in the first one, and returns a key that
// belongs there.
func newFull(t *testing.T, p Policy, clock Clock, o Overflow) (c *PerClient[int], alone int) {
	t.Helper()
	const most = 4 * clientsPerShard
	c = NewPerClient[int](p, WithClock(clock), WithSweepEvery(0), WithMaxClients(most, o))
	shards := c.clients.states.Shards()
	require.Len(t, shards, 4)
	inFirst := func(key int) bool { return c.clients.states.Shard(c.hash(key)) == &shards[0] }
	for key := 0; c.Len() < most; key++ {
		if !inFirst(key) {
			require.True(t, c.Allow(key))
		}
	}
	for alone = 1 << 20; !inFirst(alone); alone++ {
	}
	return c, alone
}

// TestAClientOfAnEmptyShardTakesThePlaceOfOneElsewhere: one, whatever it asks.
func TestAClientOfAnEmptyShardTakesThePlaceOfOneElsewhere(t *testing.T) {
	for _, p := range []Policy{TokenBucket(PerHour(3)), SlidingWindow(PerHour(3))} {
		for _, clock := range []Clock{NewManualClock(), SystemClock()} {
			c, alone := newFull(t, p, clock, EvictFullest)
			most, other := c.Len(), SlidingCounter(PerHour(2))
			require.True(t, c.AllowN(alone, 0))
			require.Equal(t, most, c.Len())
			for i, ask := range []func() bool{
				func() bool { return c.Allow(alone) },
				func() bool { return c.Reserve(alone, 1).OK() },
				func() bool { return c.AllowAs(alone, other) },
				func() bool { c.Charge(alone, 1); return true },
			} {
				for range 8 { // where the search begins is chance
					overflowed := c.Stats().Overflowed
					require.True(t, ask())
					require.Equal(t, most, c.Len(), i)
					require.Equal(t, overflowed+1, c.Stats().Overflowed, i)
					c.Reset(alone)
					require.Equal(t, most-1, c.Len())
					for key := 1 << 21; c.Len() < most; key++ {
						if c.clients.states.Shard(c.hash(key)) != &c.clients.states.Shards()[0] && c.Peek(key, 0).Remaining == 3 {
							require.True(t, c.Allow(key))
						}
					}
				}
			}
			require.Zero(t, c.Stats().Evicted)
		}
	}
}

func TestWhoIsFullElsewhereIsEvicted(t *testing.T) {
	clock := NewManualClock()
	c, alone := newFull(t, SlidingWindow(PerHour(3)), clock, EvictFullest)
	clock.Advance(time.Hour)
	require.True(t, c.Allow(alone))
	require.EqualValues(t, 1, c.Stats().Evicted)
}

// TestNobodyGoesForAClientThatShares: nor for one of a shard without clients.
func TestNobodyGoesForAClientThatShares(t *testing.T) {
	c, alone := newFull(t, TokenBucket(PerHour(3)), NewManualClock(), ShareOverflow)
	most := c.Len()
	require.True(t, c.Allow(alone))
	require.Equal(t, most, c.Len())
	require.Equal(t, 2, c.Tokens(^alone))
}
