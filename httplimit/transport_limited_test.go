package httplimit_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// limited answers as a handler does that asks weir.
func limited(limiter *weir.Limiter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d := limiter.Take(1)
		httplimit.HeadersStandard.Set(w.Header(), d, limiter.Policy())
		if !d.Allowed {
			httplimit.WriteDenied(w, r, d)
		}
	}
}

// Until the first answer has come, 16 are sent, of which as many are denied as
// there is no room for. After that the server's fields hold back all others.
func TestNobodyIsDeniedWhoKnowsTheLimit(t *testing.T) {
	t.Parallel()
	forEachProtocol(t, func(t *testing.T, major int) {
		limiter := weir.New(weir.TokenBucket(weir.PerSecond(100).WithBurst(20)))
		u, base := serveProtocol(t, major, limited(limiter))
		client := &http.Client{Transport: &httplimit.Transport{Base: base}}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 3 {
					status, _ := get(t, client, u)
					require.Equal(t, 200, status)
				}
			})
		}
		all.Wait()
		require.Equal(t, uint64(48), limiter.Stats().Allowed)
		require.Zero(t, limiter.Stats().Denied)
	})
}

// The same with more denials, and in the time of a bubble: net/http on both ends
// of pipes.
func TestOnlyTheFirstAreDenied(t *testing.T) {
	for name, test := range map[string]struct {
		policy weir.Policy
		denied uint64 // at most
		within time.Duration
	}{
		"token bucket":      {weir.TokenBucket(weir.PerSecond(10).WithBurst(5)), 11, time.Minute},
		"fixed window":      {weir.FixedWindow(weir.Per(10, 5*sec)), 6, 2 * time.Minute},
		"sliding window":    {weir.SlidingWindow(weir.Per(10, 5*sec)), 6, 2 * time.Minute},
		"one a second":      {weir.TokenBucket(weir.PerSecond(1)), 15, 4 * time.Minute},
		"with room for all": {weir.TokenBucket(weir.PerSecond(100).WithBurst(16)), 0, 20 * sec},
		// Where it is the other limit's turn to bind, who goes first finds out.
		"two": {weir.All(weir.TokenBucket(weir.PerSecond(10)), weir.FixedWindow(weir.PerMinute(100))), 6 + 3, 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := weir.New(test.policy)
				base := servePipes(t, limited(limiter))
				client := &http.Client{Transport: &httplimit.Transport{Base: base, Retries: 1, MaxWait: time.Hour}}
				began := time.Now()
				var all sync.WaitGroup
				for range 16 {
					all.Go(func() {
						for range 10 {
							status, _ := get(t, client, hostA)
							require.Equal(t, 200, status)
						}
					})
				}
				all.Wait()
				require.Equal(t, uint64(160), limiter.Stats().Allowed)
				require.LessOrEqual(t, limiter.Stats().Denied, test.denied)
				require.LessOrEqual(t, time.Since(began), test.within)
			})
		})
	}
}

// servePipes returns what sends to a server in the same bubble.
func servePipes(t *testing.T, h http.Handler) http.RoundTripper {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }()
	base := &http.Transport{DialContext: l.dial, MaxIdleConnsPerHost: 100}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		_ = server.Close()
	})
	return base
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// Cancelled while it is sent, and while many others come and go: the next ones go
// their way.
func TestOneTransportForMany(t *testing.T) {
	t.Parallel()
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(1000).WithBurst(50)))
	u := serve(t, limited(limiter), "")
	hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10_000)))
	defer hosts.Close()
	base := http.DefaultTransport.(*http.Transport).Clone()
	defer base.CloseIdleConnections()
	transport := &httplimit.Transport{Base: base, Hosts: hosts, Retries: 2, MaxWait: time.Hour}
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for j := range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*37+j*101)%400)*10*time.Microsecond)
				_, err := ask(t, transport, ctx, u)
				cancel()
				if err != nil {
					require.True(t, errors.Is(err, context.DeadlineExceeded), err)
				}
			}
		})
	}
	all.Wait()
	_, err := ask(t, transport, t.Context(), u)
	require.NoError(t, err)
}
