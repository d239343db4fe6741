package weir_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// What users of other limiters have reported, beside the cases.

// TestWhoStaysBelowTheLimitIsNeverDenied: didip/tollbooth#48, where 2 a second under a limit of 20 were
// denied now and then after six minutes.
func TestWhoStaysBelowTheLimitIsNeverDenied(t *testing.T) {
	forEachKind(t, func(t *testing.T, k policyKind) {
		clock := newSteppingClock(1_700_000_000 * time.Second)
		clients := newClients[string](t, k.policy, clock)
		r := rand.New(rand.NewPCG(1, 48))
		for i := range 5_000 {
			require.True(t, clients.Allow("alice"), i)
			pause := clients.Peek("alice", 0).ResetAfter // until what was taken is back
			clock.advance(pause + time.Duration(r.Int64N(int64(time.Second))))
		}
	})
}

// TestASweepForgetsOnlyWhoIsFull: LemmyNet/lemmy#4560, where the one of full buckets forgot all.
func TestASweepForgetsOnlyWhoIsFull(t *testing.T) {
	clock := newSteppingClock(0)
	clients := newClients[int](t, weir.TokenBucket(weir.PerSecond(1).WithBurst(100)), clock)
	for key := range 100 {
		require.True(t, clients.AllowN(key, key+1))
	}
	for s := range 100 {
		clock.set(time.Duration(s)*time.Second + time.Millisecond)
		clients.Sweep()
		require.Equal(t, 100-s, clients.Len())
	}
}

// TestWaitersInParallelTakeTurns: golang/go#43858, where the waits of several goroutines were served at once.
func TestWaitersInParallelTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.New(weir.TokenBucket(weir.PerSecond(10).WithBurst(1)))
		begin := time.Now()
		passed := make(chan time.Duration, 40)
		for range 4 {
			go func() {
				for range 10 {
					_ = l.WaitN(context.Background(), 1)
					passed <- time.Since(begin)
				}
			}()
		}
		for turn := range 40 {
			require.Equal(t, time.Duration(turn)*100*time.Millisecond, <-passed)
		}
	})
}
