package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// endless is a policy that no test uses up.
var endless = weir.TokenBucket(weir.PerSecond(1_000_000_000).WithBurst(1_000_000_000)).Named("endless")

type costlyLayers struct {
	name   string
	layers *weir.Layers[*http.Request]
}

func allCostlyLayers() []costlyLayers {
	all, client, key := httplimit.Global(weir.New(endless)), httplimit.PerRemoteIP(endless), httplimit.PerHeader("X-Api-Key", endless)
	behind := httplimit.PerClientIP(endless, prefixes("192.0.2.0/24"))
	combined := httplimit.PerRemoteIP(weir.All(endless, weir.SlidingCounter(weir.PerHour(1_000_000))))
	return []costlyLayers{
		{"Global", weir.NewLayers(all)},
		{"PerRemoteIP", weir.NewLayers(client)},
		{"ThreeLayers", weir.NewLayers(behind, key, all)},
		{"Combination", weir.NewLayers(combined)},
	}
}

func costlyRequest() *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	r.Header.Set("X-Api-Key", "key")
	return r
}

func TestAnAllowedRequestAllocatesLittle(t *testing.T) {
	served := 0
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ })
	for _, c := range allCostlyLayers() {
		for format, most := range map[httplimit.HeaderFormat]float64{
			httplimit.HeadersStandard: 3, httplimit.HeadersXRateLimit: 3, httplimit.HeadersBoth: 4, httplimit.HeadersRetryAfterOnly: 0,
		} {
			m := httplimit.Middleware{Layers: c.layers, Headers: format}
			h, w, r := m.Handler(next), &bare{http.Header{}}, costlyRequest()
			served = 0
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}), most, "%s, format %d", c.name, format)
			require.Equal(t, 101, served)
		}
	}
}

// AllocsPerRun rounds down, so several requests are asked for at once.
func TestWithoutFieldsFourRequestsAllocateOnce(t *testing.T) {
	for _, c := range allCostlyLayers() {
		m := httplimit.Middleware{Layers: c.layers, Headers: httplimit.HeadersRetryAfterOnly}
		h, w, r := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), &bare{http.Header{}}, costlyRequest()
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			for range 4 {
				h.ServeHTTP(w, r)
			}
		}), 1.0, c.name)
	}
}
