package weir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// windows are policies with logs of several sizes, and some without.
func windows() []Policy {
	w, other := SlidingWindow(PerSecond(5)), SlidingWindow(PerHour(1000))
	return []Policy{
		w, other, SlidingWindow(PerSecond(2)), TokenBucket(PerSecond(5)), SlidingCounter(PerSecond(5)), TokenBucket(Unlimited()),
		All(w, TokenBucket(PerSecond(9))), All(w, other), FirstOf(w, other), FirstOf(FixedWindow(PerSecond(3)), other), orUnlimited(w),
	}
}

// orUnlimited is a combination whose first part is always there.
func orUnlimited(p Policy) Policy { return FirstOf(p, TokenBucket(Unlimited())) }

func requireNoLogs(t *testing.T, b *logbook, of ...any) {
	t.Helper()
	for _, a := range b.arenas {
		require.True(t, a.Empty(), of...)
	}
}

// TestALimiterLeavesNoLogBehind: whatever it was changed to, reserved and cancelled.
func TestALimiterLeavesNoLogBehind(t *testing.T) {
	for _, from := range windows() {
		for _, to := range windows() {
			clock := NewManualClock()
			l := New(from, WithClock(clock))
			for range 3 {
				l.Allow()
				clock.Advance(1)
			}
			first, second := l.Reserve(1), l.Reserve(2)
			require.NoError(t, l.SetPolicy(to))
			first.Cancel()
			second.Settle(0)
			l.AllowN(2)
			l.Refund(1)
			l.Reset()
			requireNoLogs(t, &l.cell.logs, "from %v to %v", from, to)
		}
	}
}

// TestClientsThatGoLeaveNoLogBehind: swept, evicted or reset, under the policy of all or their own.
func TestClientsThatGoLeaveNoLogBehind(t *testing.T) {
	for _, p := range windows() {
		for _, as := range windows() {
			for name, goes := range map[string]func(c *PerClient[int], clock *ManualClock){
				"swept":   func(c *PerClient[int], clock *ManualClock) { clock.Advance(48 * time.Hour); c.Sweep() },
				"evicted": func(c *PerClient[int], _ *ManualClock) { c.Allow(2); c.Reset(2); c.Reset(1) },
				"opened":  func(c *PerClient[int], _ *ManualClock) { c.TakeAs(2, 1, as); c.Reset(2); c.Reset(1) },
				"reset":   func(c *PerClient[int], _ *ManualClock) { c.Reset(1) },
				"changed": func(c *PerClient[int], _ *ManualClock) { _ = c.SetPolicy(as); c.Reset(1) },
			} {
				clock := NewManualClock()
				c := NewPerClient[int](p, WithClock(clock), WithSweepEvery(0), WithMaxClients(1, EvictFullest))
				c.Allow(1)
				c.TakeAs(1, 2, as)
				c.Peek(1, 1)
				c.AllowN(1, 2)
				c.TakeAs(1, 1, SlidingWindow(PerMinute(1)))
				r := c.Reserve(1, 1)
				r.Cancel()
				goes(c, clock)
				for i := range c.clients.states.Shards() {
					requireNoLogs(t, &c.clients.states.Shards()[i].Annex.logs, "%s: %v, %v", name, p, as)
				}
				require.Zero(t, c.Len())
			}
		}
	}
}

// TestPlainClientsThatGoLeaveNoLogBehind: nor does one that there was no room for.
func TestPlainClientsThatGoLeaveNoLogBehind(t *testing.T) {
	for _, overflow := range []Overflow{EvictFullest, DenyNew} {
		for name, goes := range map[string]func(c *PerClient[int], clock *ManualClock){
			"swept":   func(c *PerClient[int], clock *ManualClock) { clock.Advance(time.Hour); c.Sweep() },
			"evicted": func(c *PerClient[int], _ *ManualClock) { c.AllowN(2, 2); c.Reset(2); c.Reset(1) },
			"charged": func(c *PerClient[int], _ *ManualClock) { c.Charge(2, 2); c.Reset(2); c.Reset(1) },
		} {
			clock := NewManualClock()
			c := NewPerClient[int](SlidingWindow(PerHour(5)), WithClock(clock), WithSweepEvery(0), WithMaxClients(1, overflow))
			for range 4 {
				require.True(t, c.Allow(1))
				clock.Advance(time.Second)
			}
			goes(c, clock)
			requireNoLogs(t, &c.clients.states.Shards()[0].Annex.logs, name, overflow)
			require.Zero(t, c.Len())
		}
	}
}

// TestAPolicyWithoutLogsLeavesNoRoomForThem: nobody may sweep.
func TestAPolicyWithoutLogsLeavesNoRoomForThem(t *testing.T) {
	window, bucket := SlidingWindow(PerHour(5)), TokenBucket(PerHour(5))
	l, c := New(window), NewPerClient[int](window, WithSweepEvery(0))
	require.True(t, l.Allow())
	require.True(t, c.Allow(1))
	require.NoError(t, l.SetPolicy(bucket))
	require.NoError(t, c.SetPolicy(bucket))
	require.Empty(t, l.cell.logs.arenas)
	for i := range c.clients.states.Shards() {
		require.Empty(t, c.clients.states.Shards()[i].Annex.logs.arenas)
	}
}

// TestASweepMovesTheLogsOfAllWhoStay: of plain clients, of those who wait, and of those under a policy of their own.
func TestASweepMovesTheLogsOfAllWhoStay(t *testing.T) {
	const most = 200
	window := SlidingWindow(PerDay(most))
	for name, c := range map[string]*clients{
		"slot": NewPerClient[int](window, WithSweepEvery(0)).clients,
		"word": NewPerClient[int](TokenBucket(PerDay(most)), WithSweepEvery(0)).clients,
	} {
		hash := func(i int) uint64 { return uint64(i)<<32 + 2 } // in one shard
		taken := func(i int) int { return 1 + i%3 }
		waits := make(map[int]Reservation)
		for i := range 200 {
			switch {
			case i%2 == 0:
				require.True(t, c.decide(hash(i), taken(i), true, nil))
			default:
				require.True(t, c.decideAs(hash(i), window.spec, taken(i), nil))
			}
			if i%4 == 0 {
				waits[i] = c.reserve(c, hash(i), most, Never, false)
				require.Positive(t, waits[i].Delay())
			}
		}
		for i := range 150 {
			c.reset(hash(i))
		}
		logs := &c.states.Shard(hash(0)).Annex.logs
		require.True(t, logs.arenas[0].Sparse())
		require.Zero(t, c.sweep())
		require.False(t, logs.arenas[0].Sparse())
		for i := 150; i < 200; i++ {
			waits[i].Cancel()
			p, left := c.decider.Load().policy, Decision{}
			if i%2 != 0 {
				p = window.spec
			}
			require.True(t, c.decideAs(hash(i), p, 0, &left))
			require.Equal(t, most-taken(i), left.Remaining, "%s %d", name, i)
		}
		for i := range 200 {
			c.reset(hash(i)) // also those who were waited for at the first time
		}
		requireNoLogs(t, logs, name)
	}
}
