package weir

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAHoleIsKeptWhileAReceiptMayAskForIt: until time has passed what was behind it, or there are no receipts.
func TestAHoleIsKeptWhileAReceiptMayAskForIt(t *testing.T) {
	a := &account{hash: 1, ledger: &ledger{}}
	a.bore(hole{}, 10, 0)
	a.bore(hole{}, 10, -5)
	require.Nil(t, a.line, "nobody has a receipt")

	a.mark(100)
	require.Equal(t, receipts{until: 100, since: 1}, a.ledger.marks[1])
	a.mark(50)
	require.Equal(t, receipts{until: 100, since: 1}, a.ledger.marks[1])
	a.mark(200)
	require.Equal(t, receipts{until: 200, since: 1}, a.ledger.marks[1])

	other := &account{hash: 2, ledger: &ledger{marks: map[uint64]receipts{3: {}}}}
	other.mark(-5)
	require.Equal(t, map[uint64]receipts{2: {until: -5, since: 1}, 3: {}}, other.ledger.marks)
	other.bore(hole{}, 1, -8)
	other.line.forget(-7)
	require.True(t, other.line.empty())

	a.bore(hole{}, 0, 10)
	a.bore(hole{}, 10, 200)
	require.True(t, a.line.empty())
	for _, c := range []struct{ now, wait, until, closes int64 }{
		{10, 30, 40, 40}, {10, 500, 200, 40}, {10, 5, 15, 15}, {math.MinInt64, 1, math.MinInt64 + 1, math.MinInt64 + 1},
		{199, 1, 200, math.MinInt64 + 1},
	} {
		a.bore(hole{leaf: 3}, c.wait, c.now)
		last := a.line.holes[len(a.line.holes)-1]
		require.Equal(t, c.until, last.until)
		require.EqualValues(t, 1+len(a.line.holes), last.seq)
		require.Equal(t, c.closes, a.line.closes)
	}
	for _, c := range []struct {
		now, closes int64
		left        int
	}{{math.MinInt64, math.MinInt64 + 1, 5}, {14, 15, 4}, {15, 40, 3}, {39, 40, 3}, {41, 200, 2}, {199, 200, 2}, {200, math.MaxInt64, 0}} {
		a.line.forget(c.now)
		require.Len(t, a.line.holes, c.left)
		require.Equal(t, c.closes, a.line.closes)
	}
}

// TestTooManyHolesVoidTheOldestReceipts: those that would have to know of them.
func TestTooManyHolesVoidTheOldestReceipts(t *testing.T) {
	a := &account{hash: 1, ledger: &ledger{}}
	a.mark(100)
	for range mostHoles {
		a.bore(hole{}, 10, 0)
	}
	require.Len(t, a.line.holes, mostHoles)
	require.EqualValues(t, 1, a.ledger.marks[1].since)
	gone := a.line.holes[mostHoles/2-1].seq
	a.bore(hole{}, 10, 0)
	require.Len(t, a.line.holes, mostHoles/2+1)
	require.Equal(t, receipts{until: 100, since: gone}, a.ledger.marks[1])
	require.Equal(t, gone+1, a.line.holes[0].seq)
}

// TestAWordMovesByTheHolesBeforeIt: of its leaf, and younger than its receipt.
func TestAWordMovesByTheHolesBeforeIt(t *testing.T) {
	l := &line{holes: []hole{{seq: 5, leaf: 1, top: 100, gone: 10}, {seq: 6, leaf: 2, top: 100, gone: 50}, {seq: 7, leaf: 1, top: 80, gone: 20}}}
	for word, want := range map[uint64]uint64{120: 90, 100: 70, 95: 70, 91: 70, 90: 70, 85: 65, 80: 60, 70: 60, 61: 60, 60: 60, 59: 59, 0: 0} {
		require.Equal(t, want, l.moved(word, 1, 4), "%d", word)
	}
	require.EqualValues(t, 80, l.moved(100, 1, 5), "the receipt knows of the first hole")
	require.EqualValues(t, 100, l.moved(100, 1, 7))
	require.EqualValues(t, 50, l.moved(100, 2, 5))
	require.EqualValues(t, 100, l.moved(100, 0, 0))
	require.EqualValues(t, 100, (*line)(nil).moved(100, 1, 0))
}

// TestReceiptsAreForgottenOnceTheyAreWorthNothing: and not before.
func TestReceiptsAreForgottenOnceTheyAreWorthNothing(t *testing.T) {
	l := &ledger{marks: map[uint64]receipts{1: {until: 9}, 2: {until: 10}, 3: {until: 11}}}
	l.forget(10)
	require.Equal(t, map[uint64]receipts{2: {until: 10}, 3: {until: 11}}, l.marks)
	l.void(2)
	require.Equal(t, map[uint64]receipts{3: {until: 11}}, l.marks)

	clock := NewManualClock()
	c := NewPerClient[int](SlidingWindow(Per(1, 10)), WithClock(clock), WithSweepEvery(0)).clients
	require.NoError(t, c.reserve(c, someHash, 1, Never, false).Err())
	annex := &c.states.Shard(someHash).Annex
	clock.Advance(10)
	require.Equal(t, 1, c.sweep())
	require.Len(t, annex.ledger.marks, 1)
	clock.Advance(1)
	c.sweep()
	require.Nil(t, annex.ledger)
	require.EqualValues(t, 1, annex.seq, "no receipt is taken for an older one")
}

// TestABriefReceiptIsWorthSomethingForAMinute: at the most.
func TestABriefReceiptIsWorthSomethingForAMinute(t *testing.T) {
	for full, until := range map[time.Duration]time.Duration{time.Hour: briefly, 61 * time.Second: briefly, time.Second: time.Second} {
		l := New(TokenBucket(Every(full)), WithClock(NewManualClock()))
		o := l.cell.open(0, 1, nil)
		o.brief = true
		_, err := o.reserve(1, 0)
		require.NoError(t, err)
		require.EqualValues(t, until, o.ledger.marks[0].until-o.reading)
		o.close()
	}
}

// TestATicketIsUsedAgain: what was issued for an earlier use means nothing to it.
func TestATicketIsUsedAgain(t *testing.T) {
	l := new(ledger)
	first, second := l.issue(1), l.issue(1)
	require.NotSame(t, first, second)
	use := first.use
	first.ends, first.stage, first.untaken = append(first.ends, 1, 2, 3), stageStruck, []uint64{1}
	l.redeem(first)
	again := l.issue(2)
	require.Same(t, first, again)
	require.NotEqual(t, use, again.use)
	require.Equal(t, ticket{use: again.use, era: 2, ends: again.ends}, *again)
	require.Empty(t, again.ends)
	require.NotSame(t, again, l.issue(1))
}

// TestAClientIsStaleOnceItHasBeenFullForSoLong: to the nanosecond, in a word and in a slot.
func TestAClientIsStaleOnceItHasBeenFullForSoLong(t *testing.T) {
	for _, p := range []Policy{TokenBucket(Per(1, 10)), SlidingWindow(Per(1, 10))} {
		for _, after := range []time.Duration{0, 1, 5} {
			for _, word := range []bool{false, true} {
				clock := NewManualClock()
				c := NewPerClient[int](p, WithClock(clock), WithStaleAfter(after), WithSweepEvery(0)).clients
				if word && p.Algorithm() == AlgorithmTokenBucket {
					c = oneWord(p, clock, WithStaleAfter(after))
				}
				require.True(t, c.allow(someHash))
				clock.Advance(10 + after - 1)
				require.Zero(t, c.sweep(), "%v, %d", p, after)
				clock.Advance(1)
				require.Equal(t, 1, c.sweep(), "%v, %d", p, after)
				require.Zero(t, c.states.Len())
				require.Empty(t, c.states.Shard(someHash).Annex.logs.arenas)
			}
		}
	}
}

// TestWhoSomebodyWaitsForIsEvictedLast: however little it owes.
func TestWhoSomebodyWaitsForIsEvictedLast(t *testing.T) {
	for name, owing := range map[string]func(c *PerClient[string], clock *ManualClock){
		"one": func(c *PerClient[string], _ *ManualClock) { c.Allow("awaited") },
		"nothing": func(c *PerClient[string], clock *ManualClock) {
			c.AllowN("awaited", 2)
			r := c.Reserve("awaited", 2)
			require.True(t, c.Reserve("awaited", 2).OK())
			r.Cancel()
			clock.Advance(25)
		},
	} {
		for range 20 {
			clock := NewManualClock()
			c := NewPerClient[string](TokenBucket(Per(2, 20)), WithClock(clock), WithMaxClients(2, EvictFullest), WithSweepEvery(0))
			owing(c, clock)
			require.Positive(t, c.Reserve("awaited", 2).Delay())
			waiting := c.Stats().Waiting
			require.True(t, c.AllowN("used up", 2))
			require.True(t, c.Allow("new"))
			require.Equal(t, waiting, c.Stats().Waiting, name)
			require.Equal(t, 0, c.Tokens("awaited"))
			require.Equal(t, 1, c.Tokens("new"))
			require.Equal(t, 2, c.Tokens("used up"), "it was forgiven")
		}
	}
}
