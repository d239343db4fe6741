package redislimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// TestLeasesNeitherLeakNorMint: whatever instances do, and callers give up, each holds at
// most its lease, and in the end what was taken was admitted or given back.
func TestLeasesNeitherLeakNorMint(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) { leasesBalance(t, seed) })
	}
}

func leasesBalance(t *testing.T, seed uint64) {
	const instances, n, most, key = 3, 10, 4, "a"
	var admitted atomic.Int64
	random := func() func(int) int {
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(seed, 2))
		return func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return r.IntN(n)
		}
	}()
	store := &fakeStore{left: 2000}
	store.before = func(_ context.Context, verb string) error {
		store.mu.Lock()
		held := store.taken - store.refunds - int(admitted.Load())
		store.mu.Unlock()
		require.LessOrEqual(t, held, instances*(n+8*most)) // leased, and granted to those who have not yet said so
		time.Sleep(time.Duration(random(30)) * time.Millisecond)
		if verb == "take" && random(10) == 0 {
			return refused{} // about this one, or what is given back would be lost with the store
		}
		return nil
	}
	var clients []*redislimit.PerClient
	var work sync.WaitGroup
	for range instances {
		c := redislimit.NewWith(store, window(2000, time.Hour), redislimit.WithLease(n, 50*time.Millisecond), redislimit.WithTimeout(time.Second))
		clients = append(clients, c)
		for range 8 {
			work.Go(func() {
				for range 40 {
					time.Sleep(time.Duration(random(20)) * time.Millisecond)
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+random(40))*time.Millisecond)
					want := 1 + random(most)
					d, err := c.Take(ctx, key, want)
					cancel()
					if err == nil && d.Allowed {
						admitted.Add(int64(want))
					}
				}
			})
		}
	}
	work.Wait()
	synctest.Wait()
	store.mu.Lock()
	held := store.taken - store.refunds - int(admitted.Load())
	store.mu.Unlock()
	require.GreaterOrEqual(t, held, 0)
	require.LessOrEqual(t, held, instances*n)
	for _, c := range clients {
		require.NoError(t, c.Close())
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	require.Equal(t, int(admitted.Load()), store.taken-store.refunds)
	require.Equal(t, 2000-int(admitted.Load()), store.left)
}

type refused struct{}

func (refused) Error() string { return "ERR something about a key" }
func (refused) RedisError()   {}

// TestWhoWaitsForALeaseWaitsOnce: not for each who waited before.
func TestWhoWaitsForALeaseWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		store.before = func(context.Context, string) error { time.Sleep(20 * time.Millisecond); return nil }
		c := redislimit.NewWith(store, window(10, time.Hour), redislimit.WithLease(5, time.Minute))
		_, err := c.Take(context.Background(), "a", 1)
		require.NoError(t, err)
		began := time.Now()
		var work sync.WaitGroup
		for range 100 {
			work.Go(func() {
				ok, err := c.Allow(context.Background(), "a")
				require.NoError(t, err)
				require.False(t, ok)
			})
		}
		work.Wait()
		require.Equal(t, 40*time.Millisecond, time.Since(began))
		require.NoError(t, c.Close())
	})
}

// TestCloseWaitsForWhatIsBeingLeased, and gives it back.
func TestCloseWaitsForWhatIsBeingLeased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{left: 100}
		store.before = func(context.Context, string) error { time.Sleep(20 * time.Millisecond); return nil }
		c := redislimit.NewWith(store, window(100, time.Hour), redislimit.WithLease(50, time.Minute))
		_, err := c.Take(context.Background(), "a", 1)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
		_, err = c.Take(ctx, "a", 1) // leases fifty
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, c.Close())
		require.Equal(t, 99, store.left)
	})
}

// TestResetForgetsWhatIsBeingLeased: nobody knows whether it was taken before or after.
func TestResetForgetsWhatIsBeingLeased(t *testing.T) {
	for _, closed := range []bool{false, true} { // before it is there
		synctest.Test(t, func(t *testing.T) {
			store := &fakeStore{left: 100}
			store.before = func(context.Context, string) error { time.Sleep(20 * time.Millisecond); return nil }
			c := redislimit.NewWith(store, window(100, time.Hour), redislimit.WithLease(50, time.Minute))
			_, err := c.Take(context.Background(), "a", 1)
			require.NoError(t, err)
			var work sync.WaitGroup
			work.Go(func() { _, _ = c.Take(context.Background(), "a", 1) })
			synctest.Wait()
			require.NoError(t, c.Reset(context.Background(), "a"))
			if !closed {
				work.Wait()
			}
			require.NoError(t, c.Close())
			work.Wait()
			require.Equal(t, 49, store.left)
			require.Zero(t, store.refunds)
		})
	}
}

// TestALeaseFromFarAwayIsInTime: who waits for one has time to ask for itself, and nobody takes
// longer than the timeout.
func TestALeaseFromFarAwayIsInTime(t *testing.T) {
	for _, away := range []time.Duration{time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond, 25 * time.Millisecond, 30 * time.Millisecond, 45 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			store := &fakeStore{left: 100_000}
			store.before = func(ctx context.Context, _ string) error {
				select {
				case <-time.After(away):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			c := redislimit.NewWith(store, window(100_000, time.Hour), redislimit.WithLease(5, time.Minute))
			_, err := c.Take(context.Background(), "b", 1) // from now on it is known how far
			require.NoError(t, err)
			var work sync.WaitGroup
			for i := range 500 {
				work.Go(func() {
					began := time.Now()
					ok, err := c.Allow(context.Background(), "a")
					require.NoError(t, err, i)
					require.True(t, ok)
					require.LessOrEqual(t, time.Since(began), 50*time.Millisecond)
				})
				if i%10 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			work.Wait()
			require.NoError(t, c.Close())
		})
	}
}

// TestWhoWaitedForALeaseIsNoFailureOfTheStore: of one that answers others.
func TestWhoWaitedForALeaseIsNoFailureOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{left: 100_000}
		slow := false
		store.before = func(ctx context.Context, _ string) error {
			if slow { // it notices a little later
				<-ctx.Done()
				time.Sleep(5 * time.Millisecond)
				return ctx.Err()
			}
			return nil
		}
		c := redislimit.NewWith(store, window(100_000, time.Hour), redislimit.WithLease(5, time.Minute))
		_, err := c.Take(context.Background(), "a", 1)
		require.NoError(t, err)
		slow = true
		var work sync.WaitGroup
		for range 10 {
			work.Go(func() {
				_, err := c.Take(context.Background(), "a", 1)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			})
			time.Sleep(time.Millisecond)
		}
		work.Wait()
		slow = false
		_, err = c.Take(context.Background(), "b", 1)
		require.NoError(t, err)
		require.NoError(t, c.Close())
	})
}

// TestCloseGivesEverythingBackAfterAnOutage: the store is then tried by one, and there are many.
func TestCloseGivesEverythingBackAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store := context.Background(), &fakeStore{left: 1000}
		fails := false
		store.before = func(context.Context, string) error {
			time.Sleep(time.Millisecond)
			if fails {
				return errors.New("refused")
			}
			return nil
		}
		c := redislimit.NewWith(store, window(1000, time.Hour), redislimit.WithLease(5, time.Hour))
		for i := range 2 * 100 {
			_, err := c.Take(ctx, strconv.Itoa(i%100), 1)
			require.NoError(t, err)
		}
		fails = true
		_, err := c.Take(ctx, "other", 1)
		for !errors.Is(err, redislimit.ErrUnavailable) {
			require.Error(t, err)
			_, err = c.Take(ctx, "other", 1)
		}
		fails = false
		time.Sleep(time.Second)
		require.NoError(t, c.Close())
		require.Equal(t, 800, store.left)
	})
}

// TestWhatIsIdleIsGivenBackOnce: what was asked for lately, or is being fetched, is not; and what
// was denied because of it is asked for anew.
func TestWhatIsIdleIsGivenBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store := context.Background(), &fakeStore{left: 12}
		c := redislimit.NewWith(store, window(100, time.Hour), redislimit.WithLease(5, time.Second), redislimit.WithDenyCache(10), redislimit.WithTimeout(time.Minute))
		take := func(key string, n int) bool {
			d, err := c.Take(ctx, key, n)
			require.NoError(t, err)
			return d.Allowed
		}
		is := func(left, refunds int) {
			store.mu.Lock()
			defer store.mu.Unlock()
			require.Equal(t, left, store.left)
			require.Equal(t, refunds, store.refunds)
		}
		for _, key := range []string{"a", "a", "b", "b"} { // each has four then
			require.True(t, take(key, 1))
		}
		is(0, 0)
		for range 2 {
			require.False(t, take("a", 6))
		}
		require.EqualValues(t, 1, c.Stats().Local, "the second")
		time.Sleep(900 * time.Millisecond)
		require.True(t, take("a", 1))
		time.Sleep(600 * time.Millisecond)
		is(4, 4) // b's
		time.Sleep(time.Second)
		is(4+3, 4+3)
		local := c.Stats().Local
		require.True(t, take("a", 6), "something was given back since")
		require.Equal(t, local, c.Stats().Local)
		time.Sleep(time.Minute)
		is(1, 4+3)
		store.mu.Lock()
		store.left = 3
		store.mu.Unlock()

		require.True(t, take("a", 1))
		store.before = func(context.Context, string) error { time.Sleep(10 * time.Second); return nil }
		require.True(t, take("a", 1)) // which is long idle, and fetching
		is(0, 4+3)
		require.NoError(t, c.Close())
		is(1, 4+3+1)
		require.NoError(t, c.Close())
		time.Sleep(time.Minute)
		is(1, 4+3+1)
	})
}

// TestCloseSaysThatItCouldNotGiveBack: it is used then.
func TestCloseSaysThatItCouldNotGiveBack(t *testing.T) {
	ctx, store := context.Background(), &fakeStore{left: 12}
	c := redislimit.NewWith(store, window(100, time.Hour), redislimit.WithLease(5, time.Hour))
	for range 2 {
		_, err := c.Take(ctx, "a", 1)
		require.NoError(t, err)
	}
	store.before = func(context.Context, string) error { return refused{} }
	require.ErrorIs(t, c.Close(), refused{})
}

// TestPeekCountsWhatIsLeased: as Take does.
func TestPeekCountsWhatIsLeased(t *testing.T) {
	ctx := context.Background()
	for n := -1; n <= 8; n++ {
		for _, leased := range []int{0, 1, 4} {
			store := &fakeStore{left: 1 + leased}
			c := redislimit.NewWith(store, window(1000, time.Hour), redislimit.WithLease(5, time.Hour))
			if leased > 0 {
				_, err := c.Take(ctx, "a", 1)
				require.NoError(t, err)
				store.left = leased + 1
				_, err = c.Take(ctx, "a", 1)
				require.NoError(t, err)
				store.left = 1
			}
			peeked, err := c.Peek(ctx, "a", n)
			require.NoError(t, err)
			if n > 0 {
				d, err := c.Take(ctx, "a", n)
				require.NoError(t, err)
				require.Equal(t, d, peeked, "%d of %d and 1", n, leased)
			}
			require.NoError(t, c.Close())
		}
	}
}

// TestWhoHasGivenUpTakesNothing: not even what is leased, or what everybody is denied.
func TestWhoHasGivenUpTakesNothing(t *testing.T) {
	ctx, store := context.Background(), &fakeStore{left: 10}
	c := redislimit.NewWith(store, window(1000, time.Hour), redislimit.WithLease(5, time.Hour), redislimit.WithDenyCache(10), redislimit.WithFallback(redislimit.FailOpen))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for range 2 {
		_, err := c.Take(ctx, "a", 1)
		require.NoError(t, err)
	}
	_, err := c.Take(ctx, "a", 20)
	require.NoError(t, err)
	for _, n := range []int{1, 20} {
		_, err = c.Take(gone, "a", n)
		require.ErrorIs(t, err, context.Canceled)
	}
	stats := c.Stats()
	require.EqualValues(t, 3, stats.Allowed+stats.Denied)
	require.NoError(t, c.Close())
	require.Equal(t, 8, store.left)
}

// TestCloseGivesBackManyAtATime.
func TestCloseGivesBackManyAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, store := context.Background(), &fakeStore{left: 100_000}
		c := redislimit.NewWith(store, window(100_000, time.Hour), redislimit.WithLease(5, time.Hour))
		for i := range 2 * 1000 {
			_, err := c.Take(ctx, strconv.Itoa(i%1000), 1)
			require.NoError(t, err)
		}
		store.before = func(context.Context, string) error { time.Sleep(time.Millisecond); return nil }
		began := time.Now()
		require.NoError(t, c.Close())
		require.LessOrEqual(t, time.Since(began), 40*time.Millisecond)
		require.Equal(t, 98_000, store.left)
	})
}

// TestALeaseOfNoLimitDoesNotOverflow.
func TestALeaseOfNoLimitDoesNotOverflow(t *testing.T) {
	c := redislimit.New(redistest.Start(t).Client(), weir.TokenBucket(weir.Unlimited()), redislimit.WithLease(5, time.Minute), redislimit.WithTimeout(generous))
	for range 10 {
		d, err := c.Take(context.Background(), "a", 1)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.Positive(t, d.Remaining)
	}
	require.NoError(t, c.Close())
}

// TestInstancesWithLeasesExceedTheLimitByTheirLeases and no more: that much at once, if
// they were granted before.
func TestInstancesWithLeasesExceedTheLimitByTheirLeases(t *testing.T) {
	t.Parallel()
	const instances, n = 4, 20
	ctx, client, p := context.Background(), redistest.Start(t).Client(), bucket(100, time.Second)
	var clients []*redislimit.PerClient
	for range instances {
		c := redislimit.New(client, p, redislimit.WithLease(n, time.Hour), redislimit.WithTimeout(generous))
		clients = append(clients, c)
		for range 2 { // the second has twenty leased
			ok, err := c.Allow(ctx, "a")
			require.NoError(t, err)
			require.True(t, ok)
		}
	}
	plain := redislimit.New(client, p, redislimit.WithTimeout(generous))
	require.Eventually(t, func() bool {
		d, err := plain.Peek(ctx, "a", 100)
		return err == nil && d.Allowed
	}, generous, time.Millisecond)
	admitted, began := 0, time.Now()
	for _, c := range clients {
		for ok := true; ok; {
			var err error
			ok, err = c.Allow(ctx, "a")
			require.NoError(t, err)
			if ok {
				admitted++
			}
		}
	}
	took := time.Since(began)
	t.Logf("admitted %d in %v: MaxWithin is %d", admitted, took, p.MaxWithin(took))
	require.GreaterOrEqual(t, admitted, 100+instances*(n-1))
	require.LessOrEqual(t, admitted, p.MaxWithin(took)+instances*n)
	for _, c := range clients {
		require.NoError(t, c.Close())
	}
}

// TestLeasesKeepToTheirBoundInEverySpan: of a fleet that asks in bursts.
func TestLeasesKeepToTheirBoundInEverySpan(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		const instances, n = 4, 20
		create := connect(redistest.Start(t).Addr)
		var mu sync.Mutex
		var instants []time.Duration
		var slowest time.Duration
		var work sync.WaitGroup
		began := time.Now()
		for i := range instances {
			c := create(busy, redislimit.WithLease(n, 30*time.Millisecond), redislimit.WithTimeout(generous))
			t.Cleanup(func() { _ = c.Close() })
			for g := range 2 {
				work.Go(func() {
					r := rand.New(rand.NewPCG(uint64(i), uint64(g)))
					for time.Since(began) < 1500*time.Millisecond {
						asked := time.Since(began)
						ok, err := c.Allow(context.Background(), "a")
						now := time.Since(began)
						mu.Lock()
						if err == nil && ok {
							instants = append(instants, now)
						}
						slowest = max(slowest, now-asked)
						mu.Unlock()
						if r.IntN(50) == 0 {
							time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
						} else if !ok {
							time.Sleep(time.Millisecond)
						}
					}
				})
			}
		}
		work.Wait()
		slices.Sort(instants)
		most := 0
		for i, from := range instants {
			for j := i; j < len(instants); j += 3 {
				span := instants[j] - from + slowest // the server's instants may lie that much earlier
				most = max(most, j-i+1-busy.MaxWithin(span))
			}
		}
		t.Logf("admitted %d in %v, and in no span more than %d above MaxWithin", len(instants), instants[len(instants)-1], most)
		require.LessOrEqual(t, most, instances*n)
		require.NotEmpty(t, instants)
	})
}
