package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// hourly is a token bucket of so many an hour that may come at once.
func hourly(n int, name string) weir.Policy { return weir.TokenBucket(weir.PerHour(n)).Named(name) }

// still is a limiter for which no time passes.
func still(p weir.Policy, opts ...weir.Option) *weir.Limiter {
	return weir.New(p, append(opts, weir.WithClock(weir.NewManualClock()))...)
}

// layersOf are layers of limiters that all requests share.
func layersOf(limiters ...*weir.Limiter) *weir.Layers[*http.Request] {
	var layers []weir.Layer[*http.Request]
	for _, l := range limiters {
		layers = append(layers, httplimit.Global(l))
	}
	return weir.NewLayers(layers...)
}

// sayOK is a handler that answers.
var sayOK = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })

// respond has a handler answer a request with those lines of header, each a name and a value.
func respond(h http.Handler, header ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("GET", "/path?query", nil), httptest.NewRecorder()
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	h.ServeHTTP(w, r)
	return w
}

// requireFields requires of the RateLimit fields and Retry-After to be just these.
func requireFields(t *testing.T, w *httptest.ResponseRecorder, want http.Header) {
	t.Helper()
	got := w.Header().Clone()
	for _, other := range []string{"Content-Type", "Cache-Control", "X-Content-Type-Options"} {
		got.Del(other)
	}
	require.Equal(t, want, got)
}

func TestEachFormatTellsWhatItIsTo(t *testing.T) {
	standard := func(limit string) http.Header {
		return http.Header{"Ratelimit-Policy": {`"a";q=1;w=3600`}, "Ratelimit": {limit}}
	}
	legacy := func(left, reset string) http.Header {
		return http.Header{"X-Ratelimit-Limit": {"1"}, "X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset": {reset}}
	}
	with := func(headers ...http.Header) http.Header {
		all := http.Header{}
		for _, h := range headers {
			for key, values := range h {
				all[key] = values
			}
		}
		return all
	}
	retry := http.Header{"Retry-After": {"3600"}}
	for format, want := range map[httplimit.HeaderFormat][2]http.Header{
		httplimit.HeadersStandard:       {standard(`"a";r=0;t=3600`), with(standard(`"a";r=0;t=3600`), retry)},
		httplimit.HeadersXRateLimit:     {legacy("0", "3600"), with(legacy("0", "3600"), retry)},
		httplimit.HeadersBoth:           {with(standard(`"a";r=0;t=3600`), legacy("0", "3600")), with(standard(`"a";r=0;t=3600`), legacy("0", "3600"), retry)},
		httplimit.HeadersRetryAfterOnly: {{}, retry},
	} {
		m := httplimit.Middleware{Layers: layersOf(still(hourly(1, "a"))), Headers: format}
		h := m.Handler(sayOK)
		allowed, denied := respond(h), respond(h)
		require.Equal(t, "ok", allowed.Body.String())
		requireFields(t, allowed, want[0])
		require.Equal(t, http.StatusTooManyRequests, denied.Code)
		require.Contains(t, denied.Body.String(), `"violated-policies":["a"],"retry-after":3600`)
		requireFields(t, denied, want[1])
	}
}

func TestARequestThatOneLayerDeniesTakesNothingAndIsNotServed(t *testing.T) {
	wide, narrow := still(hourly(10, "wide")), still(hourly(1, "narrow"))
	served := 0
	h := httplimit.Limit(httplimit.Global(wide), httplimit.Global(narrow))(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	for range 5 {
		respond(h)
	}
	require.Equal(t, 1, served)
	require.Equal(t, 9, wide.Tokens())
	require.Equal(t, weir.Stats{Allowed: 1}, wide.Stats())
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 4}, narrow.Stats())
}

func TestRetryAfterIsTheWaitInSecondsRoundedUp(t *testing.T) {
	clock := weir.NewManualClock()
	h := httplimit.Limit(httplimit.Global(weir.New(weir.TokenBucket(weir.Per(1, 2500*time.Millisecond)), weir.WithClock(clock))))(sayOK)
	for _, step := range []struct {
		after time.Duration
		code  int
		retry string
	}{
		{0, 200, ""}, {0, 429, "3"}, {500 * time.Millisecond, 429, "2"}, {time.Second - 1, 429, "2"}, {1, 429, "1"},
		{time.Second - 1, 429, "1"}, {1, 200, ""}, {0, 429, "3"},
	} {
		clock.Advance(step.after)
		w := respond(h)
		require.Equal(t, step.code, w.Code, "%v", step)
		require.Equal(t, step.retry, w.Header().Get("Retry-After"), "%v", step)
	}
}

func TestEveryPolicyOfEveryLayerThatAppliesIsListed(t *testing.T) {
	clock := weir.WithClock(weir.NewManualClock())
	h := httplimit.Limit(
		httplimit.PerHeader("X-Api-Key", hourly(2, "key"), clock),
		httplimit.PerRemoteIP(weir.All(hourly(50, "burst"), weir.FixedWindow(weir.PerDay(60)).Named("day")), clock),
		httplimit.Global(still(hourly(100, "all"))),
		httplimit.Global(still(weir.TokenBucket(weir.Unlimited()))),
	)(sayOK)
	const others = `"burst";q=50;w=3600,"day";q=60;w=86400,"all";q=100;w=3600`
	for _, test := range []struct {
		code          int
		key           []string
		policy, limit string
	}{
		{200, nil, others, `"burst";r=49;t=72`},
		{200, []string{"X-Api-Key", "1"}, `"key";q=2;w=3600,` + others, `"key";r=1;t=1800`},
		{200, []string{"X-Api-Key", "1"}, `"key";q=2;w=3600,` + others, `"key";r=0;t=3600`},
		{429, []string{"X-Api-Key", "1"}, `"key";q=2;w=3600,` + others, `"key";r=0;t=1800`},
		{200, nil, others, `"burst";r=46;t=288`},
	} {
		w := respond(h, test.key...)
		require.Equal(t, test.code, w.Code)
		require.Equal(t, []string{test.policy}, w.Header()["Ratelimit-Policy"])
		require.Equal(t, []string{test.limit}, w.Header()["Ratelimit"])
	}
}

func TestClientsAreNotToldAboutShadows(t *testing.T) {
	shadow := func(n int) *weir.Limiter { return still(hourly(n, "secret"), weir.WithShadow()) }
	for _, test := range []struct {
		name   string
		layers *weir.Layers[*http.Request]
		want   []http.Header // of one request after the other; Retry-After on those that are denied
	}{
		{"alone", layersOf(shadow(1)), []http.Header{{}, {}, {}}},
		{"beside another", layersOf(shadow(100), still(hourly(1, "told"))), []http.Header{
			{"Ratelimit-Policy": {`"told";q=1;w=3600`}, "Ratelimit": {`"told";r=0;t=3600`}},
			{"Ratelimit-Policy": {`"told";q=1;w=3600`}, "Ratelimit": {`"told";r=0;t=3600`}, "Retry-After": {"3600"}},
		}},
	} {
		h := (&httplimit.Middleware{Layers: test.layers}).Handler(sayOK)
		for i, want := range test.want {
			w := respond(h)
			require.Equal(t, want.Get("Retry-After") != "", w.Code == http.StatusTooManyRequests, "%s, request %d", test.name, i)
			requireFields(t, w, want)
			require.NotContains(t, w.Body.String(), "secret")
		}
	}

	m := httplimit.Middleware{Layers: layersOf(still(hourly(2, "told")), shadow(0)), Headers: httplimit.HeadersBoth}
	h := m.Handler(sayOK)
	for _, code := range []int{200, 200, 429} { // though the shadow would deny all of them
		w := respond(h)
		require.Equal(t, code, w.Code)
		require.Equal(t, []string{`"told";q=2;w=3600`}, w.Header()["Ratelimit-Policy"])
		for key, values := range w.Header() {
			require.NotContains(t, values[0], "secret", key)
		}
		require.NotContains(t, w.Body.String(), "secret")
	}
	m.Layers = layersOf(shadow(0))
	requireFields(t, respond(m.Handler(sayOK)), http.Header{})
}

func TestCostIsWhatARequestTakes(t *testing.T) {
	all, files := still(hourly(10, "all")), still(hourly(10, "files"))
	cost := 0
	m := httplimit.Middleware{
		Layers: weir.NewLayers(httplimit.Global(all), httplimit.Global(files).WithCost(func(*http.Request) int { return 2 })),
		Cost:   func(*http.Request) int { return cost },
	}
	h := m.Handler(sayOK)
	for _, step := range []struct{ cost, code, all, files int }{
		{3, 200, 7, 8}, {0, 200, 7, 8}, {-1, 429, 7, 8}, {8, 429, 7, 8}, {11, 429, 7, 8}, {7, 200, 0, 6},
	} {
		cost = step.cost
		w := respond(h)
		require.Equal(t, []int{step.code, step.all, step.files}, []int{w.Code, all.Tokens(), files.Tokens()}, "%v", step)
		if never := cost < 0 || cost > 10; never {
			require.NotContains(t, w.Header(), "Retry-After", "no wait would help")
		}
	}
}

func TestDeniedAnswersAfterTheFieldsWereSet(t *testing.T) {
	for format, field := range []string{"RateLimit", "X-RateLimit-Reset", "X-RateLimit-Reset", "Retry-After"} {
		m := httplimit.Middleware{
			Layers:  layersOf(still(hourly(1, "a"))),
			Headers: httplimit.HeaderFormat(format),
			Denied: func(w http.ResponseWriter, r *http.Request, d weir.Decision) {
				require.Equal(t, "/path", r.URL.Path)
				require.Equal(t, "a", d.Policy)
				require.Equal(t, time.Hour, d.RetryAfter)
				require.Equal(t, "3600", w.Header().Get("Retry-After"))
				require.NotEmpty(t, w.Header().Get(field))
				w.WriteHeader(http.StatusTeapot)
			},
		}
		h := m.Handler(sayOK)
		require.Equal(t, http.StatusOK, respond(h).Code)
		require.Equal(t, http.StatusTeapot, respond(h).Code)
	}
}

func TestMiddlewaresOneInTheOtherAreBothTold(t *testing.T) {
	inner := httplimit.Limit(httplimit.Global(still(hourly(1, "inner"))))(sayOK)
	outer := httplimit.Limit(httplimit.Global(still(hourly(4, "outer"))))(inner)
	for _, want := range []http.Header{
		{"Ratelimit": {`"outer";r=3;t=900`, `"inner";r=0;t=3600`}},
		{"Ratelimit": {`"outer";r=2;t=1800`, `"inner";r=0;t=3600`}, "Retry-After": {"3600"}},
	} {
		want["Ratelimit-Policy"] = []string{`"outer";q=4;w=3600`, `"inner";q=1;w=3600`}
		requireFields(t, respond(outer), want)
	}
}

func TestWithoutLayersAllIsAllowedAndNothingTold(t *testing.T) {
	w := respond(httplimit.Limit()(sayOK))
	require.Equal(t, http.StatusOK, w.Code)
	requireFields(t, w, http.Header{})
}

func TestAHandlerKeepsTheFieldsOfItsMiddleware(t *testing.T) {
	m := &httplimit.Middleware{Layers: layersOf(still(hourly(0, "closed"))), Headers: httplimit.HeadersXRateLimit}
	h := m.Handler(sayOK)
	*m = httplimit.Middleware{Denied: func(http.ResponseWriter, *http.Request, weir.Decision) { t.Error("another's") }}
	requireFields(t, respond(h), http.Header{"X-Ratelimit-Limit": {"0"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"0"}})
}

func TestAMiddlewareThatCannotWorkPanics(t *testing.T) {
	layers := weir.NewLayers[*http.Request]()
	require.PanicsWithValue(t, "httplimit: Middleware.Layers is nil: make them with weir.NewLayers",
		func() { (&httplimit.Middleware{}).Handler(sayOK) })
	require.PanicsWithValue(t, "httplimit: Middleware.Headers is 4: it must be one of the HeaderFormats",
		func() {
			(&httplimit.Middleware{Layers: layers, Headers: httplimit.HeadersRetryAfterOnly + 1}).Handler(sayOK)
		})
	require.PanicsWithValue(t, "httplimit: Middleware.Handler of nil: it needs a handler",
		func() { (&httplimit.Middleware{Layers: layers}).Handler(nil) })
	require.Panics(t, func() { httplimit.PerClientIP(hourly(1, "a"), []netip.Prefix{{}}) })
}
