package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// from is a listener whose connections seem to come from that address.
type from struct {
	net.Listener
	addr netip.AddrPort
}

type connFrom struct {
	net.Conn
	addr net.Addr
}

func (l from) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return connFrom{conn, net.TCPAddrFromAddrPort(l.addr)}, err
}

func (c connFrom) RemoteAddr() net.Addr { return c.addr }

// serve answers on loopback, as if every request came from that address, or if it is empty, truthfully.
func serve(t *testing.T, h http.Handler, remote string) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	if remote != "" {
		s.Listener = from{s.Listener, netip.MustParseAddrPort(remote)}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

func keyHandler(key keyFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := key(r)
		fmt.Fprint(w, p, " ", ok)
	})
}

// forwardTo is a reverse proxy that adds to X-Forwarded-For and, as such proxies do, leaves Forwarded alone.
func forwardTo(t *testing.T, target string) http.Handler {
	t.Helper()
	u, err := url.Parse(target)
	require.NoError(t, err)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
		if lines, ok := r.In.Header["Forwarded"]; ok {
			r.Out.Header["Forwarded"] = lines
		}
		r.SetXForwarded()
	}}
}

func get(t *testing.T, client *http.Client, url string, header ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

func TestRealServersBehindRealProxies(t *testing.T) {
	trusted := prefixes("127.0.0.0/8 ::1/128 10.0.0.0/8")
	app := serve(t, keyHandler(httplimit.ClientIP(trusted...)), "")
	named := serve(t, keyHandler(httplimit.AddressKey{Trusted: trusted, Header: "X-Forwarded-For"}.Func()), "")
	untrusting := serve(t, keyHandler(httplimit.RemoteIP), "")

	const client = "198.51.100.7:4711"
	one := serve(t, forwardTo(t, app), client)
	two := serve(t, forwardTo(t, serve(t, forwardTo(t, app), "10.0.0.2:80")), client)
	six := serve(t, forwardTo(t, app), "[2001:db8:1:2::7]:4711")
	oneNamed := serve(t, forwardTo(t, named), client)
	oneUntrusting := serve(t, forwardTo(t, untrusting), client)

	forged := []string{
		"X-Forwarded-For", "203.0.113.9", "X-Forwarded-For", "10.0.0.9, 203.0.113.8, 10.0.0.9",
		"X-Real-Ip", "203.0.113.9", "True-Client-Ip", "203.0.113.9",
	}
	both := append([]string{"Forwarded", "for=203.0.113.9", "Forwarded", `for="203.0.113.9`}, forged...)
	for _, c := range []struct {
		url    string
		header []string
		want   string
	}{
		{one, nil, "198.51.100.7/32"},
		{one, forged, "198.51.100.7/32"},
		{one, both, "127.0.0.1/32"},
		{one, []string{"Forwarded", "for=198.51.100.7"}, "198.51.100.7/32"},
		{two, nil, "198.51.100.7/32"},
		{two, forged, "198.51.100.7/32"},
		{two, both, "127.0.0.1/32"},
		{six, nil, "2001:db8:1:2::/64"},
		{six, forged, "2001:db8:1:2::/64"},
		{oneNamed, both, "198.51.100.7/32"},
		{oneUntrusting, both, "127.0.0.1/32"},
		{app, nil, "127.0.0.1/32"},
	} {
		_, body := get(t, http.DefaultClient, c.url, c.header...)
		require.Equal(t, c.want+" true", body, "%v", c.header)
	}
}

// A limit by ClientIP holds, however many headers a client invents, and holds nobody else back.
func TestForgedHeadersDoNotGetThrough(t *testing.T) {
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerHour(5)), weir.WithClock(weir.NewManualClock()))
	key := httplimit.ClientIP(prefixes("127.0.0.1/32")...)
	app := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, _ := key(r); !clients.Allow(client) {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}), "")
	attacker := serve(t, forwardTo(t, app), "198.51.100.7:4711")
	neighbour := serve(t, forwardTo(t, app), "198.51.100.8:4711")

	admitted := func(url string, header func(i int) []string) (n int) {
		for i := range 40 {
			if status, _ := get(t, http.DefaultClient, url, header(i)...); status == http.StatusOK {
				n++
			}
		}
		return n
	}
	require.Equal(t, 5, admitted(attacker, func(i int) []string {
		return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i)}
	}))
	require.Equal(t, 5, admitted(attacker, func(i int) []string { // those of the proxy's own key
		return []string{"Forwarded", fmt.Sprintf("for=203.0.113.%d", i)}
	}))
	require.Zero(t, admitted(attacker, func(i int) []string {
		return []string{"X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i), "Forwarded", fmt.Sprintf("for=203.0.113.%d", i)}
	}))
	require.Equal(t, 5, admitted(neighbour, func(int) []string { return nil }))
	require.Equal(t, 3, clients.Len())
}

func TestALongHeaderThroughARealServer(t *testing.T) {
	app := serve(t, keyHandler(httplimit.ClientIP(prefixes("127.0.0.1/32")...)), "")
	proxied := serve(t, forwardTo(t, app), "198.51.100.7:4711")
	_, body := get(t, http.DefaultClient, proxied, "X-Forwarded-For", strings.Repeat("203.0.113.9,", 60_000))
	require.Equal(t, "198.51.100.7/32 true", body)
}

func TestARealUnixSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "weir") // t.TempDir's names are too long for a socket on some systems
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })

	ask := func(key keyFunc) string {
		path := filepath.Join(dir, "s")
		l, err := net.Listen("unix", path)
		require.NoError(t, err)
		server := &http.Server{Handler: keyHandler(key)}
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}}
		_, body := get(t, client, "http://app/", "X-Forwarded-For", "203.0.113.9, 198.51.100.7")
		client.CloseIdleConnections()
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
		return body
	}
	require.Equal(t, "invalid Prefix true", ask(httplimit.RemoteIP))
	require.Equal(t, "invalid Prefix true", ask(httplimit.ClientIP(prefixes("0.0.0.0/0 ::/0")...)))
	require.Equal(t, "198.51.100.7/32 true", ask(httplimit.AddressKey{TrustUnix: true}.Func()))
}
