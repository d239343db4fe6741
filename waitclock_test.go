package weir_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// sleepClock has the test say what becomes of each sleep.
type sleepClock struct {
	now    time.Duration
	sleeps []func(ctx context.Context) error
	slept  []time.Duration // until when
}

func (c *sleepClock) Now() time.Duration { return c.now }

func (c *sleepClock) SleepUntil(ctx context.Context, t time.Duration) error {
	sleep := c.sleeps[len(c.slept)]
	c.slept = append(c.slept, t)
	return sleep(ctx)
}

func atOnce(context.Context) error { return nil }

// early makes a PerClient with a key that has waited for a clock that wakes too early.
func early(t *testing.T, p weir.Policy) (*sleepClock, *weir.PerClient[int]) {
	clock := &sleepClock{sleeps: []func(context.Context) error{atOnce}}
	clients := newClients[int](t, p, clock, weir.WithMaxClients(1, weir.EvictFullest))
	require.True(t, clients.Allow(1))
	require.NoError(t, clients.Wait(t.Context(), 1))
	require.Equal(t, []time.Duration{time.Second}, clock.slept)
	return clock, clients
}

func TestWaitThatIsWokenEarlyIsChargedAtItsInstant(t *testing.T) {
	for _, p := range []weir.Policy{weir.TokenBucket(weir.PerSecond(1)), weir.SlidingWindow(weir.PerSecond(1))} {
		clock, clients := early(t, p)
		require.Equal(t, 1, clients.Stats().Waiting)
		require.Equal(t, 2*time.Second, clients.Peek(1, 1).RetryAfter)
		next := clients.Reserve(1, 1)
		require.Equal(t, 2*time.Second, next.Delay())
		clock.now += time.Second
		require.Equal(t, time.Second, next.Delay())
		require.Equal(t, 2*time.Second, clients.Peek(1, 1).RetryAfter)
		clock.now += time.Second
		require.Zero(t, next.Delay())
		require.Equal(t, time.Second, clients.Peek(1, 1).RetryAfter)

		_, clients = early(t, p)
		require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.Per(1, 3*time.Second))))
		require.Positive(t, clients.Reserve(1, 1).Delay())
		require.Equal(t, 2, clients.Stats().Waiting)
		clients.Reset(1)

		_, clients = early(t, p)
		require.True(t, clients.Allow(2), "in the place of 1")
		require.Equal(t, 1, clients.Stats().Clients)
	}
}

func TestWaitSleepsAgainIfItsInstantHasMoved(t *testing.T) {
	clock := &sleepClock{}
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock))
	clock.sleeps = []func(context.Context) error{
		func(context.Context) error { return limiter.SetPolicy(weir.TokenBucket(weir.PerMinute(1))) },
		atOnce,
	}
	require.True(t, limiter.Allow())
	require.NoError(t, limiter.Wait(t.Context()))
	require.Equal(t, []time.Duration{time.Second, time.Minute}, clock.slept)
}

func TestWaitOfAKeyThatWasForgottenSleepsOn(t *testing.T) {
	clock := &sleepClock{}
	clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(1)), clock, weir.WithMaxClients(1, weir.EvictFullest))
	clock.sleeps = []func(context.Context) error{
		func(ctx context.Context) error {
			require.NoError(t, clients.SetPolicy(weir.TokenBucket(weir.PerMinute(1))))
			require.True(t, clients.Allow(2))
			<-ctx.Done()
			return ctx.Err()
		},
		atOnce,
	}
	require.True(t, clients.Allow(1))
	require.NoError(t, clients.Wait(t.Context(), 1))
	require.Equal(t, []time.Duration{time.Second, time.Minute}, clock.slept)
	require.False(t, clients.Allow(2), "it has its place still")
}

// The turn has come although the sleep fails: it was noticed, or it is that instant.
func TestWaitThatFailsAtItsTurnHasHadIt(t *testing.T) {
	broken := errors.New("the clock is broken")
	for name, sleep := range map[string]func(*sleepClock, *weir.PerClient[int]){
		"it is the instant": func(c *sleepClock, _ *weir.PerClient[int]) { c.now = time.Second },
		"of a key that was forgotten": func(c *sleepClock, clients *weir.PerClient[int]) {
			clients.Allow(2)
			c.now = time.Second
		},
		"it was noticed": func(c *sleepClock, clients *weir.PerClient[int]) {
			c.now = time.Second
			clients.Charge(1, 1)
			c.now = 0
		},
	} {
		clock := &sleepClock{}
		clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(1)), clock, weir.WithMaxClients(1, weir.EvictFullest))
		clock.sleeps = []func(context.Context) error{func(context.Context) error { sleep(clock, clients); return broken }}
		require.True(t, clients.Allow(1))
		require.NoError(t, clients.Wait(t.Context(), 1), name)
	}
}

// Each receipt is given back once.
func TestReservationsAfterAWaitAreNotOneAnothers(t *testing.T) {
	broken := errors.New("the clock is broken")
	for _, end := range []error{nil, broken} {
		clock := &sleepClock{}
		limiter := weir.New(weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock))
		clock.sleeps = []func(context.Context) error{func(context.Context) error {
			if end == nil {
				clock.now += time.Second
			}
			return end
		}}
		require.True(t, limiter.Allow())
		require.Equal(t, end, limiter.Wait(t.Context()))
		first, second := limiter.Reserve(1), limiter.Reserve(1)
		require.Equal(t, time.Second, first.Delay())
		require.Equal(t, 2*time.Second, second.Delay())
	}
}

// In shadow nobody waits, and those who reserve after it have a receipt each.
func TestReservationsAfterAWaitInShadowAreNotOneAnothers(t *testing.T) {
	limiter := weir.New(weir.TokenBucket(weir.PerHour(4)), weir.WithClock(&sleepClock{}), weir.WithShadow())
	require.True(t, limiter.AllowN(4))
	require.NoError(t, limiter.Wait(t.Context()))
	limiter.Refund(4)
	first, second := limiter.Reserve(2), limiter.Reserve(2)
	first.Settle(0)
	second.Settle(0)
	require.Equal(t, 4, limiter.Tokens())
}

// An instant after the last reading, or further off than 30 years, is none.
func TestReservationsUpToTheLastReading(t *testing.T) {
	second, minute, ages := weir.TokenBucket(weir.PerSecond(1)), weir.TokenBucket(weir.PerMinute(1)), weir.TokenBucket(weir.Every(30*year))
	for _, c := range []struct {
		left      time.Duration
		first     weir.Policy
		then      weir.Policy
		made, yet error
	}{
		{time.Second, second, second, nil, nil},
		{time.Second - 1, second, second, weir.ErrTooLong, weir.ErrTooLong},
		{time.Minute, second, minute, nil, nil},
		{time.Minute - 1, second, minute, nil, weir.ErrTooLong},
		{math.MaxInt64, second, ages, nil, nil},
		{math.MaxInt64, ages, ages.Named("another"), nil, nil},
	} {
		limiter := weir.New(c.first, weir.WithClock(&setClock{now: math.MaxInt64 - int64(c.left)}))
		require.True(t, limiter.Allow())
		r := limiter.Reserve(1)
		require.Equal(t, c.made, r.Err(), c)
		if c.made == nil {
			require.NoError(t, limiter.SetPolicy(c.then))
			require.Equal(t, c.yet, r.Err(), c)
		}
	}
}
