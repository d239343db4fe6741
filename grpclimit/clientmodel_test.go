package grpclimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// A forbidding server answers at random, and notes until when it wants no RPC. An answer of
// the same instant may not have been heard.
type forbidding struct {
	t      *testing.T
	mu     sync.Mutex
	random *rand.Rand
	heard  time.Time // the latest answer that forbids
	before time.Time // what those before it have asked for
	until  time.Time // with it
	sent   int
}

func (f *forbidding) invoke(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	f.mu.Lock()
	now := time.Now()
	f.sent++
	until := f.until
	if now.Equal(f.heard) {
		until = f.before
	}
	if now.Before(until) {
		f.t.Errorf("sent %v too early", until.Sub(now))
	}
	latency, delay := time.Duration(f.random.IntN(20))*100*time.Millisecond, time.Duration(f.random.IntN(50)-20)*100*time.Millisecond
	f.mu.Unlock()
	time.Sleep(latency)
	if delay <= 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now = time.Now(); !now.Equal(f.heard) {
		f.heard, f.before = now, f.until
	}
	if until = now.Add(delay); until.After(f.until) {
		f.until = until
	}
	return asksToWait(codes.Unavailable, delay)
}

func TestNothingIsSentThatIsHeldBack(t *testing.T) {
	cc := away(t)
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			limit := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(5)))
			defer limit.Close()
			c := &grpclimit.Client{Limit: limit, MaxWait: 3 * sec}
			if seed%2 == 0 {
				c.Limit = nil
			}
			unary, f := c.Unary(), &forbidding{t: t, random: rand.New(rand.NewPCG(seed, 0))}
			began := time.Now()
			var clients sync.WaitGroup
			for i := range 10 {
				random := rand.New(rand.NewPCG(seed, uint64(i+1)))
				clients.Go(func() {
					for range 10 {
						time.Sleep(time.Duration(random.IntN(10)) * 100 * time.Millisecond)
						asked, patience := time.Now(), time.Duration(1+random.IntN(60))*100*time.Millisecond
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						err := unary(ctx, methodSay, nil, nil, cc, f.invoke)
						cancel()
						var wait *grpclimit.WaitError
						if errors.As(err, &wait) && time.Since(asked) > patience {
							t.Errorf("seed %d: waited for %v, and had %v", seed, time.Since(asked), patience)
						}
					}
				})
			}
			clients.Wait()
			require.NotZero(t, f.sent)
			require.LessOrEqual(t, time.Since(began), 10*10*sec)
			if c.Limit != nil {
				require.Zero(t, limit.Stats().Waiting)
				require.LessOrEqual(t, f.sent, limit.Policy().MaxWithin(time.Since(began)+1))
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
