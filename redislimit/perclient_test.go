package redislimit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

func bucket(n int, per time.Duration) weir.Policy { return weir.TokenBucket(weir.Per(n, per)) }

func window(n int, per time.Duration) weir.Policy { return weir.FixedWindow(weir.Per(n, per)) }

// TestAKeyExpiresWhenItIsFull: and not before.
func TestAKeyExpiresWhenItIsFull(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	hour := weir.PerHour(10)
	for _, p := range []weir.Policy{
		weir.TokenBucket(hour), weir.LeakyBucket(hour, 0), weir.FixedWindow(hour), weir.SlidingWindow(hour), weir.SlidingCounter(hour),
		weir.BurstReserve(hour, weir.PerDay(7)),
		weir.All(weir.SlidingWindow(hour), weir.SlidingWindow(weir.PerDay(50)), weir.TokenBucket(weir.PerMinute(5))),
	} {
		t.Run(p.String(), func(t *testing.T) {
			require.NoError(t, client.FlushAll(ctx).Err())
			c := redislimit.New(client, p, redislimit.WithTimeout(10*time.Second))
			_, err := c.Take(ctx, "a", 1)
			require.NoError(t, err)
			all, err := c.Peek(ctx, "a", 0)
			require.NoError(t, err)
			full := all.ResetAfter
			for _, part := range p.Parts() { // the one that is full last
				alone := redislimit.New(client, part, redislimit.WithPrefix("alone:"), redislimit.WithTimeout(10*time.Second))
				require.NoError(t, alone.Reset(ctx, "a"))
				d, err := alone.Take(ctx, "a", 1)
				require.NoError(t, err)
				if p.Algorithm() == weir.AlgorithmAll {
					full = max(full, d.ResetAfter)
				}
			}
			states, err := client.Keys(ctx, "*weir:a*").Result()
			require.NoError(t, err)
			require.NotEmpty(t, states)
			for _, key := range states {
				left, err := client.PTTL(ctx, key).Result()
				require.NoError(t, err)
				require.InDelta(t, full.Seconds(), left.Seconds(), 2, key)
			}
		})
	}
}

// TestATokenBucketExpiresAtTheEndOfTheSecond: in which it is full, whatever it was before.
func TestATokenBucketExpiresAtTheEndOfTheSecond(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	day := bucket(1000, 24*time.Hour)
	for _, p := range []weir.Policy{day, weir.All(bucket(500, 12*time.Hour), day), bucket(1000, 10*time.Second)} {
		t.Run(p.String(), func(t *testing.T) {
			require.NoError(t, client.FlushAll(ctx).Err())
			c := redislimit.New(client, p, redislimit.WithTimeout(10*time.Second))
			for use := range 500 {
				d, err := c.Take(ctx, "a", 1)
				require.NoError(t, err)
				require.True(t, d.Allowed)
				if use%7 == 6 {
					require.NoError(t, c.Refund(ctx, "a", 1))
				}
				before, err := client.Time(ctx).Result()
				require.NoError(t, err)
				d, err = c.Peek(ctx, "a", 0)
				require.NoError(t, err)
				after, err := client.Time(ctx).Result()
				require.NoError(t, err)
				expires, err := client.PExpireTime(ctx, "weir:a").Result()
				require.NoError(t, err)
				require.Zero(t, expires%time.Second)
				require.Greater(t, expires, time.Duration(before.UnixNano())+d.ResetAfter)
				require.LessOrEqual(t, expires, time.Duration(after.UnixNano())+d.ResetAfter+time.Second)
			}
		})
	}
}

// TestADenialWritesNothing.
func TestADenialWritesNothing(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	c := redislimit.New(client, bucket(2, time.Hour), redislimit.WithTimeout(10*time.Second))
	d, err := c.Take(ctx, "a", 2)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	before, err := client.Dump(ctx, "weir:a").Result()
	require.NoError(t, err)
	expires, err := client.PExpireTime(ctx, "weir:a").Result()
	require.NoError(t, err)
	for range 10 {
		d, err := c.Take(ctx, "a", 1)
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.InDelta(t, 1800, d.RetryAfter.Seconds(), 10)
		require.Equal(t, d.Policy, "token-bucket 2/h")
	}
	after, err := client.Dump(ctx, "weir:a").Result()
	require.NoError(t, err)
	require.Equal(t, before, after)
	again, err := client.PExpireTime(ctx, "weir:a").Result()
	require.NoError(t, err)
	require.Equal(t, expires, again)
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 10}, c.Stats())
}

// TestDeniedKeysAreAnsweredHere: until their RetryAfter, and those only.
func TestDeniedKeysAreAnsweredHere(t *testing.T) {
	ctx, server := context.Background(), redistest.Start(t)
	c := redislimit.New(server.Client(), bucket(2, time.Hour), redislimit.WithDenyCache(100), redislimit.WithTimeout(10*time.Second))
	for _, n := range []int{2, 1} {
		_, err := c.Take(ctx, "a", n)
		require.NoError(t, err)
	}
	server.Kill()
	for i := range 100 {
		d, err := c.Take(ctx, "a", 1)
		require.NoError(t, err, i)
		require.False(t, d.Allowed)
		require.InDelta(t, 1800, d.RetryAfter.Seconds(), 10)
	}
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 101, Local: 100}, c.Stats())
	_, err := c.Take(ctx, "b", 1)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "weir:b")
	_, err = c.Take(ctx, "a", 2)
	require.Error(t, err)
}

// TestALeaseIsSpentHere: and given back when nobody asks.
func TestALeaseIsSpentHere(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	c := redislimit.New(client, bucket(1000, 24*time.Hour), redislimit.WithLease(100, 200*time.Millisecond), redislimit.WithTimeout(10*time.Second))
	plain := redislimit.New(client, bucket(1000, 24*time.Hour), redislimit.WithTimeout(10*time.Second))
	for i := range 51 {
		ok, err := c.Allow(ctx, "a")
		require.NoError(t, err)
		require.True(t, ok)
		d, err := c.Peek(ctx, "a", 1)
		require.NoError(t, err)
		require.InDelta(t, 1000-i-2, d.Remaining, 1)
	}
	d, err := plain.Peek(ctx, "a", 0)
	require.NoError(t, err)
	require.InDelta(t, 899, d.Remaining, 1, "one, and then a hundred at once")
	require.Equal(t, weir.Stats{Allowed: 51, Local: 49}, c.Stats())
	require.Eventually(t, func() bool {
		d, err := plain.Peek(ctx, "a", 0)
		return err == nil && d.Remaining >= 949
	}, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, c.Close())
}

// TestAFallbackDecidesWhenTheStoreIsGone.
func TestAFallbackDecidesWhenTheStoreIsGone(t *testing.T) {
	ctx, server := context.Background(), redistest.Start(t)
	client := server.Client()
	p := weir.All(weir.TokenBucket(weir.PerHour(100)), weir.FixedWindow(weir.PerDay(1000)))
	closed := redislimit.New(client, p)
	open := redislimit.New(client, p, redislimit.WithFallback(redislimit.FailOpen))
	local := redislimit.New(client, p, redislimit.WithFallback(redislimit.Local(0.25)))
	server.Kill()
	allowed := 0
	for range 40 {
		d, err := closed.Take(ctx, "a", 1)
		require.Error(t, err)
		require.False(t, d.Allowed)
		d, err = open.Take(ctx, "a", 1)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		d, err = local.Take(ctx, "a", 1)
		require.NoError(t, err)
		if d.Allowed {
			allowed++
		}
	}
	require.Equal(t, 25, allowed)
	require.Equal(t, uint64(40), local.Stats().Fallback)
	require.Eventually(t, func() bool { // but for the one who tries again
		_, err := closed.Take(ctx, "a", 1)
		return errors.Is(err, redislimit.ErrUnavailable)
	}, 20*time.Second, time.Microsecond)
	server.Restart()
	require.Eventually(t, func() bool {
		_, err := closed.Take(ctx, "a", 1)
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
}

// TestSetPolicyCarriesWhatWasUsed: also to processes that only know one of the two.
func TestSetPolicyCarriesWhatWasUsed(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	old, next := bucket(100, 24*time.Hour), weir.FixedWindow(weir.PerDay(50))
	first := redislimit.New(client, old, redislimit.WithTimeout(10*time.Second))
	d, err := first.Take(ctx, "a", 30)
	require.NoError(t, err)
	require.Equal(t, 70, d.Remaining)
	second := redislimit.New(client, next, redislimit.WithTimeout(10*time.Second))
	d, err = second.Take(ctx, "a", 1)
	require.NoError(t, err)
	require.Equal(t, 19, d.Remaining)
	require.NoError(t, first.SetPolicy(next))
	d, err = first.Take(ctx, "a", 1)
	require.NoError(t, err)
	require.Equal(t, 18, d.Remaining)
	require.Error(t, first.SetPolicy(weir.Policy{}))

	// Where the store has lost it, all is taken to be used.
	lost, err := client.Keys(ctx, "weir:}*").Result()
	require.NoError(t, err)
	require.NoError(t, client.Del(ctx, lost...).Err())
	third := redislimit.New(client, weir.SlidingWindow(weir.PerDay(10)), redislimit.WithTimeout(10*time.Second))
	d, err = third.Take(ctx, "a", 1)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Zero(t, d.Remaining)
}

func TestKeysAreUnambiguous(t *testing.T) {
	seen := map[string][]string{}
	parts := []string{"", "a", ":", "%", "a:", ":a", "%3A", "}", "{"}
	add := func(p ...string) {
		key := redislimit.Key(p...)
		require.NotContains(t, seen, key, "%q and %q", p, seen[key])
		seen[key] = p
	}
	add()
	for _, a := range parts {
		add(a)
		for _, b := range parts {
			add(a, b)
			for _, c := range parts {
				add(a, b, c)
			}
		}
	}
}

func ExampleKey() {
	fmt.Println(redislimit.Key("login", "a:b"))
	// Output: login:a%3Ab
}
