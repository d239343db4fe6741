package redislimit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/stretchr/testify/require"
)

// A goneStore always fails, also when it is asked about token buckets.
type goneStore struct{}

func (goneStore) Call(context.Context, *redislimit.Library, []string, []string) (redislimit.Reply, error) {
	return redislimit.Reply{}, errors.New("gone")
}

// localOnly returns a PerClient that decides about everything without its store.
func localOnly(p weir.Policy, share float64) *redislimit.PerClient {
	return redislimit.NewWith(goneStore{}, p, redislimit.WithFallback(redislimit.Local(share)))
}

func take(t *testing.T, c *redislimit.PerClient, n int) weir.Decision {
	t.Helper()
	d, err := c.Take(context.Background(), "ann", n)
	require.NoError(t, err)
	return d
}

func peek(t *testing.T, c *redislimit.PerClient, n int) weir.Decision {
	t.Helper()
	d, err := c.Peek(context.Background(), "ann", n)
	require.NoError(t, err)
	return d
}

func takeAs(t *testing.T, c *redislimit.PerClient, n int, p weir.Policy) weir.Decision {
	t.Helper()
	d, err := c.TakeAs(context.Background(), "ann", n, p)
	require.NoError(t, err)
	return d
}

// admitted takes one after the other until one is denied, and returns how many were not.
func admitted(t *testing.T, c *redislimit.PerClient) (n int) {
	t.Helper()
	for take(t, c, 1).Allowed {
		n++
	}
	return n
}

// TestALocalShareOfALimitOfDecadesDecides: half of 3 in ten years, with nine at once, would have been
// one in ten years with four at once, which is no valid limit, as those take 40 years to refill.
func TestALocalShareOfALimitOfDecadesDecides(t *testing.T) {
	decades := weir.TokenBucket(weir.Per(3, 3650*24*time.Hour).WithBurst(9))
	for share, burst := range map[float64]int{0.5: 4, 1. / 3: 3, 0.3: 2, 0.999: 8, 1e-300: 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			for name, decide := range map[string]func(c *redislimit.PerClient) (weir.Decision, error){
				"from the beginning": func(c *redislimit.PerClient) (weir.Decision, error) {
					if err := c.SetPolicy(decades); err != nil {
						return weir.Decision{}, err
					}
					return c.Take(context.Background(), "ann", 1)
				},
				"from now on": func(c *redislimit.PerClient) (weir.Decision, error) {
					if _, err := c.Take(context.Background(), "bob", 1); err != nil {
						return weir.Decision{}, err
					}
					if err := c.SetPolicy(decades); err != nil {
						return weir.Decision{}, err
					}
					return c.Take(context.Background(), "ann", 1)
				},
				"of a key": func(c *redislimit.PerClient) (weir.Decision, error) {
					return c.TakeAs(context.Background(), "ann", 1, decades)
				},
			} {
				var work sync.WaitGroup
				c := localOnly(bucket(10, time.Hour), share)
				for range 4 { // none waits for another in vain
					work.Go(func() {
						d, err := decide(c)
						require.NoError(t, err, name)
						require.Equal(t, burst, d.Limit, name)
					})
				}
				work.Wait()
			}
			require.Equal(t, burst, admitted(t, localOnly(decades, share)))
		})
	}
}

// TestTheLocalShareIsOfThePolicyInForce: with what was used under the one before.
func TestTheLocalShareIsOfThePolicyInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := localOnly(window(10, 30*24*time.Hour), 0.5)
		require.NoError(t, c.SetPolicy(window(20, 30*24*time.Hour))) // nobody was decided about yet
		require.Equal(t, 10, admitted(t, c))
		require.NoError(t, c.SetPolicy(window(60, 30*24*time.Hour)))
		require.Equal(t, 30, peek(t, c, 1).Limit)
		require.Equal(t, 20, admitted(t, c))
		require.NoError(t, c.SetPolicy(window(40, 30*24*time.Hour)))
		require.Equal(t, 20, take(t, c, 1).Limit)

		require.Error(t, c.SetPolicy(window(-1, time.Hour)))
		require.Equal(t, window(40, 30*24*time.Hour).String(), c.Policy().String())
		require.Equal(t, 20, take(t, c, 1).Limit)
	})
}

// TestAPolicyOfAKeysOwnIsSharedToo: what was used locally under another is used.
func TestAPolicyOfAKeysOwnIsSharedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pro := window(100, 30*24*time.Hour).Named("pro")
		c := localOnly(window(10, 30*24*time.Hour).Named("free"), 0.5)
		require.Equal(t, 5, admitted(t, c))
		d := takeAs(t, c, 0, pro)
		require.Equal(t, "pro", d.Policy)
		require.Equal(t, 50, d.Limit)
		require.Equal(t, 45, d.Remaining)
		d = takeAs(t, c, 1, pro)
		require.True(t, d.Allowed)
		require.Equal(t, "pro", d.Policy)
		require.Equal(t, 50, d.Limit)
		require.Equal(t, 44, d.Remaining)
		require.False(t, takeAs(t, c, 45, pro).Allowed)
		require.True(t, takeAs(t, c, 44, pro).Allowed)
		require.False(t, takeAs(t, c, 1, pro).Allowed)
		d = take(t, c, 1)
		require.False(t, d.Allowed)
		require.Equal(t, "free", d.Policy)
		_, err := c.TakeAs(context.Background(), "ann", 1, weir.Policy{})
		require.Error(t, err)
	})
}

// TestAPeekAtALocalShareConsumesNothing: and counts nothing.
func TestAPeekAtALocalShareConsumesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := localOnly(window(10, 30*24*time.Hour), 0.5)
		for range 10 {
			d := peek(t, c, 1)
			require.True(t, d.Allowed)
			require.Equal(t, 4, d.Remaining)
			require.False(t, peek(t, c, 6).Allowed)
			require.Equal(t, 5, take(t, c, 0).Remaining)
		}
		require.Zero(t, c.Stats())
		require.Equal(t, 5, admitted(t, c))
		require.False(t, peek(t, c, 1).Allowed)
		require.Equal(t, weir.Stats{Allowed: 5, Denied: 1, Fallback: 6}, c.Stats())
	})
}

// TestEachKindOfLimitIsSharedLocally: in its own way.
func TestEachKindOfLimitIsSharedLocally(t *testing.T) {
	tenth := func(p weir.Policy) *redislimit.PerClient { return localOnly(p, 0.1) }
	each := weir.PerMinute(30)
	for name, timeline := range map[string]func(t *testing.T){
		"a token bucket is smaller and slower": func(t *testing.T) {
			c := tenth(weir.TokenBucket(each.WithBurst(50)))
			require.Equal(t, 5, admitted(t, c))
			require.Equal(t, 20*time.Second, take(t, c, 1).RetryAfter)
		},
		"a leaky bucket is slower": func(t *testing.T) {
			c := tenth(weir.LeakyBucket(each, 5))
			require.Equal(t, 1, admitted(t, c))
			require.Equal(t, 20*time.Second, take(t, c, 1).RetryAfter)
			time.Sleep(20 * time.Second)
			require.Equal(t, 1, admitted(t, c))
		},
		"a fixed window is as long": func(t *testing.T) {
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 50*time.Second)))
			c := tenth(weir.FixedWindow(each))
			require.Equal(t, 3, admitted(t, c))
			require.Equal(t, 10*time.Second, take(t, c, 1).RetryAfter)
			time.Sleep(10 * time.Second)
			require.Equal(t, 3, admitted(t, c))
		},
		"a sliding window is as long": func(t *testing.T) {
			c := tenth(weir.SlidingWindow(each))
			require.True(t, take(t, c, 1).Allowed)
			time.Sleep(50 * time.Second)
			require.Equal(t, 2, admitted(t, c))
			require.Equal(t, 10*time.Second, take(t, c, 1).RetryAfter)
			time.Sleep(10 * time.Second)
			require.Equal(t, 1, admitted(t, c))
			require.Equal(t, 50*time.Second, take(t, c, 1).RetryAfter)
		},
		"a sliding counter is as long": func(t *testing.T) {
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
			c := tenth(weir.SlidingCounter(each))
			require.Equal(t, 3, admitted(t, c))
			require.Equal(t, 80*time.Second, take(t, c, 1).RetryAfter) // a third of the next one
			time.Sleep(80 * time.Second)
			require.Equal(t, 1, admitted(t, c))
		},
		"less than one is one in longer": func(t *testing.T) {
			c := tenth(weir.SlidingWindow(weir.PerMinute(3)))
			require.Equal(t, 1, admitted(t, c))
			require.Equal(t, 200*time.Second, take(t, c, 1).RetryAfter)
		},
		"all of them have to admit, under their names": func(t *testing.T) {
			c := tenth(weir.All(weir.SlidingWindow(weir.PerHour(40)).Named("hour"), weir.SlidingWindow(weir.PerSecond(20)).Named("second")).Named("both"))
			require.Equal(t, 2, admitted(t, c))
			require.Equal(t, "second", take(t, c, 1).Policy)
			time.Sleep(time.Second)
			require.Equal(t, 2, admitted(t, c))
			d := take(t, c, 1)
			require.Equal(t, "hour", d.Policy)
			require.Equal(t, 4, d.Limit)
		},
		"the first of them that admits pays, under their names": func(t *testing.T) {
			c := tenth(weir.FirstOf(weir.SlidingWindow(weir.PerHour(20)).Named("hour"), weir.SlidingWindow(weir.PerDay(30)).Named("day")).Named("either"))
			require.Equal(t, "day", take(t, c, 2).Policy) // what is left is there
			d := take(t, c, 3)
			require.True(t, d.Allowed)
			require.Zero(t, d.Remaining)
			d = take(t, c, 1)
			require.Equal(t, "hour", d.Policy)
			require.Equal(t, 2, d.Limit)
			require.Equal(t, time.Hour, d.RetryAfter)
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, timeline) })
	}
}

// TestThoseWhoAreFirstHaveOneLocalShare, however many of them come at once.
func TestThoseWhoAreFirstHaveOneLocalShare(t *testing.T) {
	for range 20 {
		c := localOnly(window(20, 30*365*24*time.Hour), 0.5)
		var work sync.WaitGroup
		for i := range 32 {
			work.Go(func() {
				if i%8 == 0 {
					require.NoError(t, c.SetPolicy(window(20, time.Duration(29*365*24-i)*time.Hour)))
				}
				_, err := c.Allow(context.Background(), "ann")
				require.NoError(t, err)
			})
		}
		work.Wait()
		require.EqualValues(t, 10, c.Stats().Allowed)
		require.EqualValues(t, 32, c.Stats().Fallback)
	}
}
