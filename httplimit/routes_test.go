package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// answers are the statuses of a handler's answers, one after the other, to "GET /a" and the like.
func answers(h http.Handler, requests ...string) (codes []int) {
	for _, request := range requests {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		codes = append(codes, w.Code)
	}
	return codes
}

func stoppedClock() weir.Option { return weir.WithClock(weir.NewManualClock()) }

func TestPerRouteLimitsEachPatternOfAMux(t *testing.T) {
	limit := httplimit.Limit(httplimit.PerRoute(nil, hourly(1, "route"), stoppedClock()))
	mux := http.NewServeMux()
	for _, pattern := range []string{"GET /users/{id}", "POST /users/{id}", "/search"} {
		mux.Handle(pattern, limit(sayOK))
	}
	mux.Handle("/free", sayOK)
	require.Equal(t, []int{200, 429}, answers(mux, "GET /users/1", "GET /users/2"), "one route for all who match it")
	require.Equal(t, []int{200, 429}, answers(mux, "POST /users/1", "POST /users/1"), "another pattern, though of the same path")
	require.Equal(t, []int{200, 429, 429}, answers(mux, "GET /search", "POST /search", "PUT /search"))
	require.Equal(t, []int{200, 200, 404, 404, 405}, answers(mux, "GET /free", "GET /free", "GET /lost", "GET /lost", "PUT /users/1"))
}

func TestPerRouteAroundAMuxDoesNotApply(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/a", sayOK)
	h := httplimit.Limit(httplimit.PerRoute(nil, hourly(1, "route"), stoppedClock()))(mux)
	require.Equal(t, []int{200, 200, 200}, answers(h, "GET /a", "GET /a", "GET /a"))
	requireFields(t, respond(h), http.Header{})
}

func TestPerRouteByAFunction(t *testing.T) {
	h := httplimit.Limit(httplimit.PerRoute(func(r *http.Request) string {
		return strings.Trim(r.URL.Path, "/")
	}, hourly(1, "route"), stoppedClock()))(sayOK)
	require.Equal(t, []int{200, 200, 429, 429}, answers(h, "GET /a", "GET /b", "GET /a", "GET /b"))
	require.Equal(t, []int{200, 200}, answers(h, "GET /", "GET /"), "an empty route is none")
}

func TestPerHeaderLimitsEachValue(t *testing.T) {
	for name, values := range map[string][2]string{"x-api-key": {"1", "2"}, "X-Api-Key": {"", "1"}} {
		h := httplimit.Limit(httplimit.PerHeader(name, hourly(1, "key"), stoppedClock()))(sayOK)
		for _, code := range []int{200, 429} {
			require.Equal(t, code, respond(h, "X-Api-Key", values[0]).Code)
			require.Equal(t, code, respond(h, "X-Api-Key", values[1], "X-Api-Key", "another").Code, "the first line counts")
			require.Equal(t, 200, respond(h).Code, "without the header it does not apply")
		}
	}
}

func TestPerHeaderHost(t *testing.T) {
	h := httplimit.Limit(httplimit.PerHeader("host", hourly(1, "host"), stoppedClock()))(sayOK)
	require.Equal(t, []int{200, 429, 200, 429}, answers(h, "GET http://a/", "GET http://a/", "GET http://b/", "GET http://b/"))
}

// answerTo returns the status of a request from an address, forwarded for another.
func answerTo(h http.Handler, remote, forwardedFor string) int {
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	r.RemoteAddr = remote
	r.Header.Set("X-Forwarded-For", forwardedFor)
	h.ServeHTTP(w, r)
	return w.Code
}

func TestPerRemoteIPLimitsEachAddressThatConnects(t *testing.T) {
	h := httplimit.Limit(httplimit.PerRemoteIP(hourly(1, "address"), stoppedClock()))(sayOK)
	require.Equal(t, 200, answerTo(h, "192.0.2.1:1", ""))
	require.Equal(t, 429, answerTo(h, "192.0.2.1:2", "198.51.100.7"))
	require.Equal(t, 200, answerTo(h, "192.0.2.2:1", ""))
	require.Equal(t, 200, answerTo(h, "[2001:db8::1]:1", ""))
	require.Equal(t, 429, answerTo(h, "[2001:db8::2]:1", ""))
}

func TestPerClientIPLimitsEachClientOfATrustedProxy(t *testing.T) {
	h := httplimit.Limit(httplimit.PerClientIP(hourly(1, "client"), prefixes("10.0.0.0/8"), stoppedClock()))(sayOK)
	require.Equal(t, 200, answerTo(h, "10.0.0.1:1", "198.51.100.7"))
	require.Equal(t, 429, answerTo(h, "10.0.0.2:1", "203.0.113.9, 198.51.100.7"), "what the client forged is not read")
	require.Equal(t, 200, answerTo(h, "10.0.0.1:1", "198.51.100.8"))
	require.Equal(t, 200, answerTo(h, "192.0.2.1:1", "198.51.100.9"))
	require.Equal(t, 429, answerTo(h, "192.0.2.1:1", "198.51.100.10"), "nor what somebody else says")
}
