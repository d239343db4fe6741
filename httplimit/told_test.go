package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// The handler may have changed the headers that had the key.
func TestARemoteLayerIsSettledByTheKeyThatWasCharged(t *testing.T) {
	store := weir.NewPerClient[string](hourly(5, "far"), stoppedClock())
	key := httplimit.HeaderKey("X-Api-Key")
	take := func(_ context.Context, key string, n int) (weir.Decision, error) { return store.Take(key, n), nil }
	far := weir.Remote[string]{
		Take: take, Peek: take,
		Refund: func(_ context.Context, key string, n int) error {
			store.Refund(key, n)
			return nil
		},
	}
	m := httplimit.Middleware{Layers: weir.NewLayers(weir.ByRemote(far, key)), Settle: func(*http.Request, int) int { return 0 }}
	h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { r.Header.Del("X-Api-Key") })) // a secret that goes no further
	respond(h, "X-Api-Key", "1")
	require.Equal(t, 5, store.Tokens("1"))
}

// It is listed although nobody asked it.
func TestADenialListsRemotePoliciesToo(t *testing.T) {
	far := still(hourly(9, "far"))
	h := httplimit.Limit(httplimit.Global(still(hourly(1, "near"))),
		farLayer(far.Policy(), func(_ context.Context, n int) (weir.Decision, error) { return far.Take(n), nil }))(sayOK)
	allowed, denied := respond(h), respond(h)
	require.Equal(t, http.StatusTooManyRequests, denied.Code)
	require.Equal(t, allowed.Header()["Ratelimit-Policy"], denied.Header()["Ratelimit-Policy"])
}

// While a layer that is only tried out would deny, clients are told what is left of the others.
func TestAShadowDoesNotHideWhatIsLeft(t *testing.T) {
	h := httplimit.Limit(httplimit.Global(still(hourly(2, "told"))), httplimit.Global(still(hourly(0, "tried"), weir.WithShadow())))(sayOK)
	require.Equal(t, `"told";r=1;t=1800`, respond(h).Header().Get("RateLimit"))
}

// A remote layer that does not tell its policy (Remote.Policy may be nil) is told all the same.
func TestARemoteLayerWithoutAPolicyTellsWhatIsLeft(t *testing.T) {
	far := still(hourly(9, "far"))
	m := httplimit.Middleware{Headers: httplimit.HeadersXRateLimit, Layers: weir.NewLayers(farLayer(weir.Policy{},
		func(_ context.Context, n int) (weir.Decision, error) { return far.Take(n), nil }))}
	require.Equal(t, "8", respond(m.Handler(sayOK)).Header().Get("X-RateLimit-Remaining"))
}

// A middleware whose Handler is called for each route, as PerRoute asks for, writes ten records at once, and one a
// second, for each of them.
func TestAMiddlewareOfManyRoutesLogsAsOne(t *testing.T) {
	f := &logFile{}
	m := httplimit.Middleware{Layers: layersOf(still(hourly(0, "a"))), Logger: f.logger(nil)}
	for range 20 {
		h := m.Handler(sayOK)
		for range 20 {
			respond(h)
		}
	}
	require.LessOrEqual(t, len(f.logged(t)), 11)
}

// A client chooses what takes six bytes each.
func TestARecordIsShort(t *testing.T) {
	f := &logFile{}
	r := httptest.NewRequest("GET", "/"+strings.Repeat("%01", 1000), nil)
	denying(f, hourly(0, "a"), nil).ServeHTTP(httptest.NewRecorder(), r)
	require.Less(t, f.text.Len(), 2000)
}

// A path is not cut within a character.
func TestAPathIsCutBetweenCharacters(t *testing.T) {
	f := &logFile{}
	r := httptest.NewRequest("GET", "/"+strings.Repeat("%C3%BC", 1000), nil)
	denying(f, hourly(0, "a"), nil).ServeHTTP(httptest.NewRecorder(), r)
	require.True(t, json.Valid(f.text.Bytes()))
	require.NotContains(t, f.logged(t)[0]["path"], "\ufffd")
}

// An error that is answered before a large upload waits for up to 256 KiB of it; a denial does not.
func TestAnErrorDoesNotWaitForTheBody(t *testing.T) {
	h := httplimit.Limit(farLayer(hourly(1, "far"), func(context.Context, int) (weir.Decision, error) {
		return weir.Decision{}, errors.New("lost")
	}))(sayOK)
	s := httptest.NewServer(h)
	t.Cleanup(s.CloseClientConnections)
	conn, in := rawConn(t, s)
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Second)))
	response, _ := exchangeRaw(t, conn, in, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\nsome of it")
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
}

// What is held for a request is settled though its log panics; and only what is denied, or would be, is logged.
func TestALogThatPanicsLeavesNothingHeld(t *testing.T) {
	l, tried := still(hourly(9, "a")), still(hourly(0, "b"), weir.WithShadow())
	m := httplimit.Middleware{
		Layers: layersOf(l, tried),
		Settle: func(*http.Request, int) int { return 0 },
		Logger: (&logFile{}).logger(nil),
		Client: func(*http.Request) string { panic("client") },
	}
	require.Panics(t, func() { respond(m.Handler(sayOK)) })
	require.Equal(t, 9, l.Tokens())

	f := &logFile{}
	m = httplimit.Middleware{Layers: layersOf(l), Logger: f.logger(nil), Bandwidth: func(context.Context, *http.Request, int) error { return nil }}
	respond(m.Handler(sayOK))
	require.Empty(t, f.logged(t))
}
