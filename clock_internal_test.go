package weir

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAnAlarmThatIsStoppedDoesNotRing: where it was stopped in time. One that is not stopped does.
func TestAnAlarmThatIsStoppedDoesNotRing(t *testing.T) {
	coarse := NewCoarseClock(time.Hour)
	defer coarse.Close()
	for _, clock := range []alarmer{systemClock{}, coarse} {
		for delay := time.Millisecond; ; delay *= 2 {
			rang, later := make(chan struct{}), make(chan struct{})
			start := time.Now()
			stop := clock.afterFunc(delay, func() { close(rang) })
			stop()
			if time.Since(start) >= delay {
				continue // it may have been due before
			}
			clock.afterFunc(2*delay, func() { close(later) })
			<-later
			select {
			case <-rang:
				t.Errorf("%T: rang after %v although it was stopped", clock, delay)
			default:
			}
			break
		}
	}
}

// TestAnAlarmOfABubbleIsLeftToIt: to stop it is allowed, from outside too.
func TestAnAlarmOfABubbleIsLeftToIt(t *testing.T) {
	var stop func()
	synctest.Test(t, func(*testing.T) {
		stop = systemClock{}.afterFunc(time.Second, func() {})
		time.Sleep(2 * time.Second)
	})
	stop()
}

// TestACoarseClockStandsStillBetweenItsTicks: until it is closed.
func TestACoarseClockStandsStillBetweenItsTicks(t *testing.T) {
	c := NewCoarseClock(24 * time.Hour)
	reading := c.Now()
	for range 3 {
		require.Equal(t, reading, c.Now())
	}
	require.NoError(t, c.Close())
	select {
	case <-c.ended:
	default:
		t.Error("closed before its ticker has ended")
	}
	for range 3 {
		before := SystemClock().Now()
		require.GreaterOrEqual(t, c.Now(), before)
	}
	require.Greater(t, c.Now(), reading)
	require.NoError(t, NewCoarseClock(1).Close(), "the least resolution there is")
}

// TestAClosedCoarseClockWakesOnTime: not a quarter of a resolution later.
func TestAClosedCoarseClockWakesOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCoarseClock(time.Second)
		require.NoError(t, c.Close())
		begin := c.Now()
		require.NoError(t, c.SleepUntil(t.Context(), begin+time.Minute))
		require.Equal(t, time.Minute, c.Now()-begin)
	})
}

// TestADoneContextIsAnErrorWhateverTheTime: although there is nothing to wait for.
func TestADoneContextIsAnErrorWhateverTheTime(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []Clock{SystemClock(), NewManualClock()} {
		require.ErrorIs(t, c.SleepUntil(ctx, c.Now()-time.Hour), context.Canceled)
		require.ErrorIs(t, c.SleepUntil(ctx, c.Now()+time.Hour), context.Canceled)
	}
}

// TestAnAlarmIsNoSleeper: BlockUntil does not count it, whether it rings or is stopped.
func TestAnAlarmIsNoSleeper(t *testing.T) {
	c := NewManualClock()
	var at []time.Duration
	c.afterFunc(3, func() { at = append(at, c.Now()) })
	stop := c.afterFunc(5, func() { t.Error("it was stopped") })
	require.Zero(t, c.sleepers)
	stop()
	stop()
	require.Zero(t, c.sleepers)
	c.Advance(10)
	require.Equal(t, []time.Duration{3}, at, "it rings at its instant, not at that which the clock goes to")
	require.Zero(t, c.sleepers)

	slept := &event{at: 20, wake: make(chan struct{})}
	c.addLocked(slept)
	require.Equal(t, 1, c.sleepers)
	require.True(t, c.remove(slept))
	require.Zero(t, c.sleepers)
	require.False(t, c.remove(slept))
	require.Zero(t, c.sleepers)
}

// TestAnAlarmThatIsSetAgainRingsOnceMore: not once for each of its periods.
func TestAnAlarmThatIsSetAgainRingsOnceMore(t *testing.T) {
	c := NewManualClock()
	var at []time.Duration
	var ring func()
	ring = func() {
		if at = append(at, c.Now()); len(at) < 10 {
			c.afterFunc(1, ring)
		}
	}
	c.afterFunc(1, ring)
	c.Advance(100)
	require.Equal(t, []time.Duration{1, 100}, at)
	c.Advance(100)
	require.Equal(t, []time.Duration{1, 100, 101, 200}, at)
}
