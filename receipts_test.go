package weir_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// What is given back was taken by the key as it is now: not by one that was reset, or forgotten for others.
func TestAReceiptDiesWithItsKey(t *testing.T) {
	for _, overflow := range []weir.Overflow{weir.EvictFullest, weir.DenyNew, weir.ShareOverflow} {
		clock := weir.NewManualClock()
		clients := newClients[int](t, weir.TokenBucket(weir.PerHour(10)), clock, weir.WithMaxClients(1, overflow))
		var receipts []weir.Reservation
		for range 5 {
			receipts = append(receipts, clients.Reserve(1, 10))
			clients.Reset(1)
			require.True(t, clients.Allow(2), "1 is full and makes room")
			clients.Refund(2, 1)
		}
		require.True(t, clients.AllowN(1, 10))
		for _, r := range receipts {
			r.Settle(0)
		}
		require.False(t, clients.Allow(1))
	}
}

func TestAResetVoidsReceiptsOfEveryAlgorithm(t *testing.T) {
	for _, p := range perTenSeconds() {
		limiter := weir.New(p, weir.WithClock(weir.NewManualClock()))
		r := limiter.Reserve(10)
		limiter.Refund(10)
		limiter.Reset()
		require.True(t, limiter.AllowN(10))
		r.Settle(0)
		require.Zero(t, limiter.Tokens(), "%v", p)
	}
}

func TestAResetKeepsWhatItLaysOut(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), clock)
	require.True(t, clients.AllowN("k", 10))
	first, second := clients.Reserve("k", 10), clients.Reserve("k", 10)
	first.Cancel()
	clock.Advance(15 * time.Second)
	clients.Reset("k")
	require.Zero(t, second.Delay())
	require.False(t, clients.Allow("k"))
}

// One that belongs to a key of its own stays with that key's lock, wherever the key would go now.
func TestAReceiptOfAKeyThatSharesByNow(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[int](t, weir.TokenBucket(weir.PerHour(1000)), clock, weir.WithMaxClients(1, weir.ShareOverflow))
	r := clients.Reserve(1, 1)
	clock.Advance(time.Hour)
	require.Equal(t, 1, clients.Sweep())
	require.True(t, clients.Allow(2) && clients.Allow(3))
	var group sync.WaitGroup
	group.Go(func() { r.Settle(2) })
	group.Go(func() { r.Delay() })
	group.Go(func() { r.Settle(2) })
	group.Wait()
	require.Equal(t, 998, clients.Tokens(3), "one more was charged, once")
}

func TestRefundOfWhatIsShared(t *testing.T) {
	clients := newClients[int](t, weir.TokenBucket(weir.PerHour(10)), weir.NewManualClock(), weir.WithMaxClients(1, weir.ShareOverflow))
	require.True(t, clients.Allow(1) && clients.AllowN(2, 10))
	clients.Refund(2, 5)
	require.Equal(t, 5, clients.Tokens(2))

	// So it is while there is room again, as it is owed for still.
	clients = weir.NewPerClient[int](weir.TokenBucket(weir.PerHour(10)), weir.WithMaxClients(1, weir.ShareOverflow))
	defer clients.Close()
	require.True(t, clients.Allow(1) && clients.AllowN(2, 10))
	clients.Reset(1)
	require.Zero(t, clients.Len())
	clients.Refund(2, 5)
	require.Equal(t, 5, clients.Tokens(2))
}

// Whoever waits for a key that others pushed out has waited all the same.
func TestWaitForAKeyThatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := weir.NewPerClient[int](weir.TokenBucket(weir.PerHour(1)), weir.WithMaxClients(1, weir.EvictFullest))
		defer clients.Close()
		begin := time.Now()
		require.True(t, clients.Allow(1))
		ctx, cancel := context.WithCancel(t.Context())
		left, waited := make(chan error, 1), make(chan time.Duration, 1)
		go func() { left <- clients.Wait(ctx, 1) }()
		synctest.Wait()
		go func() {
			if clients.Wait(t.Context(), 1) == nil {
				waited <- time.Since(begin)
			}
		}()
		synctest.Wait()
		require.True(t, clients.Allow(2))
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		require.Equal(t, 2*time.Hour, <-waited)
	})
}

// What is cancelled does not bring a key from its plan to a smaller limit.
func TestACancelledReservationLeavesThePlan(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.TokenBucket(weir.PerHour(5)), clock)
	pro := weir.SlidingWindow(weir.PerHour(50))
	admitted := 0
	for range 10 {
		for clients.AllowAs("k", pro) {
			admitted++
		}
		r := clients.Reserve("k", 1)
		require.Positive(t, r.Delay())
		r.Cancel()
	}
	require.Equal(t, 50, admitted)

	first, second := clients.Reserve("k", 1), clients.Reserve("k", 1)
	first.Cancel()
	clock.Advance(second.Delay())
	require.Equal(t, 1, clients.Tokens("k"), "3 of 5 owed and one more, as the second was not cancelled")
}

func TestAReservationIsAsSoonAsTakeSaid(t *testing.T) {
	clock := weir.NewManualClock()
	clients := newClients[string](t, weir.SlidingWindow(weir.PerHour(2)), clock)
	require.True(t, clients.TakeAs("k", 50, weir.TokenBucket(weir.PerDay(100))).Allowed)
	require.Equal(t, time.Hour, clients.Take("k", 1).RetryAfter)
	clock.Advance(59 * time.Minute)
	require.Equal(t, time.Minute, clients.Peek("k", 1).RetryAfter)
	r := clients.ReserveWithin("k", 1, 5*time.Minute)
	require.NoError(t, r.Err())
	require.Equal(t, time.Minute, r.Delay())
}

func TestOneWaitIsOneDecision(t *testing.T) {
	for _, overflow := range []weir.Overflow{weir.DenyNew, weir.ShareOverflow} {
		synctest.Test(t, func(t *testing.T) {
			clients := weir.NewPerClient[int](weir.TokenBucket(weir.PerHour(1)), weir.WithMaxClients(1, overflow))
			defer clients.Close()
			require.True(t, clients.Allow(1))
			overflowed := uint64(1)
			if overflow == weir.ShareOverflow {
				require.True(t, clients.Allow(2))
				overflowed++
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.Error(t, clients.Wait(ctx, 3))
			require.Equal(t, overflowed, clients.Stats().Overflowed)
			require.EqualValues(t, 1, clients.Stats().Denied)
		})
	}
}

func TestChargesBeyondAllBounds(t *testing.T) {
	clock := weir.NewManualClock()
	limiter := weir.New(weir.SlidingCounter(weir.PerHour(10)), weir.WithClock(clock))
	for range 2 {
		limiter.Charge(math.MaxInt)
		limiter.Charge(math.MaxInt)
		clock.Advance(time.Hour)
	}
	require.NoError(t, limiter.SetPolicy(weir.TokenBucket(weir.PerHour(10))))
	require.False(t, limiter.Allow())
}

func TestAPolicyThatIsTooWideIsRefused(t *testing.T) {
	parts := make([]weir.Policy, 66_000)
	for i := range parts {
		parts[i] = weir.TokenBucket(weir.PerSecond(1))
	}
	clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(1)), weir.NewManualClock())
	require.EqualError(t, clients.SetPolicy(weir.All(parts...)), "weir: all with a state of more than 16384 words: leave out some of its parts")
	require.True(t, clients.Allow(1))
}

// brokenClock panics, or sleeps badly, when it is told to.
type brokenClock struct {
	*weir.ManualClock
	panics bool
	sleep  func() error
}

func (c *brokenClock) Now() time.Duration {
	if c.panics {
		panic("no time")
	}
	return c.ManualClock.Now()
}

func (c *brokenClock) SleepUntil(ctx context.Context, t time.Duration) error {
	if c.sleep == nil {
		return c.ManualClock.SleepUntil(ctx, t)
	}
	return c.sleep()
}

func TestAClockThatPanicsInSetPolicy(t *testing.T) {
	clock := &brokenClock{ManualClock: weir.NewManualClock()}
	clients := newClients[int](t, weir.TokenBucket(weir.PerHour(1)), clock, weir.WithMaxClients(1, weir.ShareOverflow))
	require.True(t, clients.Allow(1) && clients.Allow(2))
	clock.panics = true
	require.Panics(t, func() { _ = clients.SetPolicy(weir.TokenBucket(weir.PerHour(1000))) })
	clock.panics = false
	require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.PerHour(1000))))
	require.Equal(t, []int{1000, 1000}, []int{clients.Peek(1, 0).Limit, clients.Peek(2, 0).Limit})
}

func TestAClockThatFailsToSleep(t *testing.T) {
	clock := &brokenClock{ManualClock: weir.NewManualClock()}
	limiter := weir.New(weir.TokenBucket(weir.PerHour(1)), weir.WithClock(clock))
	require.True(t, limiter.Allow())
	broken := errors.New("broken")
	clock.sleep = func() error { return broken }
	require.ErrorIs(t, limiter.Wait(t.Context()), broken)
	clock.sleep = func() error { panic("broken") }
	require.Panics(t, func() { _ = limiter.Wait(t.Context()) })
	require.Zero(t, limiter.Stats().Waiting)
	require.Equal(t, time.Hour, limiter.Peek(1).RetryAfter)
}

// Refunds of keys that nobody has a receipt for leave nothing to walk through.
func TestRefundsLeaveNothingBehind(t *testing.T) {
	limiter := weir.New(weir.TokenBucket(weir.PerDay(1_000_000)))
	require.True(t, limiter.AllowN(500_000))
	limiter.Reserve(1).Settle(1)
	for range 20_000 {
		limiter.Refund(1)
		require.True(t, limiter.AllowN(2))
	}
	require.InDelta(t, 480_000, limiter.Tokens(), 1000)
}

// A bucket that owes all that it may takes less than n: that is all that Settle gives back.
func TestAReceiptGivesBackNoMoreThanWasTaken(t *testing.T) {
	bucket := weir.TokenBucket(weir.PerDay(1).WithBurst(10))
	for _, p := range []weir.Policy{bucket, weir.All(bucket, weir.TokenBucket(weir.Every(23*time.Hour).WithBurst(10)))} {
		clock := weir.NewManualClock()
		l := weir.New(p, weir.WithClock(clock))
		require.True(t, l.AllowN(10))
		r := l.Reserve(10)
		clock.Advance(r.Delay() - time.Hour)
		l.Charge(10_000)
		clock.Advance(time.Hour)
		require.Equal(t, 9000*time.Hour, l.Peek(10).RetryAfter)
		r.Settle(0)
		require.Equal(t, 8999*time.Hour, l.Peek(10).RetryAfter)
	}
}

// What a sweep finds to be over stays so when the clock steps back.
func TestASweptReceiptGivesNothingBack(t *testing.T) {
	clock := &setClock{}
	clients := newClients[int](t, weir.SlidingWindow(weir.Per(10, 10*time.Second)), clock)
	r := clients.Reserve(1, 5)
	clients.Reset(1)
	clock.now = int64(11 * time.Second)
	clients.Sweep()
	clock.now = 0
	require.True(t, clients.AllowN(1, 10))
	r.Settle(0)
	require.Zero(t, clients.Tokens(1))
}

// A key that is full is kept for as long as it is to be, whoever has looked at its receipt.
func TestALookKeepsWithStaleAfter(t *testing.T) {
	onClocks(t, func(t *testing.T, clock bench) {
		clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(100)), clock, weir.WithStaleAfter(time.Hour))
		r := clients.Reserve(1, 1)
		clock.advance(20 * time.Millisecond)
		require.Zero(t, r.Delay())
		require.Zero(t, clients.Sweep())
		clock.advance(time.Hour - 10*time.Millisecond - 1)
		require.Zero(t, clients.Sweep())
		clock.advance(1)
		require.Equal(t, 1, clients.Sweep())
	})
}

// Clients that are forgotten for others leave nothing behind, whatever receipts there are for them.
func TestReceiptsOfTheForgottenAreForgotten(t *testing.T) {
	const held, all = 64, 3_000
	clients := newClients[int](t, weir.SlidingWindow(weir.PerHour(100)), weir.NewManualClock(), weir.WithMaxClients(held, weir.EvictFullest))
	layers := weir.NewLayers(weir.By(clients, func(key int) (int, bool) { return key, true }))
	use := func(from int) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for key := from; key < from+all; key++ {
			_, err := layers.Hold(t.Context(), key, 1)
			require.NoError(t, err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc
	}
	use(0)
	require.Less(t, use(all), uint64(all*8), "not 8 bytes a key")
	runtime.KeepAlive(layers)
}
