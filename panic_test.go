package weir_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// moodyClock panics at the reading after so many calm ones, unless calm is negative.
type moodyClock struct {
	*weir.ManualClock
	calm int
}

func (c *moodyClock) Now() time.Duration {
	if c.calm == 0 {
		panic("out of order")
	}
	c.calm--
	return c.ManualClock.Now()
}

// inTime fails the test if f hangs, as it does at a lock that is never given back.
func inTime(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("it hangs")
	}
}

// A clock that panics does so in its caller's face, and the caller may recover: nothing stays locked,
// nothing was taken, and whoever comes later is decided as ever.
func TestAClockThatPanicsLeavesNothingLocked(t *testing.T) {
	acts := map[string]func(c *weir.PerClient[string], clock *moodyClock){
		"new":        func(c *weir.PerClient[string], _ *moodyClock) { c.Allow("bob") },
		"take new":   func(c *weir.PerClient[string], _ *moodyClock) { c.Take("bob", 1) },
		"peek new":   func(c *weir.PerClient[string], _ *moodyClock) { c.Peek("bob", 1) },
		"known":      func(c *weir.PerClient[string], _ *moodyClock) { c.Allow("alice") },
		"take known": func(c *weir.PerClient[string], _ *moodyClock) { c.Take("alice", 1) },
		"sweep":      func(c *weir.PerClient[string], _ *moodyClock) { c.Sweep() },
		"timer":      func(_ *weir.PerClient[string], clock *moodyClock) { clock.Advance(time.Millisecond) },
		"reset":      func(c *weir.PerClient[string], _ *moodyClock) { c.Reset("bob") },
	}
	for overflowName, overflow := range overflows {
		for actName, act := range acts {
			t.Run(fmt.Sprint(overflowName, " ", actName), func(t *testing.T) {
				for _, k := range policyKinds() {
					for calm := range 4 {
						clock := &moodyClock{weir.NewManualClock(), -1}
						clients := weir.NewPerClient[string](k.policy, weir.WithClock(clock),
							weir.WithSweepEvery(time.Millisecond), weir.WithMaxClients(1, overflow))
						drain(func() bool { return clients.Allow("alice") })
						clock.calm = calm
						func() {
							defer func() { _ = recover() }()
							act(clients, clock)
						}()
						clock.calm = -1
						inTime(t, func() {
							clock.Advance(time.Millisecond)
							clock.Advance(-2 * time.Millisecond)
							for _, key := range []string{"alice", "bob", "carol"} {
								clients.Take(key, 1)
								clients.Allow(key)
								clients.Peek(key, 1)
								clients.Reset(key)
							}
							clients.Sweep()
							_ = clients.Close()
						})
						require.LessOrEqual(t, clients.Len(), 1, "%s, after %d readings", k.name, calm)
					}
				}
			})
		}
	}
}

func TestAClockThatPanicsTakesNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := &moodyClock{weir.NewManualClock(), -1}
		limiter := weir.New(k.policy, weir.WithClock(clock))
		clients := newClients[string](t, k.policy, clock)
		for range k.atOnce {
			clock.calm = 0
			require.Equal(t, "out of order", panicText(t, func() { limiter.Allow() }))
			require.Equal(t, "out of order", panicText(t, func() { clients.Allow("alice") }))
			clock.calm = -1
			inTime(t, func() {
				require.True(t, limiter.Allow())
				require.True(t, clients.Allow("alice"))
			})
		}
		require.False(t, limiter.Allow())
		require.False(t, clients.Allow("alice"))
		require.Equal(t, uint64(k.atOnce), clients.Stats().Allowed)
	})
}
