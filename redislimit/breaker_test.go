package redislimit_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// TestAKeyThatIsSomethingElseStopsNobodyElse.
func TestAKeyThatIsSomethingElseStopsNobodyElse(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		ctx, s := context.Background(), redistest.Start(t)
		do(t, clientOf(t, s.Addr), "RPUSH", "weir:list", "x")
		c := connect(s.Addr)(bucket(100, time.Hour), redislimit.WithTimeout(generous))
		for range 20 {
			_, err := c.Take(ctx, "list", 1)
			require.ErrorContains(t, err, "WRONGTYPE")
			require.NotContains(t, err.Error(), "list")
		}
		ok, err := c.Allow(ctx, "another")
		require.NoError(t, err)
		require.True(t, ok)
	})
}

// TestCallersWhoGiveUpStopNobodyElse: and get their own error, whatever the fallback.
func TestCallersWhoGiveUpStopNobodyElse(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		ctx, s := context.Background(), redistest.Start(t)
		c := connect(s.Addr)(bucket(100, time.Hour), redislimit.WithTimeout(500*time.Millisecond), redislimit.WithFallback(redislimit.FailOpen))
		recovers(t, c)
		s.Signal(syscall.SIGSTOP)
		for range 20 {
			soon, cancel := context.WithTimeout(ctx, 3*time.Millisecond)
			_, err := c.Take(soon, "secret", 1)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotContains(t, err.Error(), "secret")
			_, err = c.Take(soon, "secret", 1)
			require.Error(t, err)
		}
		s.Signal(syscall.SIGCONT)
		_, err := c.Take(ctx, "another", 1)
		require.NoError(t, err)
		require.Zero(t, c.Stats().Fallback)
	})
}

// TestRequestsThatFailTogetherAreOneFailure: a connection that breaks is not a store
// that does not answer.
func TestRequestsThatFailTogetherAreOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := errors.New("connection reset")
		store := &fakeStore{left: 100}
		c := redislimit.NewWith(store, window(100, time.Hour))
		store.before = func(context.Context, string) error { time.Sleep(10 * time.Millisecond); return fails }
		together := func() {
			var work sync.WaitGroup
			for range 100 {
				work.Go(func() {
					_, err := c.Take(context.Background(), "a", 1)
					require.ErrorIs(t, err, fails)
				})
			}
			work.Wait()
		}
		together()
		together()
		together()
		_, err := c.Take(context.Background(), "a", 1)
		require.ErrorIs(t, err, redislimit.ErrUnavailable)
		time.Sleep(time.Second)
		store.before = nil
		_, err = c.Take(context.Background(), "a", 1)
		require.NoError(t, err)
	})
}

// TestADecisionTakesOneTimeout: however often it asks.
func TestADecisionTakesOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redislimit.NewWith(slowStore{}, window(100, time.Hour), redislimit.WithTimeout(50*time.Millisecond))
		began := time.Now()
		_, err := c.Take(context.Background(), "a", 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 50*time.Millisecond, time.Since(began))
	})
}

// A slowStore answers everything with the id of a policy that it does not know.
type slowStore struct{}

func (slowStore) Call(ctx context.Context, _ *redislimit.Library, _, _ []string) (redislimit.Reply, error) {
	select {
	case <-time.After(20 * time.Millisecond):
		return redislimit.Reply{Numbers: []int64{2}, Text: "abcde"}, nil
	case <-ctx.Done():
		return redislimit.Reply{}, ctx.Err()
	}
}

// TestFailOpenMintsNothing.
func TestFailOpenMintsNothing(t *testing.T) {
	store := &fakeStore{before: func(context.Context, string) error { return errors.New("gone") }}
	c := redislimit.NewWith(store, window(100, time.Hour), redislimit.WithFallback(redislimit.FailOpen))
	d, err := c.Take(context.Background(), "a", -1)
	require.NoError(t, err)
	require.False(t, d.Allowed)
	require.Equal(t, weir.Never, d.RetryAfter)
}

// TestAStoreThatHangsIsSparedWhoeverAsks: also if nobody waits as long as the timeout; and is
// tried four times a second.
func TestAStoreThatHangsIsSparedWhoeverAsks(t *testing.T) {
	for _, patience := range []time.Duration{30 * time.Millisecond, 45 * time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store, hangs, asked := &fakeStore{left: 100}, true, 0
			store.before = func(ctx context.Context, _ string) error {
				if asked++; hangs {
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
			c := redislimit.NewWith(store, window(100, time.Hour), redislimit.WithFallback(redislimit.FailOpen))
			ask := func(patience time.Duration) error {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				d, err := c.Take(ctx, "a", 1)
				require.Equal(t, err == nil, d.Allowed)
				return err
			}
			gave := 0
			for range 20 {
				if ask(patience) != nil {
					gave++
				}
			}
			require.LessOrEqual(t, asked, 4)
			asked = 0
			for began := time.Now(); time.Since(began) < 10*time.Second; {
				_ = ask(patience / 4)
				time.Sleep(time.Millisecond)
			}
			require.LessOrEqual(t, asked, 41)
			require.Greater(t, asked, 30)
			hangs = false
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, ask(patience))
			require.Equal(t, 1, store.taken)
			require.LessOrEqual(t, gave, 4)
		})
	}
}

// TestImpatienceIsNoFailureOfTheStore: of one that answers others in time.
func TestImpatienceIsNoFailureOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{left: 100}
		store.before = func(ctx context.Context, _ string) error {
			select {
			case <-time.After(20 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		c := redislimit.NewWith(store, window(100, time.Hour))
		for range 100 {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			_, err := c.Take(ctx, "a", 1)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(19*time.Millisecond, cancel)
			_, err = c.Take(ctx, "a", 1)
			require.ErrorIs(t, err, context.Canceled)
		}
		_, err := c.Take(context.Background(), "a", 1)
		require.NoError(t, err)
	})
}
