package httplimit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// A logFile has the records of a logger as JSON, a line each. It is safe for concurrent use.
type logFile struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (f *logFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(p)
}

func (f *logFile) logger(level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewJSONHandler(f, &slog.HandlerOptions{Level: level}))
}

// logged has the records so far, without their time, and begins anew.
func (f *logFile) logged(t *testing.T) (records []map[string]any) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	decoder := json.NewDecoder(&f.text)
	for decoder.More() {
		var record map[string]any
		require.NoError(t, decoder.Decode(&record))
		delete(record, "time")
		records = append(records, record)
	}
	f.text.Reset()
	return records
}

// denying is a handler that denies all requests, and logs it to a file.
func denying(f *logFile, policy weir.Policy, client func(*http.Request) string, opts ...weir.Option) http.Handler {
	m := httplimit.Middleware{Layers: layersOf(still(policy, opts...)), Logger: f.logger(nil), Client: client}
	return m.Handler(sayOK)
}

func TestADenialIsLogged(t *testing.T) {
	record := func(more map[string]any) map[string]any {
		all := map[string]any{"level": "WARN", "msg": "request denied", "client": "192.0.2.1", "policy": "a", "method": "GET", "path": "/path"}
		for key, value := range more {
			all[key] = value
		}
		return all
	}
	f := &logFile{}
	h := denying(f, hourly(1, "a"), nil)
	respond(h)
	require.Empty(t, f.logged(t), "it was allowed")
	respond(h)
	require.Equal(t, []map[string]any{record(map[string]any{"retry_after": float64(time.Hour)})}, f.logged(t))

	respond(denying(f, hourly(0, "a"), nil))
	require.Equal(t, []map[string]any{record(nil)}, f.logged(t))

	h = denying(f, hourly(1, "a"), func(r *http.Request) string { return "customer of " + r.URL.Path }, weir.WithShadow())
	respond(h)
	require.Equal(t, "ok", respond(h).Body.String(), "a shadow denies nobody")
	require.Equal(t, []map[string]any{record(map[string]any{
		"retry_after": float64(time.Hour), "shadowed": true, "client": "customer of /path",
	})}, f.logged(t))
}

func TestTheClientThatIsLoggedIsTheKeysAddress(t *testing.T) {
	clock := weir.WithClock(weir.NewManualClock())
	layer := func(key func(*http.Request) (netip.Addr, bool)) weir.Layer[*http.Request] {
		return weir.By(weir.NewPerClient[netip.Addr](hourly(0, "a"), clock), key)
	}
	closed := httplimit.Global(still(hourly(0, "a")))
	for want, test := range map[string]struct {
		layers []weir.Layer[*http.Request]
		remote string
	}{
		"192.0.2.1":       {[]weir.Layer[*http.Request]{closed}, "192.0.2.1:1"},
		"2001:db8:1:2::":  {[]weir.Layer[*http.Request]{closed}, "[2001:db8:1:2::7]:1"}, // a /64
		"unknown":         {[]weir.Layer[*http.Request]{closed}, "@"},
		"198.51.100.7":    {[]weir.Layer[*http.Request]{closed, httplimit.PerClientIP(hourly(9, "b"), prefixes("192.0.2.0/24"), clock)}, "192.0.2.1:1"},
		"203.0.113.9":     {[]weir.Layer[*http.Request]{layer(func(*http.Request) (netip.Addr, bool) { return netip.MustParseAddr("203.0.113.9"), true })}, "192.0.2.1:1"},
		"192.0.2.2":       {[]weir.Layer[*http.Request]{closed, layer(func(*http.Request) (netip.Addr, bool) { return netip.Addr{}, false })}, "192.0.2.2:1"},
		"192.0.2.3":       {[]weir.Layer[*http.Request]{closed, httplimit.PerHeader("X-Forwarded-For", hourly(9, "b"), clock)}, "192.0.2.3:1"},
		"2001:db8:1:3::1": {[]weir.Layer[*http.Request]{closed, weir.By(weir.NewPerClient[netip.AddrPort](hourly(9, "b"), clock), func(r *http.Request) (netip.AddrPort, bool) { return netip.MustParseAddrPort(r.RemoteAddr), true })}, "[2001:db8:1:3::1]:1"},
	} {
		f := &logFile{}
		m := httplimit.Middleware{Layers: weir.NewLayers(test.layers...), Logger: f.logger(nil)}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.remote
		r.Header.Set("X-Forwarded-For", "198.51.100.7")
		m.Handler(sayOK).ServeHTTP(httptest.NewRecorder(), r)
		got := f.logged(t)[0]["client"]
		require.Equal(t, want, strings.TrimSuffix(got.(string), "/64"))
		require.Equal(t, want == "2001:db8:1:2::", strings.HasSuffix(got.(string), "/64"))
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	f := &logFile{}
	clock := weir.WithClock(weir.NewManualClock())
	m := httplimit.Middleware{
		Layers: weir.NewLayers(httplimit.PerHeader("Authorization", hourly(0, "token"), clock)),
		Logger: f.logger(slog.LevelDebug),
	}
	h := m.Handler(sayOK)
	r := httptest.NewRequest("GET", "http://user:secret@host/path?key=secret#secret", nil)
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("Cookie", "secret")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.NotContains(t, f.text.String(), "secret")
	require.Len(t, f.logged(t), 1)
}

func TestARecordIsShortHoweverLongTheRequest(t *testing.T) {
	f, long := &logFile{}, strings.Repeat("x", 1<<20)
	h := denying(f, hourly(0, "a"), func(*http.Request) string { return long })
	r := httptest.NewRequest(long, "/"+long, nil)
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.Less(t, f.text.Len(), 1000)
	record := f.logged(t)[0]
	for key, length := range map[string]int{"method": 16, "path": 256, "client": 64} {
		text := record[key].(string)
		require.True(t, strings.HasSuffix(text, "..."), "%s says that it was cut", key)
		require.Len(t, text, length+len("..."))
	}

	exact := httptest.NewRequest(long[:16], "/"+long[:255], nil)
	h.ServeHTTP(httptest.NewRecorder(), exact)
	record = f.logged(t)[0]
	require.Equal(t, exact.Method, record["method"])
	require.Equal(t, exact.URL.Path, record["path"])
}

// told adds up what the records tell of.
func told(records []map[string]any) (denials, denied int) {
	for _, record := range records {
		if record["msg"] == "request denied" {
			denied++
			denials++
		}
		if n, ok := record["left_out"].(float64); ok {
			denials += int(n)
		}
	}
	return denials, denied
}

func TestAFloodIsLoggedOnceASecondAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &logFile{}
		h := denying(f, hourly(0, "a"), nil)
		const clients, seconds, each = 8, 25, 100
		var flood sync.WaitGroup
		for range clients {
			flood.Go(func() {
				for range seconds * each {
					respond(h)
					time.Sleep(time.Second / each)
				}
			})
		}
		flood.Wait()
		records := f.logged(t)
		_, denied := told(records)
		require.InDelta(t, 10+seconds, denied, 1, "ten at once, and then one a second")
		require.LessOrEqual(t, len(records), denied+seconds/10, "and one in ten seconds of those left out")
		for _, record := range records[:10] {
			require.NotContains(t, record, "left_out")
		}
		time.Sleep(time.Minute)
		more := f.logged(t)
		require.Len(t, more, 1, "a flood that ends is summed up")
		require.Equal(t, "request denied: more", more[0]["msg"])
		require.Equal(t, "WARN", more[0]["level"])
		denials, _ := told(append(records, more...))
		require.Equal(t, clients*seconds*each, denials)
	})
}

func TestWhateverTheirPaceDenialsAddUp(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			f, all, random := &logFile{}, 0, rand.New(rand.NewPCG(seed, 0))
			h := denying(f, hourly(0, "a"), nil)
			for range 60 {
				burst := random.IntN(40)
				var flood sync.WaitGroup
				for range burst {
					flood.Go(func() { respond(h) })
				}
				flood.Wait()
				all += burst
				time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
			}
			time.Sleep(10 * time.Second)
			denials, _ := told(f.logged(t))
			require.Equal(t, all, denials, "seed %d", seed)
		})
	}
}

func TestALoggerThatIsOffCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, level := &logFile{}, new(slog.LevelVar)
		level.Set(slog.LevelError)
		m := httplimit.Middleware{
			Layers:  layersOf(still(hourly(0, "a"))),
			Headers: httplimit.HeadersRetryAfterOnly,
			Denied:  func(http.ResponseWriter, *http.Request, weir.Decision) {},
			Client:  func(*http.Request) string { t.Error("nobody wants to know"); return "" },
			Logger:  f.logger(level),
		}
		h, w, r := m.Handler(sayOK), httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		require.Zero(t, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }))
		time.Sleep(time.Minute)
		require.Empty(t, f.logged(t), "nor are they counted")
	})
}

func TestWhatCannotBeSettledIsLogged(t *testing.T) {
	f, lost := &logFile{}, error(nil)
	take := func(context.Context, netip.Prefix, int) (weir.Decision, error) {
		return weir.Decision{Allowed: true}, nil
	}
	far := weir.Remote[netip.Prefix]{
		Take: take, Peek: take,
		Refund: func(context.Context, netip.Prefix, int) error { return lost },
	}
	m := httplimit.Middleware{
		Layers: weir.NewLayers(weir.ByRemote(far, httplimit.RemoteIP)),
		Settle: func(*http.Request, int) int { return 0 },
		Logger: f.logger(nil),
	}
	require.Equal(t, "ok", respond(m.Handler(sayOK)).Body.String())
	require.Empty(t, f.logged(t))
	lost = errors.New("the store does not answer")
	require.Equal(t, "ok", respond(m.Handler(sayOK)).Body.String())
	require.Equal(t, []map[string]any{{"level": "ERROR", "msg": "request not settled", "error": "the store does not answer"}}, f.logged(t))
	m.Logger = nil
	require.Equal(t, "ok", respond(m.Handler(sayOK)).Body.String(), "nobody wants to know")
}
