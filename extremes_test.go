package weir_test

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// At the lowest readings there is no time before them in which anything could have become full.
func TestASweepAtTheLowestReadingForgetsNoDebt(t *testing.T) {
	kinds := policyKinds()
	for _, p := range append(everyAlgorithm(weir.Every(1)), everyAlgorithm(weir.Every(30*year))...) {
		kinds = append(kinds, policyKind{p.String(), p, 1, 1})
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			for _, staleAfter := range []time.Duration{0, 1, time.Hour, math.MaxInt64} {
				for _, reading := range []time.Duration{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 2} {
					clock := newSteppingClock(reading)
					clients := newClients[string](t, k.policy, clock, weir.WithStaleAfter(staleAfter))
					limiter := weir.New(k.policy, weir.WithClock(clock))
					require.Equal(t, k.atOnce, drain(func() bool { return clients.Allow("alice") }))
					require.Equal(t, k.atOnce, drain(limiter.Allow))
					for _, later := range []time.Duration{reading, math.MinInt64, math.MinInt64 + 1, reading} {
						clock.set(later)
						require.Zero(t, clients.Sweep(), "stale after %v, from %d to %d", staleAfter, reading, later)
						require.Equal(t, 1, clients.Len())
						require.False(t, clients.Allow("alice"))
						require.Equal(t, limiter.Peek(1), clients.Peek("alice", 1))
					}
				}
			}
		})
	}
}

// A bucket that takes as long to refill as any may is as exact as another when many ask at once.
func TestTheSlowestBucketAdmitsOneOfMany(t *testing.T) {
	const goroutines, rounds = 64, 150
	for _, interval := range []time.Duration{30 * year, 30 * 365 * 24 * time.Hour} {
		slow := weir.TokenBucket(weir.Every(interval))
		for _, p := range []weir.Policy{slow, weir.All(slow, slow), weir.FirstOf(slow)} {
			for name, clock := range map[string]weir.Clock{
				"system": weir.SystemClock(), "manual": weir.NewManualClock(), "foreign": &jumpyClock{step: 1, jitter: time.Hour},
			} {
				clients := newClients[int](t, p, clock)
				limiter := weir.New(p, weir.WithClock(clock))
				for round := range rounds {
					var single, fresh, known atomic.Int64
					together(goroutines, func(int) {
						if limiter.Allow() {
							single.Add(1)
						}
						if clients.Allow(round) {
							fresh.Add(1)
						}
						if clients.Take(-1, 1).Allowed {
							known.Add(1)
						}
					})
					require.EqualValues(t, 1, single.Load(), "Limiter, %s, %v, round %d", name, p, round)
					require.EqualValues(t, 1, fresh.Load(), "a new key, %s, %v, round %d", name, p, round)
					require.EqualValues(t, 1, known.Load(), "a known key, %s, %v, round %d", name, p, round)
					limiter.Reset()
					clients.Reset(-1)
				}
			}
		}
	}
}

// A bucket is read rightly however long ago it was charged: to the nanosecond where that needs more ticks than
// there are in a word, and behind.
func TestABucketIsFullAfterAsManyTicksAsAWordHas(t *testing.T) {
	const ticks = time.Duration(math.MaxUint64 / 8)
	for _, idle := range []time.Duration{30 * time.Minute, ticks / 2, ticks - 1, ticks, ticks + 1, ticks + 2, ticks + 40*time.Minute, 2 * ticks} {
		clock := &setClock{now: -int64(ticks)}
		limiter := weir.New(weir.TokenBucket(weir.PerHour(1)), weir.WithClock(clock))
		odd := weir.New(weir.TokenBucket(weir.Per(8, 9)), weir.WithClock(clock)) // a tick more than a nanosecond each
		require.True(t, limiter.Allow() && odd.Allow())
		clock.now += int64(idle)
		require.Equal(t, max(0, time.Hour-idle), limiter.Peek(0).ResetAfter, "%v", idle)
		require.Zero(t, odd.Peek(0).ResetAfter, "%v", idle)
	}
}
