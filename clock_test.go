package weir_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// steppingClock reads what the test sets, forwards or back. Nothing sleeps on it.
type steppingClock struct{ reading atomic.Int64 }

func newSteppingClock(t time.Duration) *steppingClock {
	c := &steppingClock{}
	c.set(t)
	return c
}

func (c *steppingClock) Now() time.Duration      { return time.Duration(c.reading.Load()) }
func (c *steppingClock) set(t time.Duration)     { c.reading.Store(int64(t)) }
func (c *steppingClock) advance(d time.Duration) { c.reading.Add(int64(d)) }

func (c *steppingClock) SleepUntil(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// spanClock remembers the least and the greatest reading it gave.
type spanClock struct {
	weir.Clock
	mu              sync.Mutex
	read            bool
	least, greatest time.Duration
}

func (c *spanClock) Now() time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.read {
		c.read, c.least, c.greatest = true, now, now
	}
	c.least, c.greatest = min(c.least, now), max(c.greatest, now)
	return now
}

// goroutinesOfWeir counts the goroutines that the package itself started and that still run.
func goroutinesOfWeir() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "created by github.com/goweir/weir.")
}

// requireNoGoroutineOfWeir gives goroutines that are about to end the time to do so.
func requireNoGoroutineOfWeir(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return goroutinesOfWeir() == 0 }, 10*time.Second, time.Millisecond)
}

func TestSystemClockReadsUnixTime(t *testing.T) {
	clock := weir.SystemClock()
	before := time.Now()
	now := clock.Now()
	after := time.Now()
	// The wall clock may be set while the test runs; what is read does not follow it.
	require.GreaterOrEqual(t, now, time.Duration(before.UnixNano())-time.Minute)
	require.LessOrEqual(t, now, time.Duration(after.UnixNano())+time.Minute)
	require.Equal(t, time.Now().Year(), time.Unix(0, int64(now)).Year())
}

func TestSystemClockNeverStepsBack(t *testing.T) {
	clock := weir.SystemClock()
	var goroutines sync.WaitGroup
	var steppedBack atomic.Int64
	for range 8 {
		goroutines.Go(func() {
			last := clock.Now()
			for range 20_000 {
				now := clock.Now()
				if now < last {
					steppedBack.Add(1)
				}
				last = now
			}
		})
	}
	goroutines.Wait()
	require.Zero(t, steppedBack.Load())
}

func TestSystemClocksAreOne(t *testing.T) {
	first := weir.SystemClock().Now()
	second := weir.SystemClock().Now()
	third := weir.SystemClock().Now()
	require.LessOrEqual(t, first, second)
	require.LessOrEqual(t, second, third)
}

func TestSystemClockSleepUntil(t *testing.T) {
	clock := weir.SystemClock()
	until := clock.Now() + 2*time.Millisecond
	require.NoError(t, clock.SleepUntil(context.Background(), until))
	require.GreaterOrEqual(t, clock.Now(), until)
	require.NoError(t, clock.SleepUntil(context.Background(), clock.Now()-time.Hour), "an instant that has passed")
	require.NoError(t, clock.SleepUntil(context.Background(), -1<<63), "the first instant there is")
}

func TestSleepUntilEndsWithItsContext(t *testing.T) {
	coarse := weir.NewCoarseClock(time.Millisecond)
	defer coarse.Close()
	for name, clock := range map[string]weir.Clock{
		"system": weir.SystemClock(), "coarse": coarse, "manual": weir.NewManualClock(),
	} {
		t.Run(name, func(t *testing.T) {
			const never = 1<<63 - 1 // a sleep of which no timer may make a short one
			for _, until := range []time.Duration{clock.Now() + time.Hour, never} {
				done, cancel := context.WithCancel(context.Background())
				cancel()
				require.ErrorIs(t, clock.SleepUntil(done, until), context.Canceled)

				asleep, cancel := context.WithCancel(context.Background())
				result := make(chan error)
				go func() { result <- clock.SleepUntil(asleep, until) }()
				cancel()
				require.ErrorIs(t, <-result, context.Canceled)

				late, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				require.ErrorIs(t, clock.SleepUntil(late, until), context.DeadlineExceeded)
				cancel()
			}
		})
	}
}

func TestCoarseClock(t *testing.T) {
	clock := weir.NewCoarseClock(time.Millisecond)
	last := clock.Now()
	require.InDelta(t, float64(weir.SystemClock().Now()), float64(last), float64(time.Minute))
	for range 50_000 {
		now := clock.Now()
		require.True(t, now >= last && now <= weir.SystemClock().Now())
		last = now
	}
	// Readings move on without anybody's help.
	require.Eventually(t, func() bool { return clock.Now() > last }, 10*time.Second, 100*time.Microsecond)
	until := clock.Now() + 3*time.Millisecond
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, clock.SleepUntil(soon, until))
	require.GreaterOrEqual(t, clock.Now(), until, "whoever slept until an instant reads no earlier one")

	clock.Close()
	clock.Close()
	requireNoGoroutineOfWeir(t)
	require.GreaterOrEqual(t, clock.Now(), last, "a closed clock does not step back")
}

func TestCoarseClockRefusesAResolutionThatMakesNoSense(t *testing.T) {
	for _, resolution := range []time.Duration{0, -time.Millisecond} {
		text := panicText(t, func() { weir.NewCoarseClock(resolution) })
		require.Regexp(t, `^weir: .+ .+`, text)
		require.Contains(t, text, resolution.String())
	}
	require.Zero(t, goroutinesOfWeir())
}

func TestLimiterOnACoarseClock(t *testing.T) {
	clock := weir.NewCoarseClock(time.Millisecond)
	defer clock.Close()
	limiter := weir.New(weir.TokenBucket(weir.PerHour(3)), weir.WithClock(clock))
	require.True(t, limiter.AllowN(3))
	d := limiter.Take(1)
	require.False(t, d.Allowed)
	require.Positive(t, d.RetryAfter)
	require.LessOrEqual(t, d.RetryAfter, 20*time.Minute)
}

func TestManualClockMovesByHand(t *testing.T) {
	clock := weir.NewManualClock()
	require.Zero(t, clock.Now())
	clock.Advance(3 * time.Second)
	require.Equal(t, 3*time.Second, clock.Now())
	clock.Advance(0)
	require.Equal(t, 3*time.Second, clock.Now())
	clock.Advance(-5 * time.Second)
	require.Equal(t, -2*time.Second, clock.Now())
	clock.Advance(30 * year)
	require.Equal(t, 30*year-2*time.Second, clock.Now())
	require.NoError(t, clock.SleepUntil(context.Background(), clock.Now()), "an instant that is there")
	require.NoError(t, clock.SleepUntil(context.Background(), -time.Hour), "an instant that has passed")
	clock.BlockUntil(0)
}

func TestManualClocksAreIndependent(t *testing.T) {
	one, other := weir.NewManualClock(), weir.NewManualClock()
	one.Advance(time.Second)
	require.Zero(t, other.Now())
}

func TestManualClockWakesSleepersInTheOrderOfTheirInstants(t *testing.T) {
	clock := weir.NewManualClock()
	woke := make(chan int, 3)
	for _, ms := range []int{30, 10, 20} {
		go func() {
			if clock.SleepUntil(context.Background(), time.Duration(ms)*time.Millisecond) == nil {
				woke <- ms
			}
		}()
	}
	clock.BlockUntil(3)
	clock.Advance(10*time.Millisecond - 1)
	clock.BlockUntil(3) // nobody yet
	clock.Advance(1)
	require.Equal(t, 10, <-woke)
	clock.BlockUntil(2)
	require.Empty(t, woke)
	clock.Advance(10 * time.Millisecond)
	require.Equal(t, 20, <-woke)
	clock.BlockUntil(1)
	require.Empty(t, woke)
	clock.Advance(time.Hour)
	require.Equal(t, 30, <-woke)
}

func TestManualClockWakesAllThatAreDue(t *testing.T) {
	const sleepers = 100
	clock := weir.NewManualClock()
	var early atomic.Int64
	var asleep sync.WaitGroup
	for i := range sleepers {
		asleep.Go(func() {
			until := time.Duration(i%10) * time.Second
			if err := clock.SleepUntil(context.Background(), until); err != nil || clock.Now() < until {
				early.Add(1)
			}
		})
	}
	clock.BlockUntil(sleepers - sleepers/10) // those of instant 0 do not sleep
	clock.Advance(9 * time.Second)
	asleep.Wait()
	require.Zero(t, early.Load())
}

func TestManualClockSteppingBackWakesNobody(t *testing.T) {
	clock := weir.NewManualClock()
	result := make(chan error, 1)
	go func() { result <- clock.SleepUntil(context.Background(), 10*time.Millisecond) }()
	clock.BlockUntil(1)
	clock.Advance(9 * time.Millisecond)
	clock.Advance(-9 * time.Millisecond)
	clock.Advance(9 * time.Millisecond)
	clock.BlockUntil(1)
	require.Empty(t, result)
	clock.Advance(time.Millisecond)
	require.NoError(t, <-result)
}

func TestManualClockForgetsACancelledSleeper(t *testing.T) {
	clock := weir.NewManualClock()
	ctx, cancel := context.WithCancel(context.Background())
	cancelled, stayed := make(chan error, 1), make(chan error, 1)
	go func() { cancelled <- clock.SleepUntil(ctx, time.Second) }()
	clock.BlockUntil(1)
	cancel()
	require.True(t, errors.Is(<-cancelled, context.Canceled))

	// Two must be asleep, and the cancelled one is not one of them.
	go func() { stayed <- clock.SleepUntil(context.Background(), time.Second) }()
	blocked := make(chan struct{})
	go func() { clock.BlockUntil(2); close(blocked) }()
	clock.BlockUntil(1)
	select {
	case <-blocked:
		t.Fatal("BlockUntil counts a sleeper that has left")
	default:
	}
	go func() { _ = clock.SleepUntil(context.Background(), 2*time.Second) }()
	<-blocked
	clock.Advance(2 * time.Second)
	require.NoError(t, <-stayed)
}

func TestWhoeverAManualClockWokeWasNotCancelled(t *testing.T) {
	clock := weir.NewManualClock()
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		until := clock.Now() + time.Second
		go func() { result <- clock.SleepUntil(ctx, until) }()
		clock.BlockUntil(1)
		clock.Advance(time.Second)
		cancel()
		require.NoError(t, <-result)
	}
}

// Whoever sleeps until an instant that an Advance has not reached yet is not woken by its context: not
// even while a sweep before that instant runs.
func TestManualClockWakesNobodyEarlyBesideASweep(t *testing.T) {
	clock := &hookedClock{ManualClock: weir.NewManualClock()}
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock), weir.WithSweepEvery(time.Second))
	defer clients.Close()
	for _, until := range []time.Duration{time.Second + 1, 2 * time.Second, 3 * time.Second} {
		require.True(t, clients.Allow("alice"))
		until += clock.Now()
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- clock.SleepUntil(ctx, until) }()
		clock.BlockUntil(1)
		swept := false
		clock.before = func() { // in the sweep, a second on
			swept = true
			cancel()
			require.ErrorIs(t, <-result, context.Canceled)
			require.Less(t, clock.ManualClock.Now(), until)
		}
		clock.Advance(3 * time.Second)
		require.True(t, swept)
		require.Zero(t, clients.Len())
	}
}

func TestThirtyIdleYears(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for _, began := range []time.Duration{0, 56 * year, -250 * year, 220 * year} {
			clock := newSteppingClock(began)
			limiter, clients := weir.New(k.policy, weir.WithClock(clock)), newClients[string](t, k.policy, clock)
			for range 3 {
				require.Equal(t, k.atOnce, drain(limiter.Allow))
				require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
				clock.advance(10 * year)
			}
			clock.advance(30 * year)
			require.Equal(t, k.perTake, limiter.Tokens())
			require.Equal(t, limiter.Peek(1), clients.Peek("alice", 1))
		}
	})
}

func TestEveryReadingIsLegal(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		const first, last = -1 << 63, 1<<63 - 1
		clock := newSteppingClock(first)
		limiter, clients := weir.New(k.policy, weir.WithClock(clock)), newClients[string](t, k.policy, clock)
		for i, reading := range []time.Duration{first, first + 10*year, -1, last - year, last, first, last} {
			clock.set(reading)
			want := k.atOnce
			if i > 4 {
				want = 0 // all was spent at the last instant there is
			}
			require.Equal(t, want, drain(limiter.Allow), "%v", reading)
			require.Equal(t, want, drain(func() bool { return clients.Allow("alice") }), "%v", reading)
			d := limiter.Take(1)
			require.False(t, d.Allowed)
			require.Positive(t, d.RetryAfter)
			require.GreaterOrEqual(t, d.ResetAfter, time.Duration(0))
			clients.Sweep()
		}
	})
}

func TestSteppingBackMintsNothingAndHeals(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for _, back := range []time.Duration{1, time.Second, 8 * time.Hour, 30 * year, 200 * year} {
			clock := newSteppingClock(time.Hour)
			limiter := weir.New(k.policy, weir.WithClock(clock))
			require.Equal(t, k.atOnce, drain(limiter.Allow))
			there := limiter.Take(1)
			clock.advance(-back)
			d := limiter.Take(1)
			require.False(t, d.Allowed)
			require.Equal(t, there.RetryAfter+back, d.RetryAfter)
			clock.advance(d.RetryAfter - 1)
			require.False(t, limiter.Allow())
			clock.advance(1)
			require.True(t, limiter.Allow())
			clock.advance(time.Hour)
			require.Equal(t, k.atOnce, drain(limiter.Allow))
		}
	})
}

// doneByThen is a context that is done when it is waited for, which something else comes of as well.
type doneByThen struct {
	context.Context
	meanwhile func()
	done      bool
}

func (c *doneByThen) Err() error {
	if c.done {
		return context.Canceled
	}
	return nil
}

func (c *doneByThen) Done() <-chan struct{} {
	c.meanwhile()
	c.done = true
	done := make(chan struct{})
	close(done)
	return done
}

// Who is woken when the context is done has slept until then.
func TestManualClockThatIsThereWhenTheContextIsDone(t *testing.T) {
	for range 40 { // whether one or the other is seen first is chance
		clock := weir.NewManualClock()
		ctx := &doneByThen{Context: t.Context(), meanwhile: func() { clock.Advance(time.Second) }}
		require.NoError(t, clock.SleepUntil(ctx, clock.Now()+time.Second))
	}
}
