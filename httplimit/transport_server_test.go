package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// serveProtocol answers on loopback in HTTP/1.1, or over TLS in HTTP/2, and returns what sends there.
func serveProtocol(t *testing.T, major int, h http.HandlerFunc) (url string, base http.RoundTripper) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	if server.EnableHTTP2 = major == 2; server.EnableHTTP2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.URL, server.Client().Transport
}

func forEachProtocol(t *testing.T, f func(t *testing.T, major int)) {
	for _, major := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", major), func(t *testing.T) {
			t.Parallel()
			f(t, major)
		})
	}
}

// The connection of a refusal that was read to its end is used again.
func TestARetryUsesTheSameConnection(t *testing.T) {
	t.Parallel()
	forEachProtocol(t, func(t *testing.T, major int) {
		for _, size := range []int{0, 100, 64 << 10} {
			n := 0
			u, base := serveProtocol(t, major, func(w http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				if err != nil || string(text) != "text" {
					panic(fmt.Sprint(string(text), err))
				}
				if n++; n <= 3 {
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(429)
					_, _ = io.WriteString(w, strings.Repeat("x", size))
				}
			})
			var reused []bool
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(info httptrace.GotConnInfo) { reused = append(reused, info.Reused) },
			})
			r, err := http.NewRequestWithContext(ctx, "PUT", u, strings.NewReader("text"))
			require.NoError(t, err)
			client := &http.Client{Transport: &httplimit.Transport{Base: base, Retries: 3}}
			resp, err := client.Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 200, resp.StatusCode)
			require.Equal(t, major, resp.ProtoMajor)
			require.Equal(t, []bool{false, true, true, true}, reused, size)
		}
	})
}

// A body that does not end costs its connection, and no more.
func TestARefusalTooLongToReadIsGivenUp(t *testing.T) {
	t.Parallel()
	forEachProtocol(t, func(t *testing.T, major int) {
		var n atomic.Int32
		u, base := serveProtocol(t, major, func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) > 1 {
				return
			}
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(503)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		})
		status, _ := get(t, &http.Client{Transport: &httplimit.Transport{Base: base, Retries: 1}}, u)
		require.Equal(t, 200, status)
	})
}

// The last refusal is the caller's, with its body.
func TestARefusalIsReturnedUnread(t *testing.T) {
	t.Parallel()
	forEachProtocol(t, func(t *testing.T, major int) {
		limiter := weir.New(weir.FixedWindow(weir.PerDay(1)), weir.WithClock(weir.NewManualClock()))
		u, base := serveProtocol(t, major, func(w http.ResponseWriter, r *http.Request) {
			if d := limiter.Take(1); !d.Allowed {
				httplimit.HeadersStandard.Set(w.Header(), d, limiter.Policy())
				httplimit.WriteDenied(w, r, d)
			}
		})
		transport := &httplimit.Transport{Base: base, Retries: 5}
		client := &http.Client{Transport: transport}
		status, _ := get(t, client, u)
		require.Equal(t, 200, status)
		status, body := get(t, client, u)
		require.Equal(t, 429, status)
		require.Contains(t, body, "quota-exceeded")

		_, err := client.Get(u)
		require.ErrorIs(t, err, httplimit.ErrHeldBack)
		var failed *url.Error
		require.ErrorAs(t, err, &failed)
		require.False(t, failed.Timeout())
		to, err := url.Parse(u)
		require.NoError(t, err)
		require.Greater(t, transport.Held(httplimit.HostKey(to)), 23*time.Hour)
	})
}

// A client that goes away takes its request along that waits in a proxy.
func TestWhoDisconnectsWaitsNoLonger(t *testing.T) {
	t.Parallel()
	held := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(503)
	}), "")
	transport := &httplimit.Transport{MaxWait: 24 * time.Hour}
	t.Cleanup(transport.CloseIdleConnections)
	status, _ := get(t, &http.Client{Transport: transport}, held)
	require.Equal(t, 503, status)
	waits, ended := make(chan struct{}), make(chan error)
	proxy := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		out := newRequest(t, r.Context(), held)
		close(waits)
		_, err := transport.RoundTrip(out)
		ended <- err
	}), "")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-waits; cancel() }()
	_, err := http.DefaultClient.Do(newRequest(t, ctx, proxy))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestTheTimeoutOfAClientIsADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "30")))
		client := &http.Client{Transport: &httplimit.Transport{Base: host}, Timeout: 10 * sec}
		resp, err := client.Get(hostA)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		_, err = client.Get(hostA)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var failed net.Error
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Timeout())
		require.Zero(t, time.Since(host.began))
		client.Timeout = 31 * sec
		resp, err = client.Get(hostA)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		host.requireCame(0, 30*sec)
	})
}

func TestARedirectWaitsForWhereItLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(
			just(302, "Location", hostB, "RateLimit", `"a";r=0;t=9`),
			just(302, "Location", hostA+"end"),
		))
		resp, err := (&http.Client{Transport: &httplimit.Transport{Base: host}}).Get(hostA)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "/end", resp.Request.URL.Path)
		host.requireCame(0, 0, 9*sec)
	})
}
