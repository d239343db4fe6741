package weir_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// metered is what a Limiter and one key of a PerClient have in common.
type metered interface {
	Allow() bool
	AllowN(n int) bool
	Take(n int) weir.Decision
	Peek(n int) weir.Decision
	Tokens() int
	Reserve(n int) weir.Reservation
	ReserveWithin(n int, most time.Duration) weir.Reservation
	Wait(ctx context.Context) error
	WaitN(ctx context.Context, n int) error
	Charge(n int)
	Refund(n int)
	Reset()
	SetPolicy(p weir.Policy) error
	Stats() weir.Stats
}

type alice struct{ *weir.PerClient[string] }

func (a alice) Allow() bool                    { return a.PerClient.Allow("alice") }
func (a alice) AllowN(n int) bool              { return a.PerClient.AllowN("alice", n) }
func (a alice) Take(n int) weir.Decision       { return a.PerClient.Take("alice", n) }
func (a alice) Peek(n int) weir.Decision       { return a.PerClient.Peek("alice", n) }
func (a alice) Tokens() int                    { return a.PerClient.Tokens("alice") }
func (a alice) Reserve(n int) weir.Reservation { return a.PerClient.Reserve("alice", n) }
func (a alice) ReserveWithin(n int, most time.Duration) weir.Reservation {
	return a.PerClient.ReserveWithin("alice", n, most)
}
func (a alice) Wait(ctx context.Context) error         { return a.PerClient.Wait(ctx, "alice") }
func (a alice) WaitN(ctx context.Context, n int) error { return a.PerClient.WaitN(ctx, "alice", n) }
func (a alice) Charge(n int)                           { a.PerClient.Charge("alice", n) }
func (a alice) Refund(n int)                           { a.PerClient.Refund("alice", n) }
func (a alice) Reset()                                 { a.PerClient.Reset("alice") }

// Stats leaves out what only a PerClient has.
func (a alice) Stats() weir.Stats {
	s := a.PerClient.Stats()
	s.Clients = 0
	return s
}

// A stage is a limiter and its time since the test began, in a bubble.
type stage struct {
	metered
	now     time.Duration
	advance func(time.Duration)
}

// at goes to an instant and lets everybody do what is to be done then.
func (s *stage) at(t time.Duration) {
	s.advance(t - s.now)
	s.now = t
	synctest.Wait()
}

// onStages runs a test of p with a Limiter and with a PerClient, on a ManualClock and on the system clock: with that a
// token bucket's state is kept in another way. Either clock begins at a multiple of a day.
func onStages(t *testing.T, p weir.Policy, test func(t *testing.T, s *stage), opts ...weir.Option) {
	opts = append([]weir.Option{weir.WithSweepEvery(0)}, opts...)
	for name, made := range map[string]func(...weir.Option) metered{
		"Limiter": func(more ...weir.Option) metered { return weir.New(p, append(more, opts...)...) },
		"PerClient": func(more ...weir.Option) metered {
			return alice{weir.NewPerClient[string](p, append(more, opts...)...)}
		},
	} {
		t.Run(p.Name()+" "+name+" ManualClock", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := weir.NewManualClock()
				test(t, &stage{metered: made(weir.WithClock(clock)), advance: clock.Advance})
			})
		})
		t.Run(p.Name()+" "+name+" SystemClock", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, &stage{metered: made(), advance: time.Sleep}) })
		})
	}
}

// requireRetry asks for n, which is denied: it has to be allowed after exactly that time, and is consumed then.
func requireRetry(t *testing.T, s *stage, n int, after time.Duration) {
	t.Helper()
	require.Equal(t, after, s.Peek(n).RetryAfter)
	s.at(s.now + after - 1)
	require.EqualValues(t, 1, s.Take(n).RetryAfter)
	s.at(s.now + 1)
	require.True(t, s.AllowN(n))
}

const ms, sec = time.Millisecond, time.Second

func TestReserveTakesTheEarliestInstant(t *testing.T) {
	type turn struct {
		at    time.Duration
		n     int
		delay time.Duration
		err   error
	}
	bucket := func(count, burst int) weir.Policy { return weir.TokenBucket(weir.PerSecond(count).WithBurst(burst)) }
	never := func(at time.Duration, n int) turn { return turn{at, n, weir.Never, weir.ErrNever} }
	full := func(at time.Duration) turn { return turn{at, 1, weir.Never, weir.ErrQueueFull} }
	ones := func(delays ...time.Duration) (turns []turn) {
		for _, d := range delays {
			turns = append(turns, turn{n: 1, delay: d})
		}
		return turns
	}
	for _, test := range []struct {
		policy weir.Policy
		turns  []turn
	}{
		{bucket(10, 20), []turn{{0, 15, 0, nil}, {100 * ms, 10, 400 * ms, nil}, {200 * ms, 2, 500 * ms, nil}, never(200*ms, 21), {200 * ms, 20, 2500 * ms, nil}, {4 * sec, 3, 0, nil}}},
		{weir.TokenBucket(weir.PerSecond(3)), []turn{{0, 3, 0, nil}, {0, 1, 333_333_334, nil}, {0, 1, 666_666_667, nil}, {0, 1, sec + 1, nil}}},
		{weir.LeakyBucket(weir.PerSecond(10), 2), []turn{{0, 1, 0, nil}, {0, 1, 100 * ms, nil}, {50 * ms, 1, 150 * ms, nil}, full(50 * ms), full(100*ms - 1), {100 * ms, 1, 200 * ms, nil}, full(100 * ms), never(100*ms, 2), {sec, 1, 0, nil}}},
		{weir.LeakyBucket(weir.PerSecond(10), 0), []turn{{0, 1, 0, nil}, full(0), full(100*ms - 1), {100 * ms, 1, 0, nil}, full(100 * ms)}},
		{weir.FixedWindow(weir.PerSecond(3)), []turn{{300 * ms, 2, 0, nil}, {300 * ms, 2, 700 * ms, nil}, {300 * ms, 1, 700 * ms, nil}, {300 * ms, 3, 1700 * ms, nil}, never(300*ms, 4), {sec, 1, 2 * sec, nil}}},
		{weir.SlidingWindow(weir.PerSecond(3)), []turn{{300 * ms, 2, 0, nil}, {400 * ms, 1, 0, nil}, {400 * ms, 2, 900 * ms, nil}, {500 * ms, 1, 900 * ms, nil}, {500 * ms, 3, 1900 * ms, nil}, never(500*ms, 4)}},
		{weir.SlidingCounter(weir.PerSecond(2)), []turn{{300 * ms, 2, 0, nil}, {300 * ms, 1, 1200 * ms, nil}, {300 * ms, 1, 1700 * ms, nil}, {300 * ms, 1, 2700 * ms, nil}, never(300*ms, 3), {sec, 2, 4 * sec, nil}}},
		{weir.BurstReserve(weir.PerSecond(10), weir.PerSecond(1).WithBurst(3)), []turn{{0, 10, 0, nil}, {0, 3, 0, nil}, {0, 1, 100 * ms, nil}, {0, 4, 500 * ms, nil}, never(0, 11), {0, 3, 800 * ms, nil}}},
		{weir.All(bucket(10, 2), weir.FixedWindow(weir.PerSecond(3))), append(ones(0, 0, 100*ms, sec, sec, 1100*ms, 2*sec), never(0, 3))},
		{weir.FirstOf(bucket(1, 1), bucket(2, 1)), ones(0, 0, 500*ms, sec, sec, 1500*ms, 2*sec)},
		{weir.All(weir.FirstOf(bucket(1, 1), weir.TokenBucket(weir.Every(10*sec))), weir.FixedWindow(weir.Per(2, 10*sec))), ones(0, 0, 10*sec, 10*sec, 20*sec)},
		{weir.All(weir.LeakyBucket(weir.PerSecond(10), 2), bucket(100, 100)), append(ones(0, 100*ms, 200*ms), full(0), turn{at: 100 * ms, n: 1, delay: 200 * ms}, full(199*ms))},
		{weir.All(weir.LeakyBucket(weir.PerSecond(10), 2), weir.FixedWindow(weir.PerSecond(1))), append(ones(0, sec, 2*sec), full(0))},
		{weir.FirstOf(weir.LeakyBucket(weir.PerSecond(10), 1), weir.LeakyBucket(weir.PerSecond(5), 1)), append(ones(0, 0, 100*ms, 200*ms), full(0), turn{at: 100 * ms, n: 1, delay: 100 * ms}, full(100*ms))},
		{weir.TokenBucket(weir.Unlimited()), []turn{{n: 1}, {n: math.MaxInt}, {n: math.MaxInt}, never(0, -1)}},
		{weir.All(weir.TokenBucket(weir.Unlimited()), bucket(1, 2)), []turn{{n: 2}, {n: 2, delay: 2 * sec}, never(0, math.MaxInt)}},
	} {
		onStages(t, test.policy, func(t *testing.T, s *stage) {
			for i, turn := range test.turns {
				s.at(turn.at)
				before := s.Peek(1)
				r := s.Reserve(turn.n)
				require.Equal(t, turn.delay, r.Delay(), "turn %d", i)
				require.Equal(t, turn.err == nil, r.OK(), "turn %d", i)
				require.ErrorIs(t, r.Err(), turn.err, "turn %d", i)
				if turn.err != nil {
					require.Equal(t, before, s.Peek(1), "it took nothing")
				}
			}
		})
	}
}

// TestReserveKeepsItsPlace: what was reserved, what was not cancelled, and what was taken meanwhile is exactly what Take
// admits at those instants.
func TestReserveKeepsItsPlace(t *testing.T) {
	for _, k := range policyKinds() {
		if k.name == "burst reserve" || k.name == "first of" || k.name == "nested" {
			continue // which part pays depends on who comes first: TestReserveAgreesWithPeek has them
		}
		t.Run(k.name, func(t *testing.T) {
			type admission struct {
				at      time.Duration
				n       int
				receipt weir.Reservation
			}
			for seed := range uint64(20) {
				random := rand.New(rand.NewPCG(seed, 40))
				clock := weir.NewManualClock()
				l := alice{newClients[string](t, k.policy, clock)}
				var admitted []admission
				for range 120 {
					clock.Advance(time.Duration(random.IntN(120)) * ms)
					switch n := 1 + random.IntN(k.perTake); random.IntN(5) {
					case 0, 1:
						if l.AllowN(n) {
							admitted = append(admitted, admission{at: clock.Now(), n: n})
						}
					case 2, 3:
						if r := l.ReserveWithin(n, 20*sec); r.OK() {
							admitted = append(admitted, admission{clock.Now() + r.Delay(), n, r})
						}
					case 4:
						if i := random.IntN(len(admitted) + 1); i < len(admitted) {
							admitted[i].receipt.Cancel()
							if admitted[i].at > clock.Now() {
								admitted = slices.Delete(admitted, i, i+1)
							}
						}
					}
				}
				slices.SortStableFunc(admitted, func(a, b admission) int { return cmp.Compare(a.at, b.at) })
				replay := newSteppingClock(0)
				twin := weir.New(k.policy, weir.WithClock(replay))
				for i, a := range admitted {
					replay.set(a.at)
					require.True(t, twin.AllowN(a.n), "seed %d: %d at %v, admission %d", seed, a.n, a.at, i)
				}
				clock.Advance(max(0, replay.Now()-clock.Now()))
				for range 20 {
					replay.set(clock.Now())
					require.Equal(t, twin.Peek(k.perTake), l.Peek(k.perTake), "seed %d", seed)
					require.Equal(t, twin.Peek(1), l.Peek(1), "seed %d", seed)
					clock.Advance(time.Duration(random.IntN(100)) * ms)
				}
				require.Zero(t, l.Stats().Waiting)
			}
		})
	}
}

func TestReserveAgreesWithPeek(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for seed := range uint64(40) {
			random := rand.New(rand.NewPCG(seed, 41))
			clock := weir.NewManualClock()
			l := weir.New(k.policy, weir.WithClock(clock))
			for range 30 {
				clock.Advance(time.Duration(random.IntN(90)) * ms)
				n := 1 + random.IntN(k.perTake)
				wait := l.Peek(n).RetryAfter
				switch random.IntN(3) {
				case 0:
					require.Equal(t, wait == 0, l.AllowN(n))
				case 1:
					r := l.Reserve(n)
					if errors.Is(r.Err(), weir.ErrQueueFull) {
						continue
					}
					require.NoError(t, r.Err())
					require.Equal(t, wait, r.Delay(), "seed %d", seed)
					if random.IntN(3) == 0 {
						r.Cancel()
					}
				case 2:
					// Exact retry, whoever waits.
					if wait > 0 {
						clock.Advance(wait - 1)
						require.EqualValues(t, 1, l.Peek(n).RetryAfter, "seed %d", seed)
						clock.Advance(1)
						require.True(t, l.AllowN(n), "seed %d", seed)
					}
				}
			}
		}
	})
}

func TestCancelIsAsIfItHadNeverBeen(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for seed := range uint64(10) {
			random := rand.New(rand.NewPCG(seed, 42))
			clock := weir.NewManualClock()
			l, twin := alice{newClients[string](t, k.policy, clock)}, weir.New(k.policy, weir.WithClock(clock))
			same := func() {
				t.Helper()
				for n := range k.perTake + 2 {
					require.Equal(t, twin.Peek(n), l.Peek(n), "seed %d", seed)
				}
			}
			clock.Advance(time.Duration(random.IntN(3000)) * ms)
			for twin.Allow() {
				require.True(t, l.Allow())
			}
			var made []weir.Reservation
			for range 8 {
				if r := l.Reserve(1 + random.IntN(k.perTake)); r.OK() {
					require.Positive(t, r.Delay())
					made = append(made, r)
				}
			}
			require.Equal(t, len(made), l.Stats().Waiting)
			random.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
			for _, r := range made {
				r.Cancel()
			}
			same()
			require.Zero(t, l.Stats().Waiting)
			for _, r := range made {
				r.Cancel()
				clock.Advance(50 * ms)
				r.Settle(0)
				same()
			}
		}
	})
}

// golang/go#56924
func TestCase17CancelGivesBackAllThatItTook(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(10).WithBurst(20)), func(t *testing.T, s *stage) {
		require.Zero(t, s.Reserve(15).Delay())
		s.at(100 * ms)
		second := s.Reserve(10)
		require.Equal(t, 400*ms, second.Delay())
		s.at(200 * ms)
		third := s.Reserve(2)
		require.Equal(t, 500*ms, third.Delay())
		s.at(300 * ms)
		second.Cancel()
		require.Equal(t, 6, s.Tokens())
		require.Equal(t, 400*ms, third.Delay(), "its instant is fixed")
		require.True(t, s.AllowN(6))
		require.False(t, s.Allow())
	})
}

// golang/go#69419
func TestCase18CancellingInAnyOrder(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), func(t *testing.T, s *stage) {
		require.Zero(t, s.Reserve(10).Delay())
		five, three := s.Reserve(5), s.Reserve(3)
		require.Equal(t, []time.Duration{5 * sec, 8 * sec}, []time.Duration{five.Delay(), three.Delay()})
		require.Equal(t, 9*sec, s.Peek(1).RetryAfter, "8 tokens short")
		five.Cancel()
		require.Equal(t, 4*sec, s.Peek(1).RetryAfter, "3 tokens short")
		three.Cancel()
		require.Equal(t, sec, s.Peek(1).RetryAfter, "none short, none there")
		requireRetry(t, s, 10, 10*sec)
	})
}

func TestCase19CancelTwiceIsOnce(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(10))
		r := s.Reserve(10)
		copied := r
		for range 3 {
			r.Cancel()
			copied.Cancel()
			require.Equal(t, sec, s.Peek(1).RetryAfter)
		}
		again := s.Reserve(10)
		r.Cancel()
		copied.Settle(0)
		require.Equal(t, 10*sec, again.Delay())
		require.Equal(t, 11*sec, s.Peek(1).RetryAfter, "nobody else's is struck")
		s.at(10 * sec)
		again.Cancel()
		require.Zero(t, s.Tokens(), "its instant has come")
	})
}

// golang/go#47221, golang/go#47817
func TestCase23ALimitOfNothingIsNeverWaitedFor(t *testing.T) {
	closed := weir.TokenBucket(weir.Limit{})
	for _, p := range []weir.Policy{
		closed, weir.TokenBucket(weir.PerSecond(0)), weir.TokenBucket(weir.PerSecond(5).WithBurst(0)), weir.LeakyBucket(weir.Limit{}, 9),
		weir.FixedWindow(weir.Limit{}), weir.SlidingWindow(weir.PerSecond(0)), weir.SlidingCounter(weir.Limit{}),
		weir.All(weir.TokenBucket(weir.PerSecond(1)), closed), weir.FirstOf(closed, closed),
	} {
		onStages(t, p, func(t *testing.T, s *stage) {
			for range 2 {
				r := s.Reserve(1)
				require.False(t, r.OK())
				require.ErrorIs(t, r.Err(), weir.ErrNever)
				require.Equal(t, weir.Never, r.Delay())
				require.ErrorIs(t, s.Wait(context.Background()), weir.ErrNever)
				s.at(s.now + 20*year)
			}
			require.True(t, s.Reserve(0).OK())
			require.Equal(t, weir.Stats{Denied: 4}, s.Stats())
		})
	}
}
