package grpclimit_test

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// Whenever its client goes away, an RPC counts if it was served, and is settled once.
func TestCancelledRPCsCountAsTheyWereServed(t *testing.T) {
	rpcs, messages := still(hourly(1000, "rpcs")), still(hourly(100_000, "messages"))
	var served, settled, received atomic.Uint64
	s := &grpclimit.Server{
		Layers:  layersOf(rpcs),
		Receive: grpclimit.Messages{Wait: func(ctx context.Context, _ *grpclimit.Call, n int) error { return messages.WaitN(ctx, n) }},
		Settle:  func(*grpclimit.Call, codes.Code) int { settled.Add(1); return 0 },
	}
	server := grpc.NewServer(append(s.Options(), grpc.WaitForHandlers(true))...)
	server.RegisterService(&echoService, &echo{
		say: func(ctx context.Context, s string) (string, error) {
			served.Add(1)
			<-ctx.Done()
			return s, ctx.Err()
		},
		stream: func(s grpc.ServerStream) error {
			served.Add(1)
			for {
				m, err := receive(s)
				if err != nil {
					return nil
				}
				received.Add(1)
				if err := send(s, m); err != nil {
					return err
				}
			}
		},
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()

	const seed = 1
	var clients sync.WaitGroup
	for i := range 16 {
		cc, random := dial(t, l.Addr().String()), rand.New(rand.NewPCG(seed, uint64(i)))
		clients.Go(func() {
			if err := chatOnce(t.Context(), cc); err != nil { // one that is served in any case
				t.Error(err)
			}
			for range 15 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(4000))*time.Microsecond)
				if random.IntN(2) == 0 {
					_, _ = say(ctx, cc, "hello")
				} else if s, err := cc.NewStream(ctx, &chat, methodChat); err == nil {
					for send(s, "hello") == nil && second(receive(s)) == nil {
					}
				}
				cancel()
			}
		})
	}
	clients.Wait()
	server.Stop() // which waits for the handlers
	require.NoError(t, <-done)
	require.Equal(t, weir.Stats{Allowed: served.Load()}, rpcs.Stats())
	require.Equal(t, served.Load(), settled.Load())
	require.Equal(t, 1000, rpcs.Tokens(), "all of it is given back")
	require.Equal(t, received.Load(), messages.Stats().Allowed)
}
