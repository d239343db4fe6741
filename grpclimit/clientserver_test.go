package grpclimit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAClientObeysAServer(t *testing.T) {
	for _, method := range []string{methodSay, methodCollect, methodCount, methodChat} {
		t.Run(method, func(t *testing.T) {
			l := still(weir.TokenBucket(weir.Every(30 * time.Minute)))
			addr := serve(t, &echo{say: echoing.say, stream: func(grpc.ServerStream) error { return status.Error(codes.Aborted, "served") }},
				grpclimit.Limit(grpclimit.Global(l))...)
			c := &grpclimit.Client{}
			cc, ctx := dial(t, addr, c.DialOptions()...), within(t)
			ask := func() error {
				if method == methodSay {
					return second(say(ctx, cc, "hello"))
				}
				s, err := cc.NewStream(ctx, streamKinds[method], method)
				if err != nil {
					return err
				}
				err = outcome(s)
				require.Equal(t, err, outcome(s), "asked again, it is the same")
				if status.Code(err) == codes.Aborted {
					return nil
				}
				return err
			}
			require.NoError(t, ask())
			require.Zero(t, c.Held(addr))
			requireDenied(t, ask(), l.Policy().Name(), 30*time.Minute)
			require.InDelta(t, 30*time.Minute, c.Held(addr), float64(time.Minute))
			require.Equal(t, codes.DeadlineExceeded, status.Code(ask()))
			require.Equal(t, weir.Stats{Allowed: 1, Denied: 1}, l.Stats(), "it was not sent")
		})
	}
}

func TestWhatWaitsAsLongAsItIsToldSucceeds(t *testing.T) {
	l := weir.New(weir.TokenBucket(weir.PerSecond(20).WithBurst(1)))
	cc := dial(t, serve(t, echoing, grpclimit.Limit(grpclimit.Global(l))...), (&grpclimit.Client{}).DialOptions()...)
	ctx, denied := within(t), uint64(0)
	for served := 0; served < 5; {
		switch err := second(say(ctx, cc, "hello")); status.Code(err) {
		case codes.OK:
			served++
		case codes.ResourceExhausted:
			denied++
		default:
			require.NoError(t, err)
		}
	}
	require.Equal(t, weir.Stats{Allowed: 5, Denied: denied}, l.Stats())
	require.LessOrEqual(t, denied, uint64(5), "never twice in a row")
}

// The client's own limit, by sixteen connections together, is the most that the server sees.
func TestConnectionsShareTheLimitOfAClient(t *testing.T) {
	policy := weir.TokenBucket(weir.PerSecond(1000).WithBurst(50))
	limit, seen := weir.NewPerClient[string](policy), weir.New(weir.TokenBucket(weir.Unlimited()))
	defer limit.Close()
	c := &grpclimit.Client{Limit: limit}
	addr := serve(t, echoing, grpclimit.Limit(grpclimit.Global(seen))...)
	began := time.Now()
	var clients sync.WaitGroup
	for range 16 {
		cc := dial(t, addr, c.DialOptions()...)
		clients.Go(func() {
			for i := range 10 {
				ctx, cancel := context.WithCancel(within(t))
				if i%3 == 0 {
					cancel() // it takes nothing
				}
				if err := second(say(ctx, cc, "hello")); (err != nil) != (i%3 == 0) {
					t.Error(err)
				}
				cancel()
				if err := chatOnce(within(t), cc); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	require.Equal(t, uint64(16*16), limit.Stats().Allowed)
	require.Equal(t, uint64(16*16), seen.Stats().Allowed)
	require.LessOrEqual(t, 16*16, policy.MaxWithin(time.Since(began)+1))
}
