package weir_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestChargeIsOwedByThoseWhoComeLater(t *testing.T) {
	l := weir.Per(10, 10*sec)
	for _, test := range []struct {
		policy   weir.Policy
		one, ten time.Duration // for them at 3 s, after a charge of 15
		left     int           // after 9 taken at 0 s and a charge of 3 at 5 s
		oneThen  time.Duration
	}{
		{policy: weir.TokenBucket(l), one: 6 * sec, ten: 15 * sec, left: 3},
		{policy: weir.FixedWindow(l), one: 7 * sec, ten: 7 * sec, oneThen: 5 * sec},
		{policy: weir.SlidingWindow(l), one: 10 * sec, ten: 10 * sec, oneThen: 5 * sec},
		{policy: weir.SlidingCounter(l), one: 11 * sec, ten: 17 * sec, oneThen: 7500 * ms}, // 12 (1 - e) + 1 <= 10
	} {
		onCombinations(t, test.policy, func(t *testing.T, s *stage) {
			s.at(3 * sec)
			s.Charge(15)
			require.Zero(t, s.Tokens())
			require.Equal(t, test.ten, s.Peek(10).RetryAfter)
			requireRetry(t, s, 1, test.one)
		})
		onCombinations(t, test.policy, func(t *testing.T, s *stage) {
			require.True(t, s.AllowN(9))
			s.at(5 * sec)
			s.Charge(3)
			require.Equal(t, test.left, s.Tokens())
			require.Equal(t, weir.Stats{Allowed: 1}, s.Stats(), "a charge is not counted")
			if test.left == 0 {
				requireRetry(t, s, 1, test.oneThen)
			}
		})
	}
	onStages(t, weir.LeakyBucket(weir.PerSecond(10), 0), func(t *testing.T, s *stage) {
		s.Charge(5)
		requireRetry(t, s, 1, 500*ms)
	})
	onStages(t, weir.SlidingWindow(l), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(9))
		s.at(5 * sec)
		s.Charge(3)
		s.at(10 * sec)
		require.Equal(t, 7, s.Tokens(), "it has pushed out two of the oldest")
		s.at(15 * sec)
		require.Equal(t, 10, s.Tokens())
	})
}

func TestChargeOfAFirstOf(t *testing.T) {
	bucket := weir.TokenBucket(weir.Per(10, 10*sec))
	onStages(t, weir.FirstOf(bucket, weir.TokenBucket(weir.Per(5, 50*sec))), func(t *testing.T, s *stage) {
		s.Charge(8)
		require.Equal(t, 5, s.Tokens(), "the first that has them pays")
		s.Charge(4)
		require.Equal(t, 2, s.Tokens(), "then it was the second")
		require.Equal(t, 3, drain(s.Allow))
	})
	onStages(t, weir.FirstOf(weir.TokenBucket(weir.Limit{}), bucket), func(t *testing.T, s *stage) {
		s.Charge(15)
		require.Zero(t, s.Tokens(), "one that denies everything has nothing to pay with")
	})
}

func TestChargeBesideThoseWhoWait(t *testing.T) {
	onCombinations(t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(10))
		five := s.Reserve(5)
		s.Charge(3)
		require.Equal(t, 5*sec, five.Delay(), "its instant is fixed")
		require.Equal(t, 9*sec, s.Peek(1).RetryAfter)
		five.Cancel()
		require.Equal(t, 4*sec, s.Peek(1).RetryAfter)
		s.Refund(3)
		require.Equal(t, sec, s.Peek(1).RetryAfter)
	})
}

func TestRefundGivesBackTheNewest(t *testing.T) {
	l := weir.Per(10, 10*sec)
	onCombinations(t, weir.TokenBucket(l), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(9))
		s.at(2500 * ms)
		s.Refund(2)
		require.Equal(t, 4500*ms, s.Peek(10).RetryAfter)
		s.Refund(5)
		require.Equal(t, 10, s.Tokens(), "never above full")
		require.True(t, s.AllowN(10))
		require.False(t, s.Allow())
	})
	onCombinations(t, weir.FixedWindow(l), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(9))
		s.Refund(2)
		require.Equal(t, 3, s.Tokens())
		s.Refund(8)
		require.Equal(t, 10, s.Tokens())
		require.True(t, s.AllowN(10))
		require.False(t, s.Allow())
	})
	onCombinations(t, weir.SlidingWindow(l), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(3))
		s.at(4 * sec)
		require.True(t, s.AllowN(6))
		s.at(6 * sec)
		s.Refund(7) // the 6, and 1 of the 3
		require.Equal(t, 8, s.Tokens())
		s.at(10 * sec)
		require.Equal(t, 10, s.Tokens())
	})
	onCombinations(t, weir.SlidingCounter(l), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(8))
		s.at(15 * sec)
		require.True(t, s.AllowN(2))
		s.Refund(4) // the 2, and 2 of the 8
		require.Equal(t, 7, s.Tokens())
		s.Refund(100)
		require.Equal(t, 10, s.Tokens())
	})
	onStages(t, weir.BurstReserve(weir.Per(10, 10*sec), weir.Per(5, 50*sec)), func(t *testing.T, s *stage) {
		require.Equal(t, 15, drain(s.Allow))
		s.Refund(3)
		require.Equal(t, 3, s.Tokens(), "the reserve was taken last")
		s.Refund(6)
		require.Equal(t, 9, drain(s.Allow))
	})
	onStages(t, weir.All(weir.TokenBucket(l), weir.SlidingWindow(weir.PerHour(12))), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(10))
		s.Refund(4)
		require.Equal(t, 4, s.Tokens())
		require.True(t, s.AllowN(4))
		s.at(20 * sec)
		require.Equal(t, 2, s.Tokens())
	})
}

// gofiber/fiber#4422, gofiber/fiber#3867
func TestCase30ARefundAfterTheWindowRolled(t *testing.T) {
	for _, p := range perTenSeconds() {
		onCombinations(t, p, func(t *testing.T, s *stage) {
			receipt := s.Reserve(8)
			s.at(20 * sec)
			s.Refund(8)
			receipt.Settle(0)
			require.Equal(t, 10, s.Tokens())
			require.True(t, s.AllowN(10))
			require.False(t, s.Allow())
		})
	}
	onCombinations(t, weir.FixedWindow(weir.Per(10, 10*sec)), func(t *testing.T, s *stage) {
		receipt := s.Reserve(8)
		s.at(10 * sec)
		require.True(t, s.AllowN(3))
		receipt.Settle(0)
		require.Equal(t, 7, s.Tokens())
		s.Refund(8)
		require.Equal(t, 10, s.Tokens(), "no more than the 3 of this window")
		require.True(t, s.AllowN(10))
		require.False(t, s.Allow())
	})
}

func TestRefundIsNotForThoseWhoWait(t *testing.T) {
	onCombinations(t, weir.TokenBucket(weir.PerSecond(1).WithBurst(10)), func(t *testing.T, s *stage) {
		require.True(t, s.AllowN(10))
		five := s.Reserve(5)
		s.Refund(math.MaxInt)
		require.Equal(t, 5*sec, five.Delay())
		require.Equal(t, 1, s.Stats().Waiting)
		require.Zero(t, s.Tokens(), "5 at 5 s are paid back at 10 s")
		s.at(5 * sec)
		require.Equal(t, 5, s.Tokens())
		s.Refund(4)
		require.Equal(t, 9, s.Tokens(), "it waits no longer")
	})
}

func TestCase14NegativeChargesAndRefundsAreIgnored(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clients := newClients[string](t, k.policy, weir.NewManualClock())
		l := alice{clients}
		nothing := []int{0, -1, -5, math.MinInt}
		for _, n := range nothing {
			l.Charge(n)
			l.Refund(n)
		}
		l.Refund(5)
		require.Zero(t, clients.Len(), "there is nothing to give back")
		require.Equal(t, k.atOnce, drain(l.Allow))
		before := l.Peek(1)
		for _, n := range nothing {
			l.Charge(n)
			l.Refund(n)
			require.Equal(t, before, l.Peek(1), "%d", n)
		}
		require.Equal(t, weir.Stats{Allowed: uint64(k.atOnce), Denied: 1}, l.Stats())
	})
}

func TestHugeNumbers(t *testing.T) {
	for _, k := range policyKinds() {
		onStages(t, k.policy, func(t *testing.T, s *stage) {
			for _, huge := range []int{math.MaxInt/2 + 1, math.MaxInt - 1, math.MaxInt} {
				s.Reserve(1).Settle(huge)
				for range 2 {
					s.Charge(huge)
					if retry := s.Peek(1).RetryAfter; retry > 0 { // of first-of, one part has paid
						require.LessOrEqual(t, retry, 366*24*time.Hour, "it does not last for ever")
						requireRetry(t, s, 1, retry)
					}
				}
				s.at(s.now + 2*year)
				require.Equal(t, k.perTake, s.Tokens())
				require.Equal(t, k.atOnce, drain(s.Allow))
				s.Charge(huge)
				s.Charge(huge)
				for range 4 {
					s.Refund(huge)
				}
				require.Equal(t, k.perTake, s.Tokens(), "all that was owed")
				require.Equal(t, k.atOnce, drain(s.Allow), "and not one more")
				s.at(s.now + time.Hour)
				s.Refund(huge)
				require.Equal(t, k.atOnce, drain(s.Allow))
				s.at(s.now + 2*year)
			}
		})
	}
	onStages(t, weir.TokenBucket(weir.Unlimited()), func(t *testing.T, s *stage) {
		s.Charge(math.MaxInt)
		s.Refund(math.MaxInt)
		s.Reserve(math.MaxInt).Settle(math.MaxInt)
		s.Reserve(0).Settle(math.MaxInt)
		require.Equal(t, math.MaxInt, s.Tokens())
	})
	onStages(t, weir.FixedWindow(weir.Limit{}), func(t *testing.T, s *stage) {
		s.Charge(math.MaxInt)
		s.Refund(math.MaxInt)
		require.Zero(t, s.Tokens())
		require.False(t, s.Allow())
	})
}

// Whatever is charged and given back, a full one is no more than full.
func TestChargesAndRefundsMintNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 44))
			clock := weir.NewManualClock()
			l := alice{newClients[string](t, k.policy, clock)}
			var receipts []weir.Reservation
			amounts := []int{1, 2, 5, k.perTake, k.perTake + 1, 3 * k.perTake, math.MaxInt}
			for range 150 {
				clock.Advance(time.Duration(random.IntN(200)) * ms)
				switch n := amounts[random.IntN(len(amounts))]; random.IntN(8) {
				case 0:
					l.Charge(n % 1000)
				case 1:
					l.Refund(n)
				case 2:
					l.Reserve(1 + random.IntN(k.perTake)).Settle(n % 1000)
				case 3, 4:
					receipts = append(receipts, l.ReserveWithin(1+random.IntN(k.perTake), 3*sec))
				case 5:
					if i := random.IntN(len(receipts) + 1); i < len(receipts) {
						receipts[i].Settle(random.IntN(k.perTake))
					}
				default:
					l.AllowN(1 + random.IntN(k.perTake))
				}
				if d := l.Peek(0); d.Remaining > k.perTake || d.Remaining < 0 || d.ResetAfter < 0 {
					t.Fatalf("seed %d: %+v", seed, d)
				}
			}
			for l.Stats().Waiting > 0 {
				clock.Advance(time.Hour)
			}
			l.Refund(math.MaxInt)
			require.Equal(t, k.perTake, l.Tokens(), "seed %d", seed)
			require.Equal(t, k.atOnce, drain(l.Allow), "seed %d", seed)
		}
	})
}
