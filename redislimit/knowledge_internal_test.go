package redislimit

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// used returns what another process, of another policy, says that ann has used.
func used(t *testing.T, client redis.UniversalClient) int {
	d, err := New(client, weir.TokenBucket(weir.Per(20, time.Hour))).Peek(context.Background(), "ann", 0)
	require.NoError(t, err)
	return d.Limit - d.Remaining
}

func taken(t *testing.T, c *PerClient) {
	allowed, err := c.Allow(context.Background(), "ann")
	require.NoError(t, err)
	require.True(t, allowed)
}

func hasWords(client redis.UniversalClient, c *PerClient) func() bool {
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
		require.Eventually(t, hasWords(client, c), 10*time.Second, time.Millisecond)
		require.Equal(t, 2, used(t, client))
		require.NoError(t, c.Reset(context.Background(), "ann"))
	}
}

// TestWordsThatTheServerLostAreThereAgain, if it was evicted, or flushed with all keys: within
// a minute.
func TestWordsThatTheServerLostAreThereAgain(t *testing.T) {
	client := redistest.Start(t).Client()
	c := New(client, weir.TokenBucket(weir.Per(10, time.Hour)))
	taken(t, c)
	require.NoError(t, client.FlushAll(context.Background()).Err())
	taken(t, c)
	require.Equal(t, 20, used(t, client), "nobody knows under what")
	taken(t, c)
	require.False(t, hasWords(client, c)(), "it is told once a minute")
	c.plan.Load().told.Add(-int64(tellAgain))
	taken(t, c)
	require.Eventually(t, hasWords(client, c), 10*time.Second, time.Millisecond)
	require.Equal(t, 3, used(t, client))
}

// TestWhoFindsAnUnknownPolicyHarmsNobody: under any prefix.
func TestWhoFindsAnUnknownPolicyHarmsNobody(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	for _, p := range []weir.Policy{weir.TokenBucket(weir.Per(10, time.Hour)), weir.SlidingWindow(weir.Per(10, time.Hour))} {
		c := New(client, p)
		taken(t, c)
		require.NoError(t, client.Del(ctx, c.keys.policy(c.plan.Load().id)).Err())
		require.Equal(t, 20, used(t, client))
		taken(t, c)
		taken(t, New(client, p, WithPrefix("other:")))
		require.NoError(t, client.FlushAll(ctx).Err())
	}
}

// TestWhoIsDeniedUnderAnUnknownPolicyIsAdmittedWhenItWasSaid.
func TestWhoIsDeniedUnderAnUnknownPolicyIsAdmittedWhenItWasSaid(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	for _, p := range []weir.Policy{weir.TokenBucket(weir.Per(1000, time.Hour)), weir.SlidingWindow(weir.Per(1000, time.Hour))} {
		require.NoError(t, client.FlushAll(ctx).Err())
		old := New(client, p)
		taken(t, old)
		require.NoError(t, client.Del(ctx, old.keys.policy(old.plan.Load().id)).Err())
		c := New(client, weir.TokenBucket(weir.Per(20, time.Hour)))
		at := time.Now().UnixMicro()
		c.at = strconv.FormatInt(at, 10)
		d, err := c.Take(ctx, "ann", 1)
		require.NoError(t, err)
		require.Equal(t, 3*time.Minute, d.RetryAfter)
		c.at = strconv.FormatInt(at+time.Minute.Microseconds(), 10)
		d, err = c.Take(ctx, "ann", 1)
		require.NoError(t, err)
		require.Equal(t, 2*time.Minute, d.RetryAfter)
		c.at = strconv.FormatInt(at+(3*time.Minute).Microseconds(), 10)
		taken(t, c)
	}
}

// TestAPolicyIsToldBeforeThereIsAStateUnderIt: if the server that is to have it answers.
func TestAPolicyIsToldBeforeThereIsAStateUnderIt(t *testing.T) {
	for range 20 {
		client := redistest.Start(t).Client()
		c := New(client, weir.TokenBucket(weir.Per(10, time.Hour)), WithTimeout(plenty))
		var work sync.WaitGroup
		for range 8 {
			work.Go(func() {
				taken(t, c)
				require.True(t, hasWords(client, c)())
			})
		}
		work.Wait()
	}
}

// TestAPolicyIsToldAgainInABubble: whatever the clock says.
func TestAPolicyIsToldAgainInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &listener{Store: distant(time.Millisecond)}
		c := NewWith(s, weir.TokenBucket(weir.Per(10, time.Hour)))
		for range 3 * 60 {
			taken(t, c)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		require.EqualValues(t, 3, s.told.Load())
		c.known.lost(c.plan.Load())
		taken(t, c)
		synctest.Wait()
		require.EqualValues(t, 4, s.told.Load())
		c.known.lost(c.plan.Load())
		taken(t, c)
		synctest.Wait()
		require.EqualValues(t, 4, s.told.Load(), "it has just been told")
	})
}

// TestAPolicyThatIsMadeAnewIsTheSame: it is not told again, and what was denied is remembered.
func TestAPolicyThatIsMadeAnewIsTheSame(t *testing.T) {
	ctx, s := context.Background(), &listener{Store: newGoRedis(redistest.Start(t).Client())}
	c := NewWith(s, weir.FixedWindow(weir.PerDay(100)), WithTimeout(plenty), WithDenyCache(100), WithLease(5, time.Hour))
	plan := func() weir.Policy { return weir.SlidingWindow(weir.PerDay(3)).Named("plan") }
	for i := range 20 {
		d, err := c.TakeAs(ctx, "ann", 1, plan())
		require.NoError(t, err)
		require.Equal(t, i < 3, d.Allowed)
		require.Equal(t, "plan", d.Policy)
	}
	require.EqualValues(t, 1, s.told.Load())
	require.EqualValues(t, 16, c.Stats().Local)
	for range 20 {
		_, err := c.TakeAs(ctx, "bob", 1, c.Policy())
		require.NoError(t, err)
	}
	require.Greater(t, c.Stats().Local, uint64(16+10), "it is the policy in force, and leased")
	require.NoError(t, c.Close())
}

// A listener counts what the store is told.
type listener struct {
	Store
	told atomic.Int64
	fail atomic.Bool
}

func (l *listener) Colocated() bool { return true }

func (l *listener) Call(ctx context.Context, lib *Library, keys, args []string) (Reply, error) {
	if lib == library && args[3] == "tell" {
		l.told.Add(1)
		if l.fail.Load() {
			<-ctx.Done()
			return Reply{}, ctx.Err()
		}
	}
	return l.Store.Call(ctx, lib, keys, args)
}

// TestWhereAPolicyIsToldMayHang: who is elsewhere is decided all the same, and it is told soon.
func TestWhereAPolicyIsToldMayHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &listener{Store: distant(time.Millisecond)}
		s.fail.Store(true)
		c := NewWith(s, weir.TokenBucket(weir.Per(10, time.Hour)))
		for range 100 {
			taken(t, c)
		}
		synctest.Wait()
		time.Sleep(tellSoon)
		require.EqualValues(t, 1, s.told.Load())
		s.fail.Store(false)
		taken(t, c)
		synctest.Wait()
		taken(t, c)
		require.EqualValues(t, 2, s.told.Load())
	})
}
