package interop_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// A router is how its users build a site with a middleware.
type router struct {
	build func(*site) http.Handler

	route func(*http.Request) string // of PerRoute, nil for Request.Pattern
	users string                     // the route of /users/7

	noRecoverer bool // panics are net/http's
}

// test runs what must hold with any router.
func (r router) test(t *testing.T) {
	t.Run("DeniesBeforeTheHandler", r.testDenies)
	t.Run("HandlersKnowTheDecision", r.testContext)
	t.Run("OnlyFailedLoginsCount", r.testFailedLogins)
	t.Run("RoutesAreKnown", r.testRoutes)
	t.Run("PanicsAreSettled", func(t *testing.T) { r.testPanics(t, false) })
	t.Run("PanicsInsideAreSettled", func(t *testing.T) { r.testPanics(t, true) })
	t.Run("NotOneTooMany", r.testConcurrency)
	t.Run("BandwidthIsOfTheBody", r.testBandwidth)
	t.Run("ResponsesAreStreamed", r.testStreams)
	t.Run("ConnectionsAreTakenOver", r.testUpgrades)
}

// serve runs the router's site with the middleware on loopback.
func (r router) serve(t *testing.T, limit func(http.Handler) http.Handler) (s *site, url string) {
	t.Helper()
	s = &site{limit: limit, goOn: make(chan struct{})}
	return s, serve(t, r.build(s))
}

func (r router) testDenies(t *testing.T) {
	t.Parallel()
	policy := weir.TokenBucket(weir.PerHour(2)).Named("all")
	s, url := r.serve(t, httplimit.Limit(httplimit.PerRemoteIP(policy, weir.WithClock(weir.NewManualClock()))))
	for left := 1; left >= 0; left-- {
		resp, _ := ask(t, http.DefaultClient, "GET", url+"/hello")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, []string{`"all";q=2;w=3600`}, resp.Header.Values("RateLimit-Policy"))
		require.Equal(t, []string{fmt.Sprintf(`"all";r=%d;t=%d`, left, 1800*(2-left))}, resp.Header.Values("RateLimit"))
		require.Empty(t, resp.Header.Values("Retry-After"))
	}
	resp, body := ask(t, http.DefaultClient, "GET", url+"/hello")
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, []string{`"all";r=0;t=1800`}, resp.Header.Values("RateLimit"))
	require.Equal(t, []string{"1800"}, resp.Header.Values("Retry-After"))
	require.Equal(t, []string{"no-store"}, resp.Header.Values("Cache-Control"))
	require.Equal(t, []string{"application/problem+json"}, resp.Header.Values("Content-Type"))
	require.Contains(t, body, `"violated-policies":["all"]`)
	require.Equal(t, 1, strings.Count(body, "{"), "one answer, and nothing of the router's own: %s", body)
	require.EqualValues(t, 2, s.called.Load())
}

func (r router) testContext(t *testing.T) {
	t.Parallel()
	policy := weir.TokenBucket(weir.PerHour(7))
	_, url := r.serve(t, httplimit.Limit(httplimit.PerRemoteIP(policy, weir.WithClock(weir.NewManualClock()))))
	_, body := ask(t, http.DefaultClient, "GET", url+"/hello")
	require.Equal(t, "hello 6 true", body)
}

func (r router) testFailedLogins(t *testing.T) {
	t.Parallel()
	clients := weir.NewPerClient[netip.Prefix](weir.FixedWindow(weir.PerHour(2)), weir.WithClock(weir.NewManualClock()))
	limit := httplimit.Middleware{
		Layers: weir.NewLayers(weir.By(clients, httplimit.RemoteIP)),
		Settle: func(_ *http.Request, status int) int {
			if status == http.StatusUnauthorized {
				return 1
			}
			return 0
		},
	}
	_, url := r.serve(t, limit.Handler)
	for i, attempt := range []struct {
		password string
		want     int
	}{
		{"right", 200}, {"right", 200}, {"right", 200}, {"wrong", 401}, {"right", 200}, {"right", 200}, {"wrong", 401},
		{"right", 429}, {"wrong", 429},
	} {
		resp, _ := ask(t, http.DefaultClient, "POST", url+"/login?password="+attempt.password)
		require.Equal(t, attempt.want, resp.StatusCode, "attempt %d", i+1)
	}
}

// One limit for all users' pages, whoever the user, and none for pages that do not
// exist, of which anyone can think up as many as they like.
func (r router) testRoutes(t *testing.T) {
	t.Parallel()
	clock := weir.WithClock(weir.NewManualClock())
	_, url := r.serve(t, httplimit.Limit(httplimit.PerRoute(r.route, weir.FixedWindow(weir.PerHour(2)), clock)))
	status := func(path string) int {
		resp, _ := ask(t, http.DefaultClient, "GET", url+path)
		return resp.StatusCode
	}
	require.Equal(t, 200, status("/users/7"))
	require.Equal(t, 200, status("/users/8"))
	require.Equal(t, 429, status("/users/9"))
	require.Equal(t, 200, status("/hello"))
	for range 3 {
		require.Equal(t, 404, status("/nowhere"))
	}

	routes := weir.NewPerClient[string](weir.FixedWindow(weir.PerHour(2)), clock)
	_, url = r.serve(t, httplimit.Limit(weir.By(routes, func(hr *http.Request) (string, bool) {
		if r.route != nil {
			return r.route(hr), true
		}
		return hr.Pattern, true
	})))
	require.Equal(t, 200, status("/users/7"))
	require.Equal(t, 1, routes.Tokens(r.users), "the key of /users/7 is %s", r.users)
}

// Of 40 at once 25 are admitted, and each has its own decision and response.
func (r router) testConcurrency(t *testing.T) {
	t.Parallel()
	limit := httplimit.Middleware{
		Layers: weir.NewLayers(httplimit.PerRemoteIP(weir.FixedWindow(weir.PerHour(25)), weir.WithClock(weir.NewManualClock()))),
		Settle: func(*http.Request, int) int { return 1 },
	}
	_, url := r.serve(t, limit.Handler)
	answers := make(chan string)
	for range 40 {
		go func() {
			resp, err := http.Get(url + "/hello")
			if err != nil {
				answers <- err.Error()
				return
			}
			body, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusTooManyRequests {
				body = nil
			}
			answers <- fmt.Sprint(resp.StatusCode, " ", string(body))
		}()
	}
	got := map[string]int{}
	for range 40 {
		got[<-answers]++
	}
	want := map[string]int{"429 ": 15}
	for left := range 25 {
		want[fmt.Sprintf("200 hello %d true", left)] = 1
	}
	require.Equal(t, want, got)
}

// Bodies go through the middleware however a router's handlers write them.
func (r router) testBandwidth(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	limit := httplimit.Middleware{
		Layers:    weir.NewLayers[*http.Request](),
		Bandwidth: func(_ context.Context, _ *http.Request, n int) error { sent.Add(int64(n)); return nil },
	}
	_, url := r.serve(t, limit.Handler)
	_, body := ask(t, http.DefaultClient, "GET", url+"/hello")
	require.NotEmpty(t, body)
	require.EqualValues(t, len(body), sent.Load())
}

// recording is a middleware that tells the test what statuses it settles with, and
// has nothing cost anything.
func recording(t *testing.T) (limit func(http.Handler) http.Handler, settled func() int) {
	statuses := make(chan int, 100)
	m := httplimit.Middleware{
		Layers: weir.NewLayers(httplimit.PerRemoteIP(weir.FixedWindow(weir.PerHour(1)), weir.WithClock(weir.NewManualClock()))),
		Settle: func(_ *http.Request, status int) int { statuses <- status; return 0 },
	}
	return m.Handler, func() int {
		select {
		case status := <-statuses:
			return status
		case <-time.After(time.Minute):
			require.FailNow(t, "never settled")
			return 0
		}
	}
}

func (r router) testPanics(t *testing.T, inside bool) {
	t.Parallel()
	limit, settled := recording(t)
	url := serve(t, r.build(&site{limit: limit, recoverInside: inside}))
	for range 3 { // with one an hour, each has given back what it took
		if r.noRecoverer {
			_, err := http.Get(url + "/panic")
			require.ErrorIs(t, err, io.EOF)
		} else {
			resp, _ := ask(t, http.DefaultClient, "GET", url+"/panic")
			require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
		}
		require.Equal(t, http.StatusInternalServerError, settled())
	}
}

func (r router) testStreams(t *testing.T) {
	t.Parallel()
	limit, settled := recording(t)
	s, url := r.serve(t, limit)
	for range 2 {
		resp, err := http.Get(url + "/stream")
		require.NoError(t, err)
		lines := bufio.NewReader(resp.Body)
		line, err := lines.ReadString('\n') // while the handler waits
		require.NoError(t, err)
		require.Equal(t, "one\n", line)
		require.NotEmpty(t, resp.Header.Get("RateLimit"))
		s.goOn <- struct{}{}
		rest, err := io.ReadAll(lines)
		require.NoError(t, err)
		require.Equal(t, "two\n", string(rest))
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, settled())
	}
}

func (r router) testUpgrades(t *testing.T) {
	t.Parallel()
	limit, settled := recording(t)
	_, url := r.serve(t, limit)
	for range 2 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		require.NoError(t, err)
		rw := bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
		_, err = conn.Write([]byte("GET /upgrade HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n"))
		require.NoError(t, err)
		resp, err := http.ReadResponse(rw.Reader, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
		for _, line := range []string{"to and\n", "fro\n"} {
			_, err = conn.Write([]byte(line))
			require.NoError(t, err)
			back, err := rw.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, line, back)
		}
		require.NoError(t, conn.Close())
		require.Equal(t, http.StatusSwitchingProtocols, settled())
	}
}
