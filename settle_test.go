package weir_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// perTenSeconds are the algorithms that hold ten, of ten per ten seconds.
func perTenSeconds() []weir.Policy {
	l := weir.Per(10, 10*sec)
	return append([]weir.Policy{weir.TokenBucket(l)}, windowKinds(l)...)
}

// onCombinations runs a test of p alone and in combinations in which it alone decides.
func onCombinations(t *testing.T, p weir.Policy, test func(t *testing.T, s *stage)) {
	wide := weir.TokenBucket(weir.PerSecond(1).WithBurst(1_000_000))
	for _, combined := range []weir.Policy{
		p, weir.All(p, p), weir.All(wide, p), weir.All(p, weir.SlidingWindow(weir.PerSecond(1000))),
		weir.FirstOf(p, weir.TokenBucket(weir.Limit{})), weir.FirstOf(weir.FixedWindow(weir.Limit{}), p),
	} {
		onStages(t, combined, test)
	}
}

func TestSettleAtOnceGivesBackAllOfTheRest(t *testing.T) {
	for _, p := range perTenSeconds() {
		onCombinations(t, p, func(t *testing.T, s *stage) {
			s.at(sec)
			receipt := s.Reserve(8)
			copied := receipt
			require.Equal(t, 2, s.Tokens())
			receipt.Settle(3)
			require.Equal(t, 7, s.Tokens())
			for range 3 { // once, copies share that
				receipt.Settle(0)
				copied.Settle(1)
				copied.Settle(100)
				receipt.Cancel()
				copied.Cancel()
			}
			require.Equal(t, 7, s.Tokens())
			s.Reserve(7).Settle(7)
			require.Zero(t, s.Tokens())
			s.at(40 * sec)
			s.Reserve(8).Settle(0)
			require.Equal(t, 10, s.Tokens())
			require.Zero(t, s.Peek(0).ResetAfter, "as full as a new one")
			s.Reserve(8).Settle(-5)
			require.Equal(t, 10, s.Tokens(), "a negative cost is none")
			s.Reserve(8).Settle(10)
			require.Zero(t, s.Tokens())
			require.Equal(t, weir.Stats{Allowed: 5}, s.Stats())
		})
	}
}

func TestSettleGivesNothingBackThatTimeHas(t *testing.T) {
	for _, p := range perTenSeconds()[:3] {
		onCombinations(t, p, func(t *testing.T, s *stage) {
			receipt := s.Reserve(10)
			s.at(10 * sec)
			require.True(t, s.AllowN(10))
			receipt.Settle(0)
			require.Zero(t, s.Tokens())
			require.False(t, s.Allow())
		})
	}
	onCombinations(t, weir.SlidingCounter(weir.Per(10, 10*sec)), func(t *testing.T, s *stage) {
		receipt, second := s.Reserve(10), s.Reserve(10)
		require.Equal(t, 20*sec, second.Delay())
		s.at(20 * sec)
		receipt.Settle(0)
		require.Zero(t, s.Tokens())
		s.at(25 * sec)
		require.Zero(t, s.Tokens(), "still the window of the second")
		s.at(35 * sec)
		require.True(t, s.AllowN(5))
		second.Settle(6)
		require.Equal(t, 2, s.Tokens(), "10 - 6/2 - 5")
	})
}

func TestSettleOfATokenBucket(t *testing.T) {
	for _, test := range []struct {
		at     time.Duration
		actual int
		retry  time.Duration // of 10: what is left to pay
	}{
		{0, 4, 4 * sec},
		{3 * sec, 4, sec},
		{3500 * ms, 4, 500 * ms},
		{4 * sec, 4, 0},
		{5500 * ms, 4, 0},         // of the 6, 4.5 are outstanding
		{5500 * ms, 8, 2500 * ms}, // 2 of 4.5
		{5500 * ms, 10, 4500 * ms},
		{5500 * ms, 12, 6500 * ms},
		{9 * sec, 8, 0}, // of the 2, 1 is outstanding
		{12 * sec, 0, 0},
		{12 * sec, 13, 3 * sec},
	} {
		onCombinations(t, weir.TokenBucket(weir.Per(10, 10*sec)), func(t *testing.T, s *stage) {
			receipt := s.Reserve(10)
			s.at(test.at)
			receipt.Settle(test.actual)
			require.Equal(t, test.retry, s.Peek(10).RetryAfter, "%d settled at %v", test.actual, test.at)
		})
	}
}

// Tokens come back in the order in which they were taken: who stands behind a give-back moves up.
func TestSettleInAnyOrder(t *testing.T) {
	type receipt = weir.Reservation
	for name, test := range map[string]struct {
		settle func(s *stage, five, another, one receipt) // from 2 s on; they are paid back at 5, 10 and 11 s
		full   time.Duration
	}{
		"none":                         {func(*stage, receipt, receipt, receipt) {}, 11 * sec},
		"first":                        {func(_ *stage, a, _, _ receipt) { a.Settle(0) }, 8 * sec},
		"second":                       {func(_ *stage, _, b, _ receipt) { b.Settle(0) }, 6 * sec},
		"last":                         {func(_ *stage, _, _, c receipt) { c.Settle(0) }, 10 * sec},
		"first and second":             {func(_ *stage, a, b, _ receipt) { a.Settle(0); b.Settle(0) }, 3 * sec},
		"second and first":             {func(_ *stage, a, b, _ receipt) { b.Settle(0); a.Settle(0) }, 3 * sec},
		"half of each":                 {func(_ *stage, a, b, _ receipt) { a.Settle(2); b.Settle(3) }, 6 * sec},
		"all":                          {func(_ *stage, a, b, c receipt) { a.Settle(0); b.Settle(0); c.Settle(0) }, 0},
		"all backwards":                {func(_ *stage, a, b, c receipt) { c.Settle(0); b.Settle(0); a.Settle(0) }, 0},
		"first, second at 3 s":         {func(s *stage, a, b, _ receipt) { a.Settle(0); s.at(3 * sec); b.Settle(0) }, 4 * sec},
		"first, second at 6 s":         {func(s *stage, a, b, _ receipt) { a.Settle(0); s.at(6 * sec); b.Settle(0) }, 7 * sec},
		"first, last at 7.5 s":         {func(s *stage, a, _, c receipt) { a.Settle(0); s.at(7500 * ms); c.Settle(0) }, 0},
		"second, first at 3 s":         {func(s *stage, a, b, _ receipt) { b.Settle(0); s.at(3 * sec); a.Settle(0) }, 4 * sec},
		"second, last at 5.5 s":        {func(s *stage, _, b, c receipt) { b.Settle(0); s.at(5500 * ms); c.Settle(0) }, 0},
		"last, second at 6 s":          {func(s *stage, _, b, c receipt) { c.Settle(0); s.at(6 * sec); b.Settle(0) }, 0},
		"second, two more, first":      {func(s *stage, a, b, _ receipt) { b.Settle(0); s.AllowN(2); s.at(4 * sec); a.Settle(0) }, 7 * sec},
		"first, two more, then second": {func(s *stage, a, b, _ receipt) { a.Settle(0); s.AllowN(2); s.at(4 * sec); b.Settle(0) }, 7 * sec},
	} {
		bucket := weir.TokenBucket(weir.PerSecond(1).WithBurst(20))
		for _, p := range []weir.Policy{bucket, weir.All(bucket, weir.SlidingWindow(weir.PerSecond(99)))} {
			onStages(t, p, func(t *testing.T, s *stage) {
				a, b, c := s.Reserve(5), s.Reserve(5), s.Reserve(1)
				s.at(2 * sec)
				test.settle(s, a, b, c)
				require.Equal(t, max(0, test.full-s.now), s.Peek(20).RetryAfter, name)
			})
		}
	}
}

func TestSettleOfWindows(t *testing.T) {
	l := weir.Per(10, 10*sec)
	onCombinations(t, weir.FixedWindow(l), func(t *testing.T, s *stage) {
		first, second := s.Reserve(6), s.Reserve(4)
		s.at(10*sec - 1)
		second.Settle(1)
		require.Equal(t, 3, s.Tokens())
		s.at(10 * sec)
		require.True(t, s.AllowN(8))
		first.Settle(0)
		require.Equal(t, 2, s.Tokens(), "another window")
	})
	onCombinations(t, weir.SlidingWindow(l), func(t *testing.T, s *stage) {
		first := s.Reserve(3)
		s.at(4 * sec)
		second, third := s.Reserve(3), s.Reserve(3)
		s.at(5 * sec)
		second.Settle(1)
		require.Equal(t, 3, s.Tokens())
		first.Settle(0)
		require.Equal(t, 6, s.Tokens())
		s.at(14*sec - 1)
		require.Equal(t, 6, s.Tokens())
		third.Settle(2)
		require.Equal(t, 7, s.Tokens())
		s.at(14 * sec)
		require.True(t, s.AllowN(10))
		third.Settle(0)
		require.Zero(t, s.Tokens())
	})
	onCombinations(t, weir.SlidingCounter(l), func(t *testing.T, s *stage) {
		first, second := s.Reserve(4), s.Reserve(4)
		s.at(15 * sec)
		require.Equal(t, 6, s.Tokens())
		first.Settle(0)
		require.Equal(t, 8, s.Tokens(), "half of them is in view")
		require.True(t, s.AllowN(8))
		s.at(20 * sec)
		second.Settle(0)
		require.Equal(t, 2, s.Tokens(), "out of view")
	})
}

func TestSettleOfOneThatIsPending(t *testing.T) {
	onCombinations(t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(10))
		less, more, none := s.Reserve(5), s.Reserve(2), s.Reserve(3)
		require.Equal(t, []time.Duration{5 * sec, 7 * sec, 10 * sec}, []time.Duration{less.Delay(), more.Delay(), none.Delay()})
		require.Equal(t, 11*sec, s.Peek(1).RetryAfter)
		none.Settle(0)
		require.Equal(t, 8*sec, s.Peek(1).RetryAfter, "struck")
		require.Equal(t, 2, s.Stats().Waiting)
		less.Settle(1)
		require.Equal(t, 4*sec, s.Peek(1).RetryAfter)
		less.Cancel()
		less.Settle(0)
		none.Settle(9)
		none.Cancel()
		require.Equal(t, 4*sec, s.Peek(1).RetryAfter, "once")
		more.Settle(5)
		require.Equal(t, 7*sec, s.Peek(1).RetryAfter, "3 more")
		more.Cancel()
		require.Equal(t, 7*sec, s.Peek(1).RetryAfter, "it is spent")
		require.Equal(t, []time.Duration{5 * sec, 7 * sec}, []time.Duration{less.Delay(), more.Delay()}, "instants stay")
		require.Equal(t, 2, s.Stats().Waiting)
		requireRetry(t, s, 1, 7*sec)
		require.Zero(t, s.Stats().Waiting)
	})
	for _, p := range windowKinds(weir.Per(4, 10*sec)) {
		onCombinations(t, p, func(t *testing.T, s *stage) {
			require.True(t, s.AllowN(4))
			r, cancelled := s.Reserve(4), s.Reserve(4)
			cancelled.Cancel()
			cancelled.Settle(0)
			cancelled.Settle(9)
			r.Settle(1)
			s.at(r.Delay())
			require.Equal(t, 3, s.Tokens())
			r.Settle(0)
			r.Cancel()
			require.Equal(t, 3, s.Tokens())
		})
	}
}

func TestSettleUnderAnotherPolicy(t *testing.T) {
	for _, p := range perTenSeconds() {
		onStages(t, p, func(t *testing.T, s *stage) {
			less, more, kept := s.Reserve(3), s.Reserve(3), s.Reserve(3)
			require.NoError(t, s.SetPolicy(p))
			kept.Settle(0)
			require.Equal(t, 4, s.Tokens(), "an equal policy changes nothing")
			require.NoError(t, s.SetPolicy(weir.SlidingWindow(weir.Per(20, 10*sec))))
			require.Equal(t, 14, s.Tokens())
			less.Settle(0)
			require.Equal(t, 14, s.Tokens(), "it is no receipt of this policy")
			more.Settle(5)
			require.Equal(t, 12, s.Tokens())
		})
	}
	twenty := weir.SlidingWindow(weir.PerHour(20))
	clients := newClients[string](t, weir.SlidingWindow(weir.PerHour(10)), weir.NewManualClock())
	receipt := clients.Reserve("alice", 6)
	require.True(t, clients.TakeAs("alice", 1, twenty).Allowed)
	receipt.Settle(0)
	require.False(t, clients.TakeAs("alice", 14, twenty).Allowed)
	require.True(t, clients.TakeAs("alice", 13, twenty).Allowed)
}

// One that is settled before its turn still has one, which a new policy lays out again.
func TestDelayAfterSettle(t *testing.T) {
	onStages(t, weir.TokenBucket(weir.PerSecond(1)), func(t *testing.T, s *stage) {
		require.True(t, s.Allow())
		r := s.Reserve(1)
		r.Settle(1)
		require.Equal(t, sec, r.Delay())
		require.NoError(t, s.SetPolicy(weir.TokenBucket(weir.PerSecond(10).WithBurst(1))))
		require.Equal(t, 1, s.Stats().Waiting)
		require.Equal(t, 100*ms, r.Delay())
		s.at(100 * ms)
		require.Zero(t, s.Stats().Waiting)
		require.Zero(t, r.Delay())
	})
}

func TestSettleAfterAReset(t *testing.T) {
	for _, p := range perTenSeconds() {
		onCombinations(t, p, func(t *testing.T, s *stage) {
			receipt := s.Reserve(10)
			s.Reset()
			require.True(t, s.AllowN(10))
			receipt.Settle(0)
			require.Zero(t, s.Tokens(), "nothing of it was outstanding")
		})
	}
}

func TestSettleAfterItsClientWasSwept(t *testing.T) {
	for _, p := range perTenSeconds() {
		clock := weir.NewManualClock()
		clients := newClients[string](t, p, clock)
		less, more := clients.Reserve("alice", 8), clients.Reserve("alice", 2)
		clock.Advance(time.Hour)
		require.Equal(t, 1, clients.Sweep())
		less.Settle(0)
		require.Equal(t, 10, clients.Tokens("alice"))
		more.Settle(5)
		require.Equal(t, 7, clients.Tokens("alice"))
		require.Equal(t, 1, clients.Len(), "more was charged")
	}
}

// TestSettleMintsNothing: whoever settles has at most what it would have had it known the cost, and a window has
// exactly that.
func TestSettleMintsNothing(t *testing.T) {
	burst := weir.TokenBucket(weir.PerSecond(10).WithBurst(25))
	policies := append(perTenSeconds(), burst, weir.All(append(perTenSeconds(), burst)...), weir.TokenBucket(weir.Per(10, 13*sec)), weir.LeakyBucket(weir.PerSecond(7), 0))
	for i, p := range policies {
		t.Run(p.Name(), func(t *testing.T) {
			for seed := range uint64(30) {
				random := rand.New(rand.NewPCG(seed, 43))
				clock := weir.NewManualClock()
				most := weir.New(p).Tokens()
				l, knowing := alice{newClients[string](t, p, clock)}, weir.New(p, weir.WithClock(clock))
				type open struct {
					receipt weir.Reservation
					actual  int
				}
				var receipts []open
				for range 200 {
					clock.Advance(time.Duration(random.IntN(700)) * ms)
					switch random.IntN(3) {
					case 0:
						n := 1 + random.IntN(most)
						if r := l.ReserveWithin(n, 0); r.OK() {
							actual := random.IntN(n + 1)
							require.True(t, knowing.AllowN(actual), "seed %d", seed)
							receipts = append(receipts, open{r, actual})
						}
					case 1:
						if i := random.IntN(len(receipts) + 1); i < len(receipts) {
							receipts[i].receipt.Settle(receipts[i].actual)
							receipts = append(receipts[:i], receipts[i+1:]...)
						}
					}
					have, would := l.Peek(most), knowing.Peek(most)
					require.LessOrEqual(t, l.Tokens(), knowing.Tokens(), "seed %d", seed)
					require.GreaterOrEqual(t, have.RetryAfter, would.RetryAfter, "seed %d", seed)
					if window := 1 <= i && i <= 3; window && len(receipts) == 0 {
						require.Equal(t, would, have, "seed %d", seed)
					}
				}
			}
		})
	}
}
