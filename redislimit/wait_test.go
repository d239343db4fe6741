package redislimit_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// TestWaitTakesItsTurn: on a real server, by its clock.
func TestWaitTakesItsTurn(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	c := redislimit.New(client, weir.TokenBucket(weir.PerSecond(20).WithBurst(1)), redislimit.WithTimeout(10*time.Second))
	begin := time.Now()
	for range 5 {
		require.NoError(t, c.Wait(ctx, "a"))
	}
	require.GreaterOrEqual(t, time.Since(begin), 200*time.Millisecond)
	require.ErrorIs(t, c.WaitN(ctx, "a", 2), weir.ErrNever)
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

// TestNobodyWhoWaitsPassesAnother: not even one who needs less, and comes when that is there.
func TestNobodyWhoWaitsPassesAnother(t *testing.T) {
	c := redislimit.New(redistest.Start(t).Client(), weir.TokenBucket(weir.PerSecond(100).WithBurst(10)), redislimit.WithTimeout(generous))
	ok, err := c.AllowN(context.Background(), "a", 10)
	require.NoError(t, err)
	require.True(t, ok)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	first := make(chan error)
	go func() { first <- c.WaitN(ctx, "a", 10) }()
	require.Eventually(t, func() bool { return c.Stats().Denied > 0 }, generous, time.Millisecond)
	time.Sleep(time.Millisecond) // it is in line
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				soon, done := context.WithTimeout(ctx, 5*time.Millisecond)
				_ = c.WaitN(soon, "a", 1)
				done()
			}
		})
	}
	require.NoError(t, <-first)
	cancel()
	others.Wait()
}

// TestAsManyAskAsThereIsSomethingLeftFor: or a far store would let one pass in a round trip.
func TestAsManyAskAsThereIsSomethingLeftFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		store.before = func(context.Context, string) error { time.Sleep(10 * time.Millisecond); return nil }
		c := redislimit.NewWith(store, window(100, time.Hour))
		var work sync.WaitGroup
		var mu sync.Mutex
		var admitted []time.Time
		for range 60 {
			work.Go(func() {
				require.NoError(t, c.Wait(context.Background(), "a"))
				mu.Lock()
				defer mu.Unlock()
				admitted = append(admitted, time.Now())
			})
		}
		time.Sleep(time.Minute)
		store.mu.Lock()
		store.left = 50
		store.mu.Unlock()
		time.Sleep(time.Hour)
		store.mu.Lock()
		require.Equal(t, 50, store.taken)
		store.left = 10
		store.mu.Unlock()
		work.Wait()
		require.Equal(t, 60, store.taken)
		slices.SortFunc(admitted, time.Time.Compare)
		require.Equal(t, 10*time.Millisecond, admitted[49].Sub(admitted[0]))
	})
}
