package weir_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// together runs f in n goroutines that start at the same moment.
func together(n int, f func(g int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for g := range n {
		done.Go(func() {
			ready.Done()
			<-start
			f(g)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

func TestManyGoroutinesAdmitExactlyTheLimit(t *testing.T) {
	const goroutines, rounds = 64, 200
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		clients := newClients[int](t, k.policy, clock)
		limiter := weir.New(k.policy, weir.WithClock(clock))
		for round := range rounds {
			var single, fresh, known atomic.Int64
			together(goroutines, func(int) {
				if limiter.Allow() {
					single.Add(1)
				}
				if clients.Allow(round) {
					fresh.Add(1)
				}
				if clients.Allow(-1) {
					known.Add(1)
				}
			})
			require.EqualValues(t, k.atOnce, single.Load(), "Limiter, round %d", round)
			require.EqualValues(t, k.atOnce, fresh.Load(), "a new key, round %d", round)
			require.EqualValues(t, k.atOnce, known.Load(), "a known key, round %d", round)
			clock.Advance(time.Hour)
		}
		require.Equal(t, uint64(rounds*k.atOnce), limiter.Stats().Allowed)
		require.Equal(t, uint64(rounds*(goroutines-k.atOnce)), limiter.Stats().Denied)
		require.Equal(t, uint64(2*rounds*k.atOnce), clients.Stats().Allowed)
		require.Equal(t, rounds+1, clients.Len())
	})
}

// Whatever sizes the requests have, what they took and what is left is the capacity.
func TestManyGoroutinesThatTakeSeveralLoseNothing(t *testing.T) {
	const capacity = 100
	l := weir.PerHour(capacity)
	for _, p := range []weir.Policy{
		weir.TokenBucket(l), weir.FixedWindow(l), weir.SlidingWindow(l), weir.SlidingCounter(l),
		weir.All(weir.SlidingWindow(l), weir.TokenBucket(l.WithBurst(150))),
	} {
		clients := newClients[string](t, p, weir.NewManualClock())
		for range 50 {
			var taken atomic.Int64
			together(16, func(g int) {
				for range 4 {
					if n := 1 + g%5; clients.AllowN("alice", n) {
						taken.Add(int64(n))
					}
				}
			})
			require.EqualValues(t, capacity, int(taken.Load())+clients.Tokens("alice"), "%v", p)
			clients.Reset("alice")
		}
	}
}

func TestMoreGoroutinesThanKeys(t *testing.T) {
	const keys, each = 8, 5
	clients := newClients[int](t, weir.TokenBucket(weir.PerHour(each)), weir.NewManualClock())
	var admitted [keys]atomic.Int64
	together(64, func(g int) {
		for i := range 10 * keys {
			if key := (g + i) % keys; clients.Allow(key) {
				admitted[key].Add(1)
			}
		}
	})
	for key := range keys {
		require.EqualValues(t, each, admitted[key].Load())
	}
}

// floodClock is the system clock, and keeps how many readings fell into each
// millisecond since it was made.
type floodClock struct {
	weir.Clock
	start    time.Duration
	perMilli [120_000]atomic.Uint32
}

func newFloodClock() *floodClock {
	system := weir.SystemClock()
	return &floodClock{Clock: system, start: system.Now()}
}

func (c *floodClock) Now() time.Duration {
	now := c.Clock.Now()
	i := min(int((now-c.start)/time.Millisecond), len(c.perMilli)-1)
	c.perMilli[i].Add(1)
	return now
}

// span returns a duration that no two readings were further apart than.
func (c *floodClock) span() time.Duration {
	first, last := -1, -1
	for i := range c.perMilli {
		if c.perMilli[i].Load() > 0 {
			last = i
			if first < 0 {
				first = i
			}
		}
	}
	return time.Duration(last-first+1) * time.Millisecond
}

// admissible returns what a bucket admits at the least to one request per
// reading: what flows in during a millisecond is there from the next one on.
func (c *floodClock) admissible(perMilli, burst int) int {
	level, total, flowing := burst, 0, false
	for i := range c.perMilli {
		readings := int(c.perMilli[i].Load())
		taken := min(level, readings)
		total, level = total+taken, level-taken
		if flowing {
			level = min(burst, level+perMilli)
		}
		flowing = flowing || readings > 0
	}
	return total
}

// 200 goroutines read a clock 200 times at once and come to the limiter in any order: whoever comes late
// with an old reading must neither mint (golang/go#65508, golang/go#71360) nor lose.
func TestAFloodIsAdmittedWhatItsReadingsAllow(t *testing.T) {
	const goroutines, perSecond, burst = 200, 100_000, 100_000
	policy := weir.TokenBucket(weir.PerSecond(perSecond).WithBurst(burst))
	for name, run := range map[string]func(weir.Clock) (allow func() bool, stats func() weir.Stats){
		"Limiter": func(c weir.Clock) (func() bool, func() weir.Stats) {
			l := weir.New(policy, weir.WithClock(c))
			return l.Allow, l.Stats
		},
		"PerClient": func(c weir.Clock) (func() bool, func() weir.Stats) {
			clients := newClients[string](t, policy, c)
			return func() bool { return clients.Allow("alice") }, clients.Stats
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newFloodClock()
			allow, stats := run(clock)
			var admitted atomic.Int64
			together(goroutines, func(int) {
				mine := 0
				for begin := time.Now(); time.Since(begin) < time.Second; {
					for range 32 {
						if allow() {
							mine++
						}
					}
				}
				admitted.Add(int64(mine))
			})
			got := int(admitted.Load())
			require.EqualValues(t, got, stats().Allowed)
			most := burst + int(clock.span()/(time.Second/perSecond))
			least := clock.admissible(perSecond/1000, burst)
			require.LessOrEqual(t, got, most)
			require.GreaterOrEqual(t, got, least-least/50)
			t.Logf("admitted %d, between %d and %d", got, least, most)
		})
	}
}

// jumpyClock goes on by a step with every reading, and each reading is off by up to the jitter.
type jumpyClock struct {
	steppingClock
	step, jitter time.Duration
}

func (c *jumpyClock) Now() time.Duration {
	now := c.reading.Add(int64(c.step))
	return time.Duration(now) + time.Duration(rand.Int64N(int64(2*c.jitter))) - c.jitter
}

func TestNeverOverWhateverTheClockReads(t *testing.T) {
	const goroutines, each = 8, 1500
	forEachKind(t, func(t *testing.T, k policyKind) {
		for _, jitter := range []time.Duration{1, time.Millisecond, 300 * time.Millisecond, 8 * time.Hour} {
			for name, c := range map[string]*spanClock{
				"Limiter":   {Clock: &jumpyClock{step: 200 * time.Microsecond, jitter: jitter}},
				"PerClient": {Clock: &jumpyClock{step: 200 * time.Microsecond, jitter: jitter}},
			} {
				take := subjects(t, k.policy, c)[name].take
				var admitted atomic.Int64
				together(goroutines, func(g int) {
					for range each {
						if n := 1 + g%2; take(0, n) {
							admitted.Add(int64(n))
						}
					}
				})
				most := k.policy.MaxWithin(c.greatest - c.least + 1)
				require.LessOrEqual(t, int(admitted.Load()), most, "%s, jitter %v", name, jitter)
				require.GreaterOrEqual(t, int(admitted.Load()), k.atOnce/2, "%s, jitter %v", name, jitter)
			}
		}
	})
}

func TestOnlyOneOfManyGetsTheLastToken(t *testing.T) {
	clock := weir.NewManualClock()
	limiter := weir.New(weir.SlidingWindow(weir.PerSecond(1)), weir.WithClock(clock))
	for range 500 {
		var decisions [8]weir.Decision
		together(len(decisions), func(g int) { decisions[g] = limiter.Take(1) })
		allowed := 0
		for _, d := range decisions {
			if d.Allowed {
				allowed++
				continue
			}
			require.Equal(t, time.Second, d.RetryAfter)
		}
		require.Equal(t, 1, allowed)
		clock.Advance(time.Second)
	}
}

func TestAllVerbsAtOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := weir.NewManualClock()
		clients := newClients[int](t, k.policy, clock, weir.WithMaxClients(40, weir.EvictFullest))
		limiter := weir.New(k.policy, weir.WithClock(clock))
		var wrong atomic.Int64
		together(8, func(g int) {
			random := rand.New(rand.NewPCG(uint64(g), 11))
			check := func(d weir.Decision) {
				if d.Remaining < 0 || d.Remaining > k.perTake || d.Allowed != (d.RetryAfter == 0) || d.ResetAfter < 0 {
					wrong.Add(1)
				}
			}
			for range 3000 {
				key := random.IntN(60)
				switch random.IntN(12) {
				case 0:
					clients.Reset(key)
				case 1:
					limiter.Reset()
				case 2:
					clock.Advance(time.Duration(random.IntN(50)-10) * time.Millisecond)
				case 3:
					clients.Sweep()
				case 4:
					if n := clients.Len(); n < 0 || n > 40 {
						wrong.Add(1)
					}
				case 5:
					check(clients.Peek(key, 1))
					check(limiter.Peek(1))
				case 6:
					clients.Stats()
					limiter.Stats()
				default:
					check(clients.Take(key, 1+random.IntN(3)))
					check(limiter.Take(1 + random.IntN(3)))
				}
			}
		})
		require.Zero(t, wrong.Load())
	})
}

// A goroutine that read the clock and was then overtaken is decided as if it had read it last: each
// decision is the one of a twin whose clock never falls behind the newest reading that was charged.
func TestALateReadingCountsAsTheNewest(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for seed := range uint64(6) {
			random := rand.New(rand.NewPCG(seed, 16))
			late, prompt := newSteppingClock(0), newSteppingClock(0)
			raced := subjects(t, k.policy, late)
			clients := newClients[int](t, k.policy, late)
			twin := weir.New(k.policy, weir.WithClock(prompt))
			var newest, now time.Duration = -year, 0
			for step := range 400 {
				now += time.Duration(random.Int64N(int64(120 * time.Millisecond)))
				reading := now
				if random.IntN(2) == 0 {
					reading -= time.Duration(random.Int64N(int64(time.Second) << random.IntN(8)))
				}
				late.set(reading)
				prompt.set(max(reading, newest))
				n := random.IntN(k.perTake + 2)
				want := twin.Take(n)
				for name, s := range raced {
					require.Equal(t, want.Allowed, s.take(0, n), "%s, seed %d, step %d", name, seed, step)
				}
				got := clients.Take(0, n)
				behind := prompt.Now() - reading
				if want.RetryAfter > 0 && want.RetryAfter != weir.Never {
					want.RetryAfter += behind
				}
				if want.ResetAfter > 0 {
					want.ResetAfter += behind
				} else {
					got.ResetAfter = 0
				}
				require.Equal(t, want, got, "seed %d, step %d, %v behind", seed, step, behind)
				if n > 0 && want.Allowed {
					newest = prompt.Now()
				}
			}
		}
	})
}
