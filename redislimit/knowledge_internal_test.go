package redislimit

import (
	"context"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// used returns what another process, of another policy, says that ann has used.
func used(t *testing.T, client *redis.Client) int {
	d, err := New(client, weir.TokenBucket(weir.Per(20, time.Hour))).Peek(context.Background(), "ann", 0)
	require.NoError(t, err)
	return d.Limit - d.Remaining
}

func taken(t *testing.T, c *PerClient) {
	allowed, err := c.Allow(context.Background(), "ann")
	require.NoError(t, err)
	require.True(t, allowed)
}

func hasText(client *redis.Client, c *PerClient) func() bool {
	return func() bool { return client.Exists(context.Background(), c.keys.policy(c.plan.Load().id)).Val() == 1 }
}

// TestAServerThatStartsAgainIsToldThePolicyAgain: under which there are states from then on,
// which processes of the next policy have to read.
func TestAServerThatStartsAgainIsToldThePolicyAgain(t *testing.T) {
	client := redistest.Start(t).Client()
	for _, p := range []weir.Policy{weir.TokenBucket(weir.Per(10, time.Hour)), weir.SlidingWindow(weir.Per(10, time.Hour))} {
		c := New(client, p)
		taken(t, c)
		require.Equal(t, 1, used(t, client))
		c.plan.Load().told.Add(-int64(2 * time.Second))
		require.NoError(t, client.FlushAll(context.Background()).Err())
		require.NoError(t, client.FunctionFlush(context.Background()).Err())
		taken(t, c)
		taken(t, c)
		require.Eventually(t, hasText(client, c), 10*time.Second, time.Millisecond)
		require.Equal(t, 2, used(t, client))
		require.NoError(t, c.Reset(context.Background(), "ann"))
	}
}

// TestATextThatTheServerLostIsThereAgain, if it was evicted, or flushed with all keys: within
// a minute.
func TestATextThatTheServerLostIsThereAgain(t *testing.T) {
	client := redistest.Start(t).Client()
	c := New(client, weir.TokenBucket(weir.Per(10, time.Hour)))
	taken(t, c)
	require.NoError(t, client.FlushAll(context.Background()).Err())
	taken(t, c)
	require.Equal(t, 20, used(t, client), "nobody knows under what")
	taken(t, c)
	require.False(t, hasText(client, c)(), "it is told once a minute")
	c.plan.Load().told.Add(-int64(tellAgain))
	taken(t, c)
	require.Eventually(t, hasText(client, c), 10*time.Second, time.Millisecond)
	require.Equal(t, 3, used(t, client))
}
