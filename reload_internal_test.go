package weir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A turningClock has something happen right after it was read.
type turningClock struct {
	*ManualClock
	then func()
}

func (c *turningClock) Now() time.Duration {
	now, then := c.ManualClock.Now(), c.then
	if c.then = nil; then != nil {
		then()
	}
	return now
}

// TestAPolicyIsNotCarriedToBeforeItIsInForce: who read the clock while another was in force reads it again.
func TestAPolicyIsNotCarriedToBeforeItIsInForce(t *testing.T) {
	clock := &turningClock{ManualClock: NewManualClock()}
	p := NewPerClient[int](TokenBucket(PerSecond(4)), WithClock(clock), WithSweepEvery(0))
	require.True(t, p.AllowN(1, 3))
	c, hash := p.clients, p.hash(1)
	second := c.decider.Load().after(TokenBucket(PerSecond(3)))
	third := second.after(TokenBucket(PerSecond(5)))

	c.decider.Store(second)
	clock.then = func() {
		clock.Advance(100 * time.Millisecond)
		c.decider.Store(third)
	}
	shard := c.lock(hash)
	require.Same(t, third, shard.Annex.decider)
	place, found := shard.Find(hash)
	require.True(t, found)
	require.Equal(t, mark(int64(clock.Now())), place.Slot()[slotNewest])
	shard.Unlock()
	require.Equal(t, Decision{
		Allowed: true, Remaining: 2, Policy: "token-bucket 5/s", Limit: 5, ResetAfter: 520 * time.Millisecond,
	}, p.Peek(1, 0))
}

// TestADecisionUnderAPolicyNoLongerInForceIsMadeAnew: nor does what a client was denied under that deny it.
func TestADecisionUnderAPolicyNoLongerInForceIsMadeAnew(t *testing.T) {
	for _, of := range []func(Limit) Policy{TokenBucket, SlidingWindow} {
		c := NewPerClient[int](of(PerDay(1)), WithSweepEvery(0)).clients
		require.True(t, c.allow(someHash))
		require.False(t, c.allow(someHash))
		before, line := c.decider.Load(), c.tally.Line()
		c.decider.Store(before.after(of(PerDay(2)))) // and no shard is carried yet
		ok, again := c.decideBy(line, c.decider.Load(), someHash, 1, true, nil)
		require.Equal(t, []bool{true, false}, []bool{ok, again})
		require.False(t, c.allow(someHash))
		ok, again = c.decideBy(line, before, someHash, 1, true, nil)
		require.Equal(t, []bool{false, true}, []bool{ok, again})
	}
}
