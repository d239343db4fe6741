package cases

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/schedule"
	"github.com/stretchr/testify/require"
)

// explore runs threads in all orders that can make a difference. The program makes
// them, and says what must hold in the end.
func explore(t *testing.T, o schedule.Options, program func() (threads []func(), check func() error)) {
	t.Helper()
	o.Count = *figures
	r, err := schedule.Explore(o, func() schedule.Program {
		threads, check := program()
		return schedule.Program{Threads: threads, Check: check}
	})
	var one row
	one.add(r)
	t.Log(&one)
	explored.add(t.Name(), "its own", r)
	require.NoError(t, err)
	require.True(t, r.Done || o.Steps > 0)
	require.Greater(t, r.Runs, 1, "nothing makes a difference: is this a copy?")
}

// TestExactlyTheCapacityIsAdmitted: never more, and nobody is denied what is there.
func TestExactlyTheCapacityIsAdmitted(t *testing.T) {
	for _, k := range kinds {
		for name, asks := range map[string][]int{"three": {1, 1, 1}, "twice two": {2, 2}, "all at once": {3, 2}} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				explore(t, schedule.Options{}, func() (threads []func(), check func() error) {
					w, admitted := newClients(k), 0
					for _, n := range asks {
						threads = append(threads, func() {
							for range n {
								if w.Allow() {
									admitted++
								}
							}
						})
					}
					return threads, func() error {
						if s := w.Stats(); admitted != 2 || s.Allowed != 2 || s.Clients != 1 || w.Peek(1).Allowed {
							return fmt.Errorf("%d are admitted, %+v", admitted, s)
						}
						return nil
					}
				})
			})
		}
	}
}

// TestThreeLayersLoseNothing: whoever of three charges the last one first, what the
// others have charged meanwhile they give back. (Who looks while it is charged is
// denied.)
func TestThreeLayersLoseNothing(t *testing.T) {
	for _, k := range kinds[:2] {
		for used := sized(1, 0); used < 2; used++ {
			t.Run(fmt.Sprintf("%s/%d used", k.name, used), func(t *testing.T) {
				explore(t, schedule.Options{Steps: sized(80, 90)}, func() (threads []func(), check func() error) {
					w := newLayers(k)
					w.Take(used)
					w.limiter.Take(used)
					admitted := used
					for i := range 3 {
						threads = append(threads, func() {
							if w.layers[i%2].Allow(here) {
								admitted++
							}
						})
					}
					return threads, func() error {
						a, b := w.Peek(0).Remaining, w.limiter.Peek(0).Remaining
						if a != 2-admitted || b != 2-admitted || w.Stats().Allowed != uint64(admitted) {
							return fmt.Errorf("%d are admitted of 2, and %d and %d are left, with %+v", admitted, a, b, w.Stats())
						}
						return nil
					}
				})
			})
		}
	}
}

// TestALostRaceIsDecidedAnew: whoever was quicker may have come later, when there
// was room for both.
func TestALostRaceIsDecidedAnew(t *testing.T) {
	explore(t, schedule.Options{}, func() (threads []func(), check func() error) {
		w := newClients(kinds[0])
		w.Take(1)
		first, second := false, false
		threads = []func(){
			func() { first = w.Allow() },
			func() {
				schedule.Sleep(30 * time.Minute)
				second = w.Allow()
			},
		}
		return threads, func() error {
			if !first || !second {
				return fmt.Errorf("the first is admitted: %v, the second: %v", first, second)
			}
			return nil
		}
	})
}

// TestStatsOnlyGrow: they never decrease, none is above what was done, more
// are not shadowed than denied, and in the end they add up.
func TestStatsOnlyGrow(t *testing.T) {
	explore(t, schedule.Options{}, func() (threads []func(), check func() error) {
		c := weir.NewPerClient[uint64](kinds[0].policy, weir.WithSweepEvery(0), weir.WithShadow())
		c.Take(here, 2)
		take := func() { c.Allow(here) }
		var seen []weir.Stats
		threads = []func(){take, take, func() { seen = append(seen, c.Stats(), c.Stats()) }}
		return threads, func() error {
			last := c.Stats()
			if last.Allowed != 1 || last.Denied != 2 || last.Shadowed != 2 {
				return fmt.Errorf("in the end %+v", last)
			}
			before := weir.Stats{Allowed: 1}
			for _, s := range append(seen, last) {
				if s.Allowed < before.Allowed || s.Denied < before.Denied || s.Shadowed < before.Shadowed || s.Shadowed > s.Denied {
					return fmt.Errorf("first %+v, then %+v", before, s)
				}
				before = s
			}
			return nil
		}
	})
}

// TestWhoWaitsIsWoken: when the time has come, or a new policy or a reset has it come
// earlier, or the context is done; and has paid, unless that was why.
func TestWhoWaitsIsWoken(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world, cancel func()){
		"time":   func(*world, func()) { schedule.Sleep(time.Hour) },
		"policy": func(w *world, _ func()) { _ = w.SetPolicy(plan); schedule.Sleep(15 * time.Minute) },
		"reset":  func(w *world, _ func()) { w.Reset() },
		"cancel": func(_ *world, cancel func()) { schedule.Outside(cancel); schedule.Sleep(time.Hour) },
	} {
		for _, k := range []kind{kinds[2], {"log", clock{}, kinds[1].policy}} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				explore(t, schedule.Options{}, func() (threads []func(), check func() error) {
					w := newClients(k)
					w.Take(2)
					ctx, cancel := context.WithCancel(context.Background())
					err := errors.New("it goes on waiting")
					threads = []func(){func() { err = w.Wait(ctx) }, func() { meanwhile(w, cancel) }}
					return threads, func() error {
						if err != nil && (name != "cancel" || err != context.Canceled) {
							return err
						}
						left, without := w.Peek(0).Remaining, newClients(k)
						without.Take(2)
						meanwhile(without, cancel)
						paid := without.Peek(0).Remaining - left
						if err == nil && paid != 1 || err != nil && paid != 0 || w.Stats().Waiting != 0 {
							return fmt.Errorf("%d is paid, the error is %v, and there are %+v", paid, err, w.Stats())
						}
						return nil
					}
				})
			})
		}
	}
}

// TestWhoeverComesIsSweptInTheEnd: by a timer that is set again beside those who
// come, unless it is closed.
func TestWhoeverComesIsSweptInTheEnd(t *testing.T) {
	for name, meanwhile := range map[string]func(c *weir.PerClient[uint64], clock *weir.ManualClock){
		"the timer rings": func(_ *weir.PerClient[uint64], clock *weir.ManualClock) { clock.Advance(time.Hour) },
		"another comes":   func(c *weir.PerClient[uint64], _ *weir.ManualClock) { c.Allow(there) },
		"it is closed":    func(c *weir.PerClient[uint64], _ *weir.ManualClock) { _ = c.Close() },
	} {
		for begin, before := range map[string]bool{"nobody": false, "one before": true} {
			t.Run(name+"/"+begin, func(t *testing.T) {
				explore(t, schedule.Options{}, func() (threads []func(), check func() error) {
					clock := weir.NewManualClock()
					c := weir.NewPerClient[uint64](kinds[2].policy, weir.WithClock(clock), weir.WithSweepEvery(time.Minute))
					if before {
						c.Allow(third)
					}
					threads = []func(){func() { c.Allow(here) }, func() { meanwhile(c, clock) }}
					return threads, func() error {
						want := 0
						if name == "it is closed" {
							want = c.Len()
						}
						clock.Advance(time.Hour)
						clock.Advance(time.Hour)
						if n := c.Len(); n != want {
							return fmt.Errorf("%d are left, not %d", n, want)
						}
						return nil
					}
				})
			})
		}
	}
}
