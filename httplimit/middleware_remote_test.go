package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// farLayer is one that is decided elsewhere: by take. It does not tell the zero Policy.
func farLayer(p weir.Policy, take func(context.Context, int) (weir.Decision, error)) weir.Layer[*http.Request] {
	ask := func(ctx context.Context, _ netip.Prefix, n int) (weir.Decision, error) { return take(ctx, n) }
	store := weir.Remote[netip.Prefix]{Take: ask, Peek: ask, Refund: func(context.Context, netip.Prefix, int) error { return nil }}
	if p != (weir.Policy{}) {
		store.Policy = func() weir.Policy { return p }
	}
	return weir.ByRemote(store, httplimit.RemoteIP)
}

func TestARemoteLayerIsToldAsAnyOther(t *testing.T) {
	far := still(hourly(1, "far"))
	h := httplimit.Limit(farLayer(far.Policy(), func(_ context.Context, n int) (weir.Decision, error) { return far.Take(n), nil }),
		httplimit.Global(still(hourly(9, "near"))))(sayOK)
	want := http.Header{"Ratelimit-Policy": {`"near";q=9;w=3600,"far";q=1;w=3600`}, "Ratelimit": {`"far";r=0;t=3600`}}
	requireFields(t, respond(h), want)
	want["Retry-After"] = []string{"3600"}
	requireFields(t, respond(h), want)
}

func TestAnErrorIsNoDenial(t *testing.T) {
	lost, near := errors.New("the store does not answer"), still(hourly(5, "near"))
	layers := weir.NewLayers(httplimit.Global(near),
		farLayer(hourly(1, "far"), func(context.Context, int) (weir.Decision, error) { return weir.Decision{}, lost }))
	for _, settle := range []func(*http.Request, int) int{nil, func(*http.Request, int) int { panic("nothing is to be settled") }} {
		m := httplimit.Middleware{Layers: layers, Settle: settle, Denied: func(http.ResponseWriter, *http.Request, weir.Decision) {
			t.Error("denied")
		}}
		w := respond(m.Handler(sayOK))
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "Service Unavailable\n", w.Body.String())
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Empty(t, w.Header().Get("Connection"))

		m.Error = func(w http.ResponseWriter, r *http.Request, err error) {
			require.ErrorIs(t, err, lost)
			sayOK(w, r)
		}
		require.Equal(t, "ok", respond(m.Handler(sayOK)).Body.String())
	}
	require.Equal(t, 5, near.Tokens(), "what the layers before it took is given back")
}

func TestARequestWhoseClientHasGoneIsNotDecidedAbout(t *testing.T) {
	l := still(hourly(5, "all"))
	m := httplimit.Middleware{Layers: layersOf(l), Error: func(_ http.ResponseWriter, _ *http.Request, err error) {
		require.ErrorIs(t, err, context.Canceled)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") })).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	require.Equal(t, 5, l.Tokens())
	require.Zero(t, l.Stats())
}
