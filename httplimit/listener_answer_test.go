package httplimit_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// gated is a listener that accepts a connection once its client says so: a server that is slow to accept.
type gated struct {
	net.Listener
	open chan struct{}
}

func (g gated) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err == nil {
		<-g.open
	}
	return conn, err
}

// refusing answers on l with 429 to all connections.
func refusing(t *testing.T, l net.Listener, limit weir.Limit) net.Listener {
	t.Helper()
	all := weir.New(weir.TokenBucket(limit), weir.WithClock(weir.NewManualClock()))
	all.Allow()
	l = httplimit.Listener(l, weir.NewLayers(weir.Global[net.Addr](all)), httplimit.WithTooManyRequests())
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
	})
	return l
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout(l.Addr().Network(), l.Addr().String(), hang)
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(hang)))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// requireTooManyRequests checks all of an answer.
func requireTooManyRequests(t *testing.T, answer []byte, retryAfter ...string) {
	t.Helper()
	reader := bufio.NewReader(bytes.NewReader(answer))
	resp, err := http.ReadResponse(reader, nil)
	require.NoError(t, err, "%q", answer)
	require.Zero(t, reader.Buffered(), "nothing follows the head")
	require.Equal(t, "HTTP/1.1 429 Too Many Requests", resp.Proto+" "+resp.Status)
	date, err := http.ParseTime(resp.Header.Get("Date"))
	require.NoError(t, err)
	require.Less(t, time.Since(date), time.Hour)
	resp.Header.Del("Date")
	require.Contains(t, string(answer), "\r\nConnection: close\r\n")
	want := http.Header{"Content-Length": {"0"}, "Cache-Control": {"no-store"}}
	if len(retryAfter) > 0 {
		want["Retry-After"] = retryAfter
	}
	require.Equal(t, want, resp.Header)
}

func TestListenerAnswersWithTooManyRequests(t *testing.T) {
	t.Parallel()
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	for _, inner := range []net.Listener{listenLoopback(t), unix} {
		l := refusing(t, inner, weir.PerMinute(1))
		answer, err := io.ReadAll(dial(t, l)) // of one who says nothing
		require.NoError(t, err)
		requireTooManyRequests(t, answer, "60")
	}
	l := refusing(t, listenLoopback(t), weir.Limit{})
	answer, err := io.ReadAll(dial(t, l))
	require.NoError(t, err)
	requireTooManyRequests(t, answer) // no wait would help
}

// What a client has sent is not read, and the answer is none the worse for it.
func TestListenerAnswersWhoeverHasSentABody(t *testing.T) {
	t.Parallel()
	inner := gated{listenLoopback(t), make(chan struct{})}
	l := refusing(t, inner, weir.PerMinute(1))
	for range 10 {
		conn := dial(t, l)
		_, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: weir\r\nContent-Length: 16384\r\n\r\n"+strings.Repeat("x", 16384))
		require.NoError(t, err)
		inner.open <- struct{}{}
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		requireTooManyRequests(t, answer, "60")
	}
}

// More than all buffers on the way can hold is on its way while the answer comes.
func TestListenerAnswersWhoeverIsSendingABody(t *testing.T) {
	t.Parallel()
	l := refusing(t, listenLoopback(t), weir.PerMinute(1))
	conn := dial(t, l)
	sent := make(chan error)
	go func() {
		_, err := conn.Write(make([]byte, 64<<20))
		sent <- err
	}()
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	requireTooManyRequests(t, answer, "60")
	require.Error(t, <-sent, "nobody has read it")
}

func TestListenerAnswersNetHTTP(t *testing.T) {
	t.Parallel()
	inner := gated{listenLoopback(t), make(chan struct{})}
	l := refusing(t, inner, weir.PerMinute(1))
	client := &http.Client{Transport: &http.Transport{}, Timeout: hang}
	trace := &httptrace.ClientTrace{WroteHeaders: func() { inner.open <- struct{}{} }}
	for _, size := range []int{0, 1, 16 << 10, 16 << 20} {
		for range 5 {
			ctx := httptrace.WithClientTrace(t.Context(), trace)
			r, err := http.NewRequestWithContext(ctx, "POST", "http://"+l.Addr().String(), bytes.NewReader(make([]byte, size)))
			require.NoError(t, err)
			resp, err := client.Do(r)
			require.NoError(t, err)
			require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
			require.Equal(t, "60", resp.Header.Get("Retry-After"))
			require.Zero(t, resp.ContentLength)
			require.True(t, resp.Close)
			require.NoError(t, resp.Body.Close())
		}
	}
}

// It is not parallel: others start goroutines as well.
func TestListenerNeedsNoGoroutinesForWhomItRefuses(t *testing.T) {
	const n = 500
	for name, opts := range map[string][]httplimit.ListenerOption{"reset": nil, "answered": {httplimit.WithTooManyRequests()}} {
		layers, clients := connectionsPerAddress(1)
		l := httplimit.Listener(listenLoopback(t), layers, opts...)
		greet(t, l, 1)
		said, err := hears(l, net.Dialer{})
		require.NoError(t, err)
		require.Equal(t, "hello", said)
		before, most := runtime.NumGoroutine(), 0
		for range n {
			conn, err := net.DialTimeout("tcp", l.Addr().String(), hang)
			if err == nil { // or it is reset already
				defer conn.Close()
			}
			most = max(most, runtime.NumGoroutine())
		}
		_, _ = hears(l, net.Dialer{}) // accepted in turn, it is refused after all others
		most = max(most, runtime.NumGoroutine())
		require.Less(t, most, before+n/10, name)
		require.Equal(t, uint64(n+1), clients.Stats().Denied, name)
		require.NoError(t, l.Close())
	}
}
