package weir

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// TestOneTimerHoweverManyComeAtOnce: each PerClient has one, also if its first clients come together.
func TestOneTimerHoweverManyComeAtOnce(t *testing.T) {
	clock := NewManualClock()
	for round := range 300 {
		c := NewPerClient[int](TokenBucket(PerHour(2)), WithClock(clock))
		var start, group sync.WaitGroup
		start.Add(1)
		for g := range 8 {
			group.Go(func() {
				start.Wait()
				c.Allow(g)
			})
		}
		start.Done()
		group.Wait()
		require.Len(t, clock.events, 1, "round %d", round)
		require.NoError(t, c.Close())
		require.Empty(t, clock.events)
	}
}

// TestArmingAtOnceSetsOneTimer: they all find none, and wait for one another to set it.
func TestArmingAtOnceSetsOneTimer(t *testing.T) {
	clock := NewManualClock()
	c := NewPerClient[int](TokenBucket(PerHour(2)), WithClock(clock)).clients
	var group sync.WaitGroup
	c.sweeper.mu.Lock()
	for range 4 {
		group.Go(func() { c.sweeper.arm(c) })
	}
	time.Sleep(2 * time.Millisecond)
	c.sweeper.mu.Unlock()
	group.Wait()
	require.Len(t, clock.events, 1)
}

// TestATimerThatRingsAsItIsStopped: after Close nothing is swept.
func TestATimerThatRingsAsItIsStopped(t *testing.T) {
	clock := NewManualClock()
	clients := NewPerClient[int](TokenBucket(PerHour(2)), WithClock(clock))
	require.True(t, clients.Allow(1))
	clock.now = time.Hour
	require.NoError(t, clients.Close())
	clients.clients.sweeper.ring(clients.clients)
	require.Equal(t, 1, clients.Len())
	require.Empty(t, clock.events)
}

// wokenAndDone is done at the moment when a ManualClock wakes who sleeps with it.
type wokenAndDone struct {
	context.Context
	clock *ManualClock
}

func (c wokenAndDone) Done() <-chan struct{} {
	c.clock.Advance(time.Second)
	done := make(chan struct{})
	close(done)
	return done
}

func TestWokenAndCancelledAtOnceIsWoken(t *testing.T) {
	clock := NewManualClock()
	for range 64 {
		require.NoError(t, clock.SleepUntil(wokenAndDone{context.Background(), clock}, clock.Now()+time.Second))
		require.Empty(t, clock.events)
		require.Zero(t, clock.sleepers)
	}
}

// TestATimerThatFindsNobodySetsNone: nothing runs for a PerClient that holds no clients, nor for one that is gone.
func TestATimerThatFindsNobodySetsNone(t *testing.T) {
	clock := NewManualClock()
	c := NewPerClient[int](TokenBucket(PerSecond(2)), WithClock(clock))
	c.AllowN(1, 0)
	c.AllowN(1, 3)
	c.Peek(1, 1)
	c.Refund(1, 1)
	require.Empty(t, clock.events)
	c.Allow(1)
	require.Len(t, clock.events, 1)
	clock.Advance(time.Minute)
	require.Zero(t, c.Len())
	require.Empty(t, clock.events)

	closed := NewPerClient[int](TokenBucket(PerSecond(2)), WithClock(clock))
	require.NoError(t, closed.Close())
	closed.Allow(1)
	require.Empty(t, clock.events)

	c.Allow(1)
	gone := weak.Make(c.clients)
	c = nil
	for gone.Value() != nil {
		runtime.GC()
	}
	require.Len(t, clock.events, 1)
	clock.Advance(time.Minute)
	require.Empty(t, clock.events)
}

// farClock is a clock that knows of no timers.
type farClock struct{ Clock }

func TestAClockWithoutTimersHasTheSystemsSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewManualClock()
		c := NewPerClient[int](TokenBucket(PerSecond(2)), WithClock(farClock{clock}))
		c.Allow(1)
		clock.Advance(time.Second)
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		require.Equal(t, 1, c.Len())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Zero(t, c.Len())
	})
}
