package weir

import (
	"math"
	"testing"
	"time"

	"github.com/goweir/weir/internal/striped"
	"github.com/stretchr/testify/require"
)

// TestADenialIsNotedForThoseWhoComeNext: until one of them would be admitted, whatever was asked for.
func TestADenialIsNotedForThoseWhoComeNext(t *testing.T) {
	window := SlidingWindow(Per(2, 10))
	buckets := All(TokenBucket(Per(2, 20).WithBurst(2)), TokenBucket(Per(5, 5)))
	for name, c := range map[string]struct {
		policy Policy
		out    *Decision
	}{"window": {window, nil}, "with an answer": {window, new(Decision)}, "buckets": {buckets, nil}} {
		t.Run(name, func(t *testing.T) {
			clock := NewManualClock()
			l := New(c.policy, WithClock(clock))
			slot := l.cell.held.Load().slot
			require.True(t, l.decide(1, true, c.out))
			clock.Advance(5)
			require.False(t, l.decide(3, true, c.out))
			require.Zero(t, slot[slotClosed], "one would be admitted")
			require.False(t, l.decide(2, true, c.out))
			require.Zero(t, slot[slotClosed])
			require.True(t, l.decide(1, true, c.out))
			for n := range 3 {
				require.Equal(t, n == 0, l.decide(n, false, c.out))
			}
			require.Equal(t, mark(10), slot[slotClosed], "one is admitted then, and two five later")
			clock.Advance(4)
			require.False(t, l.decide(1, true, nil))
			clock.Advance(1)
			require.True(t, l.decide(1, true, nil))
			require.Zero(t, slot[slotClosed])
			require.Equal(t, mark(10), slot[slotNewest])
		})
	}
}

// TestASlotIsClosedUntilOneMayCome: not for no time, not for ever, and no word is one that is reserved.
func TestASlotIsClosedUntilOneMayCome(t *testing.T) {
	for _, c := range []struct {
		now  int64
		wait time.Duration
		want uint64
	}{
		{100, 0, 7},
		{100, Never, 7},
		{100, 1, mark(101)},
		{math.MinInt64, 1, mark(math.MinInt64 + 1)},
		{math.MaxInt64 - 5, 3, mark(math.MaxInt64 - 2)},
		{math.MaxInt64 - 5, 4, 7},
		{math.MaxInt64 - 5, 5, 7},
		{math.MaxInt64 - 5, 6, 7},
	} {
		slot := []uint64{7, 8, 9}
		closeUntil(slot, c.now, c.wait)
		require.Equal(t, []uint64{c.want, 8, 9}, slot, "%d in %d", c.wait, c.now)
		require.Less(t, slot[0], leastReserved)
		charged(slot, c.now)
		require.Equal(t, []uint64{0, mark(c.now), 9}, slot)
	}
}

// TestAnotherPolicyIsAnotherEpoch: and another era, unless a state of one is a state of the other.
func TestAnotherPolicyIsAnotherEpoch(t *testing.T) {
	d := newDecider(TokenBucket(PerSecond(1)), SystemClock())
	named, faster := d.after(TokenBucket(PerSecond(1)).Named("x")), d.after(TokenBucket(PerSecond(2)))
	require.Equal(t, d.epoch+1, named.epoch)
	require.Equal(t, d.epoch+1, faster.epoch)
	require.Equal(t, d.era, named.era)
	require.Equal(t, d.era+1, faster.era)
	require.NotZero(t, d.era, "of a state that no decider has had it is 0")
}

// TestABucketIsAWordWhereTheClockNeverStepsBack: otherwise its newest reading is beside it.
func TestABucketIsAWordWhereTheClockNeverStepsBack(t *testing.T) {
	coarse := NewCoarseClock(time.Hour)
	defer coarse.Close()
	for _, clock := range []Clock{SystemClock(), coarse} {
		d := newDecider(TokenBucket(PerSecond(1)), clock)
		require.NotNil(t, d.bucket)
		require.Equal(t, 1, d.slotSize())
		d = newDecider(SlidingCounter(PerSecond(1)), clock)
		require.Nil(t, d.bucket)
		require.Equal(t, slotWords+3, d.slotSize())
	}
	d := newDecider(TokenBucket(PerSecond(1)), NewManualClock())
	require.Nil(t, d.bucket)
	require.Equal(t, slotWords+1, d.slotSize())
	require.Equal(t, 1, FixedWindow(PerSecond(1)).meter.size()-1)
	require.Equal(t, 1, SlidingWindow(PerSecond(1)).meter.size())
}

// TestAFullWordSaysSinceWhen: an account goes on to say so.
func TestAFullWordSaysSinceWhen(t *testing.T) {
	d := newDecider(TokenBucket(Per(1, 10)), SystemClock())
	const now = int64(1e18)
	for _, ago := range []int64{1, 5, 1e15} {
		a := new(account)
		d.load(a, ticks(now-ago), []uint64{apart}, now)
		require.Equal(t, mark(now-ago), a.newest)
		require.Equal(t, []uint64{ticks(now - ago)}, a.words)
	}
	for _, first := range []uint64{0, ticks(now + 3)} {
		a := new(account)
		d.load(a, first, []uint64{apart}, now)
		require.Equal(t, mark(now), a.newest)
		require.Equal(t, []uint64{first}, a.words)
	}
}

// asWord makes a Limiter of a bucket keep it in a word, whatever the clock.
func asWord(l *Limiter) *Limiter {
	b := l.Policy().meter.(tokenBucket)
	l.cell.held.Load().bucket = &b
	return l
}

// lateClock moves on by one at each reading.
type lateClock struct{ *ManualClock }

func (c lateClock) Now() time.Duration {
	defer c.Advance(1)
	return c.ManualClock.Now()
}

// TestWhoHasMetOthersReadsTheClockFirst: once to be admitted, and again before a denial, which who comes
// next makes with one reading.
func TestWhoHasMetOthersReadsTheClockFirst(t *testing.T) {
	clock := lateClock{NewManualClock()}
	l := asWord(New(TokenBucket(Per(1, 10)), WithClock(clock)))
	var line striped.Line
	allow := func() bool { return l.cell.decide(&line, 1, true, nil) }
	require.True(t, allow())
	start := clock.ManualClock.Now() + 100
	clock.Advance(100)
	line.Flag.Store(true)
	require.True(t, allow())
	require.Equal(t, start+1, clock.ManualClock.Now())
	require.False(t, allow())
	require.Equal(t, start+3, clock.ManualClock.Now())
	line.Flag.Store(true)
	clock.Advance(6)
	require.True(t, allow(), "what was too early by one was read earlier than needed")
	require.Equal(t, start+11, clock.ManualClock.Now())
	clock.Advance(8)
	require.False(t, allow())
	require.Equal(t, start+20, clock.ManualClock.Now())
	require.True(t, allow())
}

// pastClock returns a reading from before what it has others do at the next one.
type pastClock struct {
	*ManualClock
	after func()
}

func (c *pastClock) Now() time.Duration {
	now := c.ManualClock.Now()
	if f := c.after; f != nil {
		c.after = nil
		f()
	}
	return now
}

// TestAWordThatSaysFullDoesNotSaySinceWhen: it may be since after the reading.
func TestAWordThatSaysFullDoesNotSaySinceWhen(t *testing.T) {
	for name, met := range map[string]bool{"met others": true, "meets one": false} {
		t.Run(name, func(t *testing.T) {
			clock := &pastClock{ManualClock: NewManualClock()}
			l := asWord(New(TokenBucket(Per(10, 100)), WithClock(clock)))
			var line striped.Line
			r := l.Reserve(9)
			clock.Advance(50)
			line.Flag.Store(met)
			clock.after = func() {
				clock.Advance(60)
				r.Settle(0) // time has given back all
				require.Zero(t, *l.cell.held.Load().word)
			}
			require.True(t, l.cell.decide(&line, 6, true, nil))
			require.False(t, l.cell.decide(&line, 5, true, nil), "more than 10 at once")
			require.True(t, l.cell.decide(&line, 4, true, nil))
		})
	}
}

// TestWhoTakesNothingIsToldWhatIsLeftAtAReadingNotBeforeTheWord: at an earlier one less would seem to be.
func TestWhoTakesNothingIsToldWhatIsLeftAtAReadingNotBeforeTheWord(t *testing.T) {
	for _, met := range []bool{true, false} {
		for _, consume := range []bool{true, false} {
			clock := &pastClock{ManualClock: NewManualClock()}
			l := asWord(New(TokenBucket(Per(10, 100)).Named("x"), WithClock(clock)))
			clock.after = func() {
				clock.Advance(5)
				require.True(t, l.Allow())
			}
			var line striped.Line
			line.Flag.Store(met)
			var d Decision
			require.True(t, l.cell.decide(&line, 0, consume, &d))
			require.Equal(t, Decision{Allowed: true, Remaining: 9, Policy: "x", Limit: 10, ResetAfter: 10}, d)
		}
	}
}

// TestAReservationReadsTheClockOnce: and not under a lock, as it may panic.
func TestAReservationReadsTheClockOnce(t *testing.T) {
	clock := lateClock{NewManualClock()}
	p := TokenBucket(Per(2, 10))
	l, c := New(p, WithClock(clock)), NewPerClient[int](p, WithClock(clock), WithSweepEvery(0)).clients
	for k, core := range map[keeper]*core{&l.cell: &l.core, c: &c.core} {
		require.True(t, k.try(core.tally.Line(), someHash, 1))
		before := clock.ManualClock.Now()
		require.NotNil(t, core.reserve(k, someHash, 1, 0, false).ticket)
		require.Equal(t, before+1, clock.ManualClock.Now())
	}
}

// TestAStateOwesWhatHasNotComeBack: as a word, in a slot, and apart.
func TestAStateOwesWhatHasNotComeBack(t *testing.T) {
	bucket := TokenBucket(Per(2, 20))
	for name, l := range map[string]*Limiter{
		"word":    asWord(New(bucket, WithClock(NewManualClock()))),
		"slot":    New(bucket, WithClock(NewManualClock())),
		"window":  New(SlidingWindow(Per(2, 20)), WithClock(NewManualClock())),
		"counter": New(SlidingCounter(Per(2, 20)), WithClock(NewManualClock())),
		"all":     New(All(bucket, TokenBucket(Per(2, 10))), WithClock(NewManualClock())),
	} {
		t.Run(name, func(t *testing.T) {
			owes := func(at int64) bool { return l.cell.owes(at) }
			require.False(t, owes(0))
			require.True(t, l.Allow())
			end := int64(l.Peek(0).ResetAfter)
			require.Positive(t, end)
			for range 2 { // the second time it may have been apart
				require.True(t, owes(0))
				require.True(t, owes(end-1))
			}
			require.False(t, owes(end))
			require.True(t, l.Allow())
			r := l.Reserve(2)
			require.True(t, r.OK())
			require.Positive(t, r.Delay())
			require.NotNil(t, l.cell.away)
			require.Equal(t, 1, l.cell.pending())
			require.True(t, owes(0))
			r.Cancel()
			require.Zero(t, l.cell.pending())
			require.True(t, owes(0))
			l.Reset()
			require.False(t, owes(0))
			require.Nil(t, l.cell.away, "nothing is reserved any more")
		})
	}
}
