package redislimit_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A deafConn loses the next answer, and breaks, when it is told to.
type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.deaf.CompareAndSwap(true, false) {
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// TestWhatIsGivenBackIsGivenBackOnce: where go-redis does not learn whether it was, it
// does not try again. What is consumed may be consumed twice.
func TestWhatIsGivenBackIsGivenBackOnce(t *testing.T) {
	ctx, s, deaf := context.Background(), redistest.Start(t), new(atomic.Bool)
	client := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return deafConn{conn, deaf}, err
	}})
	t.Cleanup(func() { _ = client.Close() })
	c := redislimit.New(client, bucket(10, 24*time.Hour), redislimit.WithTimeout(generous))
	left := func() int {
		d, err := c.Peek(ctx, "a", 0)
		require.NoError(t, err)
		return d.Remaining
	}
	_, err := c.Take(ctx, "a", 6)
	require.NoError(t, err)
	require.Equal(t, 4, left())
	deaf.Store(true)
	require.Error(t, c.Refund(ctx, "a", 3))
	require.Equal(t, 7, left())
	deaf.Store(true)
	ok, err := c.AllowN(ctx, "a", 2)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 3, left())
}

// TestAClientThatKeepsToNoContextHasBoundedGoroutines.
func TestAClientThatKeepsToNoContextHasBoundedGoroutines(t *testing.T) {
	s := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: s.Addr, ReadTimeout: 2 * time.Second})
	t.Cleanup(func() { _ = client.Close() })
	c := redislimit.New(client, bucket(10, time.Hour), redislimit.WithTimeout(generous))
	recovers(t, c)
	before := runtime.NumGoroutine()
	s.Signal(syscall.SIGSTOP)
	var calls sync.WaitGroup
	for range 4000 {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			_, err := c.Take(ctx, "a", 1)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
	calls.Wait()
	require.Less(t, runtime.NumGoroutine(), before+1024+200)
	s.Signal(syscall.SIGCONT)
}
