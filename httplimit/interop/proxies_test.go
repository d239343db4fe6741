package interop_test

import (
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// forgeries are what clients send who would rather be somebody else, another one
// with each request, or a proxy. With Connection, they ask a proxy to take off
// what it has added.
var forgeries = map[string][]string{
	"none":            nil,
	"X-Forwarded-For": {"X-Forwarded-For", "203.0.113.#"},
	"a list":          {"X-Forwarded-For", "203.0.113.#, 127.0.0.1", "X-Forwarded-For", "127.0.0.#"},
	"unreadable":      {"X-Forwarded-For", `203.0.113.#, "`},
	"Connection":      {"X-Forwarded-For", "203.0.113.#", "Connection", "X-Forwarded-For, X-Real-Ip, Forwarded"},
	"others":          {"X-Real-Ip", "203.0.113.#", "True-Client-Ip", "203.0.113.#", "X-Forwarded", "for=203.0.113.#"},
	"Forwarded":       {"Forwarded", "for=203.0.113.#"},
	"both":            {"Forwarded", "for=203.0.113.#", "X-Forwarded-For", "203.0.113.#"},
	"unfinished":      {"Forwarded", `for="203.0.113.#`},
}

// A backend admits three requests an hour of each client.
func backend(t *testing.T, key func(*http.Request) (netip.Prefix, bool)) (url string, clock *weir.ManualClock) {
	t.Helper()
	clock = weir.NewManualClock()
	clients := weir.NewPerClient[netip.Prefix](weir.FixedWindow(weir.PerHour(3)).Named("client"), weir.WithClock(clock))
	limit := httplimit.Limit(weir.By(clients, key))
	return serve(t, limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))), clock
}

// A visitor sends requests to a proxy from an address of their own.
type visitor struct {
	client *http.Client
	url    string
}

// admitted returns how many of six requests get through.
func (v visitor) admitted(t *testing.T, forgery string) (n int) {
	t.Helper()
	for i := range 6 {
		var header []string
		for _, s := range forgeries[forgery] {
			header = append(header, strings.ReplaceAll(s, "#", strconv.Itoa(i)))
		}
		resp, body := ask(t, v.client, "GET", v.url, header...)
		if resp.StatusCode == http.StatusOK {
			n++
			continue
		}
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		require.Equal(t, []string{`"client";q=3;w=3600`}, resp.Header.Values("RateLimit-Policy"))
		require.Equal(t, []string{`"client";r=0;t=3600`}, resp.Header.Values("RateLimit"))
		require.Equal(t, []string{"3600"}, resp.Header.Values("Retry-After"))
		require.Contains(t, body, `"violated-policies":["client"]`)
	}
	return n
}

// checkForgeries: whatever a client sends, it is counted under its own key, and
// nobody else is held back. Where a proxy passes Forwarded on that it has not
// written, forging that moves a client to the key of the proxy, which all forgers
// share.
func checkForgeries(t *testing.T, clock *weir.ManualClock, attacker, neighbour visitor, passesForwarded bool) {
	t.Helper()
	for forgery, header := range forgeries {
		clock.Advance(time.Hour)
		require.Equal(t, 3, attacker.admitted(t, forgery), forgery)
		if passesForwarded && len(header) > 0 && header[0] == "Forwarded" {
			require.Zero(t, neighbour.admitted(t, forgery), forgery)
			require.Equal(t, 3, attacker.admitted(t, "none"), forgery)
		} else {
			require.Zero(t, attacker.admitted(t, "none"), forgery)
		}
		require.Equal(t, 3, neighbour.admitted(t, "none"), forgery)
	}
}

// behind returns a visitor to a proxy of that address, which the proxy takes for true.
func behind(t *testing.T, address string, proxy http.Handler) visitor {
	t.Helper()
	return visitor{http.DefaultClient, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = address
		proxy.ServeHTTP(w, r)
	}))}
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

var loopback = netip.MustParsePrefix("127.0.0.0/8")

func TestForgedHeadersDoNotPassReverseProxy(t *testing.T) {
	t.Parallel()
	either := httplimit.ClientIP(loopback)
	oneHeader := httplimit.AddressKey{Trusted: []netip.Prefix{loopback}, Header: "X-Forwarded-For"}.Func()

	rewrite := func(to *url.URL) http.Handler { // takes off all such headers that come in
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.SetXForwarded()
		}}
	}
	rewriteAdding := func(to *url.URL) http.Handler {
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		}}
	}
	director := func(to *url.URL) http.Handler { return httputil.NewSingleHostReverseProxy(to) } // adds to X-Forwarded-For
	for _, test := range []struct {
		name            string
		proxy           func(*url.URL) http.Handler
		key             func(*http.Request) (netip.Prefix, bool)
		adds            bool // to what came in
		passesForwarded bool
	}{
		{"Rewrite", rewrite, either, false, false},
		{"Rewrite, one header", rewrite, oneHeader, false, false},
		{"Rewrite that adds", rewriteAdding, either, true, false},
		{"Director", director, either, true, true},
		{"Director, one header", director, oneHeader, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			target, clock := backend(t, test.key)
			proxy := test.proxy(parse(t, target))
			attacker, neighbour := behind(t, "198.51.100.7:4711", proxy), behind(t, "198.51.100.8:4711", proxy)
			checkForgeries(t, clock, attacker, neighbour, test.passesForwarded)

			if test.adds { // another one in front of it
				outer := test.proxy(parse(t, behind(t, "127.0.0.9:80", proxy).url))
				attacker, neighbour = behind(t, "198.51.100.7:4711", outer), behind(t, "198.51.100.8:4711", outer)
				checkForgeries(t, clock, attacker, neighbour, test.passesForwarded)
			}
		})
	}
}

// With Rewrite and no SetXForwarded, nothing tells the backend who comes: all are
// the proxy, and no header of theirs is believed.
func TestASilentProxyIsOneClient(t *testing.T) {
	t.Parallel()
	target, _ := backend(t, httplimit.ClientIP(loopback))
	to := parse(t, target)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	require.Equal(t, 3, behind(t, "198.51.100.7:4711", proxy).admitted(t, "both"))
	require.Zero(t, behind(t, "198.51.100.8:4711", proxy).admitted(t, "none"))
}

// Who comes past the proxy is not asked who they are.
func TestForgedHeadersFromOutsideAreNotRead(t *testing.T) {
	t.Parallel()
	limit := httplimit.Limit(httplimit.PerClientIP(weir.FixedWindow(weir.PerHour(3)).Named("client"),
		[]netip.Prefix{loopback}, weir.WithClock(weir.NewManualClock())))
	h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	direct := behind(t, "198.51.100.7:4711", h)
	total := 0
	for forgery := range forgeries {
		total += direct.admitted(t, forgery)
	}
	require.Equal(t, 3, total)
	require.Equal(t, 3, behind(t, "198.51.100.8:4711", h).admitted(t, "none"))
}
