package redislimit_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// TestWaitTakesItsTurn.
func TestWaitTakesItsTurn(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	c := redislimit.New(client, weir.TokenBucket(weir.PerSecond(20).WithBurst(1)), redislimit.WithTimeout(10*time.Second))
	begin := time.Now()
	for range 5 {
		require.NoError(t, c.Wait(ctx, "a"))
	}
	require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond)
	require.ErrorIs(t, c.WaitN(ctx, "a", 2), weir.ErrNever)
	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.Wait(soon, "a"), context.DeadlineExceeded)
}

// A refilledStore admits one each interval, for all its clients together.
type refilledStore struct {
	interval time.Duration

	mu    sync.Mutex
	next  time.Time
	asked int
}

func (s *refilledStore) Call(_ context.Context, _ *redislimit.Library, _, args []string) (redislimit.Reply, error) {
	if args[0] == "" {
		return redislimit.Reply{Numbers: []int64{1}}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if args[1] != "1" {
		return redislimit.Reply{Numbers: []int64{0, 0, -1, 1, 0, 0}}, nil
	}
	if wait := time.Until(s.next).Microseconds(); wait > 0 {
		return redislimit.Reply{Numbers: []int64{0, 0, wait, 1, wait, 0}}, nil
	}
	s.next = time.Now().Add(s.interval)
	return redislimit.Reply{Numbers: []int64{1, 0, 0, 1, 1e6, 1}}, nil
}

// TestThoseWhoWaitAskOneBehindTheOther: in the order in which they came, and those who give up do
// not stop the others.
func TestThoseWhoWaitAskOneBehindTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const waiters = 200
		s := &refilledStore{interval: 10 * time.Millisecond}
		c := redislimit.NewWith(s, window(100, time.Hour))
		var mu sync.Mutex
		var admitted []int
		began := time.Now()
		for i := range waiters {
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				defer cancel()
				if err := c.Wait(ctx, "a"); i%4 == 3 {
					require.ErrorIs(t, err, context.Canceled)
				} else {
					require.NoError(t, err)
					mu.Lock()
					defer mu.Unlock()
					admitted = append(admitted, i)
				}
			}()
			synctest.Wait()
			if i%4 == 3 {
				time.AfterFunc(time.Duration(i)*time.Microsecond, cancel)
			}
		}
		time.Sleep(9 * time.Millisecond)
		soon, cancel := context.WithTimeout(context.Background(), time.Microsecond)
		defer cancel()
		require.ErrorIs(t, c.Wait(soon, "a"), context.DeadlineExceeded)
		require.ErrorIs(t, c.WaitN(context.Background(), "a", 2), weir.ErrNever)
		require.Equal(t, 9*time.Millisecond, time.Since(began))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Len(t, admitted, waiters*3/4)
		require.IsIncreasing(t, admitted)
		require.LessOrEqual(t, s.asked, 3*waiters)
		require.NoError(t, c.Wait(context.Background(), "a"))
	})
}
