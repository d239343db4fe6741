package weir

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readClock does something else before its next reading.
type readClock struct {
	*ManualClock
	before func()
}

func (c *readClock) Now() time.Duration {
	if f := c.before; f != nil {
		c.before = nil
		f()
	}
	return c.ManualClock.Now()
}

// oneWord makes a PerClient treat a clock as one that never steps back: a state is a word, and what
// others do between two steps of a decision can be done at its readings.
func oneWord(p Policy, clock Clock, opts ...Option) *clients {
	c := NewPerClient[int](p, append(opts, WithClock(clock), WithSweepEvery(0))...).clients
	b := p.meter.(tokenBucket)
	c.decider.Load().bucket = &b
	c.decider.Load().zero = make([]uint64, 1)
	return c
}

const someHash = 0x123456789abcdef

func (c *clients) allow(hash uint64) bool { return c.decide(hash, 1, true, nil) }

// TestAWordThatChangesDuringADecision: it is decided anew about what the word is by then, or about the
// slot that the key has by then.
func TestAWordThatChangesDuringADecision(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(c *clients)
		tokens    int
		allowed   bool
	}{
		"one taken":         {func(c *clients) { c.allow(someHash) }, 3 - 1 - 2, true},
		"the last taken":    {func(c *clients) { c.decide(someHash, 2, true, nil) }, 0, false},
		"reset":             {func(c *clients) { c.reset(someHash) }, 2, true},
		"reset and charged": {func(c *clients) { c.reset(someHash); c.decide(someHash, 2, true, nil) }, 0, true},
		"reset and drained": {func(c *clients) { c.reset(someHash); c.decide(someHash, 3, true, nil) }, 0, false},
		"swept and charged": {func(c *clients) {
			c.clock.(*readClock).Advance(time.Hour)
			c.sweep()
			c.allow(someHash)
		}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range [][]Option{nil, {WithMaxClients(1, DenyNew)}} {
				clock := &readClock{ManualClock: NewManualClock()}
				c := oneWord(TokenBucket(PerMinute(3)), clock, opts...)
				require.True(t, c.allow(someHash))
				clock.before = func() { test.meanwhile(c) }
				require.Equal(t, test.allowed, c.allow(someHash))
				var d Decision
				c.decide(someHash, 0, false, &d)
				require.Equal(t, test.tokens, d.Remaining)
				require.Equal(t, 1, c.states.Len())
			}
		})
	}
}

// TestALostRaceIsDecidedAtALaterReading: the winner may have read the clock later, when there was room
// for both.
func TestALostRaceIsDecidedAtALaterReading(t *testing.T) {
	clock := &readClock{ManualClock: NewManualClock()}
	l := New(TokenBucket(PerMinute(1)), WithClock(clock))
	b := l.Policy().meter.(tokenBucket)
	l.cell.held.Load().bucket = &b
	require.True(t, l.Allow())
	clock.Advance(time.Minute)
	clock.before = func() {
		require.True(t, l.Allow())
		clock.before = func() { clock.Advance(time.Minute) }
	}
	require.True(t, l.Allow())
	require.False(t, l.Allow())
}

// TestAPolicyThatIsSetWhileAnotherMakesRoom: a key is given a state if that one would admit it.
func TestAPolicyThatIsSetWhileAnotherMakesRoom(t *testing.T) {
	const clients = 2 * clientsPerShard // in two shards, all in the first
	clock := &readClock{ManualClock: NewManualClock()}
	c := NewPerClient[int](TokenBucket(PerHour(5)), WithClock(clock), WithMaxClients(clients, EvictFullest), WithSweepEvery(0)).clients
	for i := range uint64(clients) {
		require.True(t, c.decide(i<<32+2, 1, true, nil))
	}
	clock.before = func() {
		clock.before = func() { require.NoError(t, c.setPolicy(TokenBucket(PerHour(2)))) }
	}
	require.Nil(t, c.reserve(c, 1<<63, 3, 0, true).keeper)
	require.Equal(t, clients-1, c.states.Len())
}

// TestAWordIsOpenedAtAReadingOfItsOwn: which is later than those that went into it, as one
// from before the lock need not be.
func TestAWordIsOpenedAtAReadingOfItsOwn(t *testing.T) {
	clock := NewManualClock()
	p := TokenBucket(Per(1, 10))
	l, c := asWord(New(p, WithClock(clock))), oneWord(p, clock)
	early := int64(clock.Now())
	clock.Advance(1000)
	require.True(t, l.Allow())
	require.True(t, c.allow(someHash))
	for _, reading := range []int64{early, unread} {
		l.cell.mu.Lock()
		o := l.cell.openLocked(reading)
		require.EqualValues(t, clock.Now(), o.reading)
		o.close()
		shard := c.lock(someHash)
		place, _ := shard.Find(someHash)
		o = c.opened(shard, someHash, place.Slot(), reading)
		require.EqualValues(t, clock.Now(), o.reading)
		o.close()
	}
}

// TestAFullTableLosesAClientElsewhere: where the new client's shard has none.
func TestAFullTableLosesAClientElsewhere(t *testing.T) {
	const most = 2 * clientsPerShard
	for _, p := range []Policy{TokenBucket(PerHour(2)), SlidingWindow(PerHour(2))} {
		for _, clock := range []Clock{SystemClock(), NewManualClock()} {
			c := NewPerClient[int](p, WithClock(clock), WithSweepEvery(0), WithMaxClients(most, EvictFullest)).clients
			require.Len(t, c.states.Shards(), 2)
			for hash := range uint64(most) {
				require.True(t, c.allow(hash<<32+2))
			}
			const other = 1 << 63
			var d Decision
			for n, want := range []time.Duration{0, 0, 0, Never} {
				c.decide(other, n, false, &d)
				require.Equal(t, want, d.RetryAfter)
			}
			require.Equal(t, most, c.states.Len())
			require.Zero(t, c.states.Shards()[1].Len())
			for i := range uint64(5) {
				require.True(t, c.allow(other+i<<32))
				require.Equal(t, most, c.states.Len())
			}
			require.Positive(t, c.states.Shards()[1].Len())
			stats := c.tally.stats()
			require.Equal(t, uint64(most+5), stats.Allowed)
			require.Equal(t, uint64(5), stats.Overflowed)
			require.Zero(t, c.sweeper.evicted.Load(), "none was full")
		}
	}
}

// TestTheLastPlaceIsTakenOnce: many new clients in several shards come at once for it.
func TestTheLastPlaceIsTakenOnce(t *testing.T) {
	const most = 2 * clientsPerShard
	for _, p := range []Policy{TokenBucket(PerHour(2)), SlidingWindow(PerHour(2))} {
		c := NewPerClient[int](p, WithSweepEvery(0), WithMaxClients(most, DenyNew)).clients
		for hash := range uint64(most - 1) {
			require.True(t, c.allow(hash*0x9e3779b97f4a7c15|2))
		}
		for round := range uint64(400) {
			var admitted atomic.Int64
			var start, group sync.WaitGroup
			start.Add(1)
			hashes := make([]uint64, 8)
			for g := range hashes {
				hashes[g] = uint64(g)<<61 + round<<8 + 5
				group.Go(func() {
					start.Wait()
					if c.allow(hashes[g]) {
						admitted.Add(1)
					}
				})
			}
			start.Done()
			group.Wait()
			require.EqualValues(t, 1, admitted.Load())
			require.Equal(t, most, c.states.Len())
			for _, hash := range hashes {
				c.reset(hash)
			}
			require.Equal(t, most-1, c.states.Len())
		}
	}
}

// takenMeter does something else before it takes.
type takenMeter struct {
	meter
	before func()
}

func (m *takenMeter) take(s state, now, n int64) {
	if f := m.before; f != nil {
		m.before = nil
		f()
	}
	m.meter.take(s, now, n)
}

func (m *takenMeter) release(s state) {
	if r, ok := m.meter.(releaser); ok {
		r.release(s)
	}
}

// beforeTaking has f done before the next new client is charged, when its place has been chosen.
func (c *clients) beforeTaking(f func()) {
	hooked := *c.decider.Load().policy
	hooked.buckets, hooked.meter = nil, &takenMeter{hooked.meter, f}
	c.decider.Load().policy = &hooked
}

// TestAVictimThatIsChargedMeanwhile: one that is no longer what it was is not dropped before it is looked
// at again.
func TestAVictimThatIsChargedMeanwhile(t *testing.T) {
	clock := NewManualClock()
	for _, overflow := range []Overflow{EvictFullest, DenyNew, ShareOverflow} {
		c := oneWord(TokenBucket(PerHour(3)), &readClock{ManualClock: clock}, WithMaxClients(1, overflow))
		require.True(t, c.allow(someHash))
		clock.Advance(time.Hour)
		charged := false
		c.beforeTaking(func() {
			charged = c.allow(someHash)
		})
		require.Equal(t, overflow != DenyNew, c.allow(someHash+1))
		require.True(t, charged)
		require.Equal(t, 1, c.states.Len())
		_, found := c.states.Find(someHash)
		require.Equal(t, overflow == EvictFullest, !found, "it is no longer full, and only one of these drops such")
	}
}

// TestTheLastPlaceIsTakenMeanwhile: what was made for the one who comes too late is dropped.
func TestTheLastPlaceIsTakenMeanwhile(t *testing.T) {
	const most = 2 * clientsPerShard
	for _, p := range []Policy{TokenBucket(PerHour(2)), SlidingWindow(PerHour(2))} {
		c := NewPerClient[int](p, WithClock(NewManualClock()), WithSweepEvery(0), WithMaxClients(most, DenyNew)).clients
		for hash := range uint64(most - 1) {
			require.True(t, c.allow(hash<<32+2))
		}
		c.beforeTaking(func() { require.True(t, c.allow(1<<63)) })
		require.False(t, c.allow(1<<62))
		require.Equal(t, most, c.states.Len())
		require.Equal(t, uint64(1), c.tally.stats().Overflowed)
		for hash := range uint64(most - 1) {
			c.reset(hash<<32 + 2)
		}
		requireNoLogs(t, &c.states.Shards()[0].Annex.logs)
	}
}

// TestEvictingWhatIsCharged: new clients take the place of one another while those are asked for; all are
// decided, in one order or another.
func TestEvictingWhatIsCharged(t *testing.T) {
	c := NewPerClient[int](TokenBucket(PerHour(1<<20)), WithSweepEvery(0), WithMaxClients(1, EvictFullest)).clients
	var group sync.WaitGroup
	for g := range uint64(4) {
		group.Go(func() {
			for i := range 20_000 {
				if !c.allow(someHash + g/2<<32) {
					t.Errorf("step %d is denied", i)
					return
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, 1, c.states.Len())
	require.EqualValues(t, 80_000, c.tally.stats().Allowed)
}
