package debuglimit_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
	"github.com/stretchr/testify/require"
)

// get asks a page as somebody on the machine does.
func get(page http.Handler, query string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://localhost/debug/weir"+query, nil)
	r.RemoteAddr = "127.0.0.1:5000"
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	return w
}

func getJSON(t *testing.T, page http.Handler, query string) (answer map[string]any) {
	t.Helper()
	w := get(page, "?format=json"+query)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body)
	answer["status"] = w.Code
	return answer
}

func TestTheZeroPageHasNoLimiters(t *testing.T) {
	var page debuglimit.Page
	require.JSONEq(t, `{"limiters":[]}`, get(&page, "?format=json").Body.String())
}

// bench is a page of a limiter, one per client with one whose clients are known, and layers of both.
func bench() (*debuglimit.Page, *weir.ManualClock, *weir.PerClient[string]) {
	clock := weir.NewManualClock()
	shared := weir.New(weir.MustParsePolicy(`sliding-window 100/h as "all"`), weir.WithClock(clock))
	users := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(2).WithBurst(4)),
		weir.WithClock(clock), weir.WithSweepEvery(0), weir.WithTopDenied(2))
	page := new(debuglimit.Page)
	page.Add("shared", debuglimit.Limiter(shared))
	page.Add("users", debuglimit.PerClient(users, debuglimit.Strings()))
	page.AddLayers("search", weir.NewLayers(weir.Global[string](shared),
		weir.By(users, func(u string) (string, bool) { return u, true })))
	return page, clock, users
}

func TestTheOverviewHasPoliciesLayersAndCounters(t *testing.T) {
	page, _, users := bench()
	for range 5 {
		users.Allow("ann")
	}
	require.JSONEq(t, `{"limiters":[
		{"name":"shared","policy":"sliding-window 100/h as \"all\"","description":"\"all\" (100 in any 1h)","layers":["search"],
			"per_client":false,"searchable":false,
			"allowed":0,"denied":0,"rejection_rate":0,"shadowed":0,"waiting":0,"clients":0,"evicted":0,"overflowed":0,"local":0,"fallback":0},
		{"name":"users","policy":"token-bucket 2/s burst 4","description":"4 at once, and one more each 500ms (2 in 1s)","layers":["search"],
			"per_client":true,"searchable":true,
			"allowed":4,"denied":1,"rejection_rate":20,"shadowed":0,"waiting":0,"clients":1,"evicted":0,"overflowed":0,"local":0,"fallback":0}
	]}`, get(page, "?format=json").Body.String())
}

func TestAClientIsShownUntilItIsFull(t *testing.T) {
	page, clock, users := bench()
	for range 5 {
		users.Allow("ann")
	}
	clock.Advance(100 * time.Millisecond)
	one := getJSON(t, page, "&limiter=users&key=ann")
	require.Equal(t, []any{map[string]any{"key": "ann", "count": 1., "error": 0.}}, one["top_denied"])
	require.Equal(t, map[string]any{
		"key": "ann", "allowed": false, "remaining": 0., "limit": 4., "policy": "token-bucket 2/s burst 4",
		"retry_after": 0.4, "reset_after": 1.9, "refill": []any{
			map[string]any{"after": 0.4, "tokens": 1.}, map[string]any{"after": 0.9, "tokens": 2.},
			map[string]any{"after": 1.4, "tokens": 3.}, map[string]any{"after": 1.9, "tokens": 4.},
		},
	}, one["client"])
	clock.Advance(time.Hour)
	one = getJSON(t, page, "&limiter=users&key=ann")
	require.Equal(t, []any{true, 4., 0.}, []any{
		one["client"].(map[string]any)["allowed"], one["client"].(map[string]any)["remaining"],
		one["client"].(map[string]any)["reset_after"],
	})
}

func TestALimiterThatAllShareIsItsOwnClient(t *testing.T) {
	page, _, _ := bench()
	client := getJSON(t, page, "&limiter=shared")["client"].(map[string]any)
	require.Equal(t, 100., client["remaining"])
	require.Len(t, client["refill"], 40, "not all of a hundred steps")
	require.Equal(t, 100., client["refill"].([]any)[39].(map[string]any)["tokens"])
}

func TestNeverIsNull(t *testing.T) {
	var page debuglimit.Page
	page.Add("nothing", debuglimit.Limiter(weir.New(weir.TokenBucket(weir.PerSecond(0)))))
	page.Add("everything", debuglimit.Limiter(weir.New(weir.TokenBucket(weir.Unlimited()))))
	client := getJSON(t, &page, "&limiter=nothing")["client"].(map[string]any)
	require.Contains(t, client, "retry_after")
	require.Nil(t, client["retry_after"])
	require.NotContains(t, client, "refill")
	client = getJSON(t, &page, "&limiter=everything")["client"].(map[string]any)
	require.Equal(t, true, client["allowed"])
	require.NotContains(t, client, "refill")
}

// TestToLookChangesNothing: neither counters nor clients.
func TestToLookChangesNothing(t *testing.T) {
	page, _, users := bench()
	users.Allow("ann")
	before := users.Stats()
	for _, query := range []string{"", "?format=json", "?format=json&limiter=users&key=ann", "?format=json&limiter=users&key=new"} {
		require.Equal(t, http.StatusOK, get(page, query).Code)
	}
	require.Equal(t, before, users.Stats())
	require.Equal(t, 3, users.Tokens("ann"))
}

// A store is a limiter elsewhere.
type store struct {
	*weir.PerClient[string]
	err error
}

func (s *store) Peek(ctx context.Context, key string, n int) (weir.Decision, error) {
	if ctx.Err() != nil {
		return weir.Decision{}, ctx.Err()
	}
	return s.PerClient.Peek(key, n), s.err
}

func TestAStoreIsAskedForAClient(t *testing.T) {
	far := &store{PerClient: weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(5)))}
	var page debuglimit.Page
	page.Add("far", debuglimit.Store(far))
	one := getJSON(t, &page, "&limiter=far&key=ann")
	require.Equal(t, "ann", one["client"].(map[string]any)["key"])
	require.NotContains(t, one["client"], "refill", "the store is not asked so often")
	far.err = errors.New("the store is away")
	one = getJSON(t, &page, "&limiter=far&key=ann")
	require.Equal(t, map[string]any{"status": http.StatusBadGateway, "error": "the store is away"}, one)
	require.NotContains(t, getJSON(t, &page, "&limiter=far"), "client", "unless one is looked for")
}

func TestWhatCannotBeAnsweredIsSaid(t *testing.T) {
	var page debuglimit.Page
	addresses := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(5)))
	page.Add("addresses", debuglimit.PerClient(addresses, debuglimit.Prefixes()))
	page.Add("hidden", debuglimit.PerClient(addresses, debuglimit.Keys[netip.Prefix]{}))
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"&limiter=none":             {404, `no limiter on this page is named "none"`},
		"&limiter=addresses&key=me": {400, "not an IP address, as 192.0.2.7, 2001:db8::1 and 2001:db8::/64 are"},
	} {
		require.Equal(t, map[string]any{"status": want.status, "error": want.text}, getJSON(t, &page, query))
	}
	require.NotContains(t, getJSON(t, &page, "&limiter=hidden&key=192.0.2.1"), "client")
	require.Equal(t, http.StatusBadRequest, get(&page, "?format=xml").Code)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "http://localhost/", nil)
	r.RemoteAddr = "[::1]:1"
	page.ServeHTTP(w, r)
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
}

func TestOnlyTheMachineItselfMayLook(t *testing.T) {
	page, _, _ := bench()
	for _, from := range []struct {
		peer, host, header string
		ok                 bool
	}{
		{peer: "127.0.0.1:5000", host: "localhost:8080", ok: true},
		{peer: "127.8.9.1:5000", host: "127.0.0.1", ok: true},
		{peer: "[::1]:5000", host: "[::1]:8080", ok: true},
		{peer: "[::1]:5000", host: "[::1]", ok: true},
		{peer: "[::ffff:127.0.0.1]:5000", host: "LOCALHOST.", ok: true},
		{peer: "127.0.0.1:5000", host: "weir.localhost:8080", ok: true},
		{peer: "192.0.2.1:5000", host: "localhost"},
		{peer: "[2001:db8::1]:5000", host: "localhost"},
		{peer: "", host: "localhost"},
		{peer: "@", host: "localhost"},
		{peer: "127.0.0.1", host: "localhost"},
		// A foreign page whose name resolves to 127.0.0.1.
		{peer: "127.0.0.1:5000", host: "evil.example"},
		{peer: "127.0.0.1:5000", host: "evil.example:8080"},
		{peer: "127.0.0.1:5000", host: "localhost.evil.example"},
		{peer: "127.0.0.1:5000", host: "notlocalhost"},
		{peer: "127.0.0.1:5000", host: "192.0.2.1"},
		{peer: "127.0.0.1:5000", host: ""},
		// A proxy on the machine.
		{peer: "127.0.0.1:5000", host: "localhost", header: "X-Forwarded-For"},
		{peer: "127.0.0.1:5000", host: "localhost", header: "Forwarded"},
		{peer: "127.0.0.1:5000", host: "localhost", header: "Via"},
		{peer: "127.0.0.1:5000", host: "localhost", header: "X-Real-IP"},
		{peer: "127.0.0.1:5000", host: "localhost", header: "X-Forwarded-Host"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = from.peer, from.host
		if from.header != "" {
			r.Header.Set(from.header, "127.0.0.1")
		}
		for _, query := range []string{"", "?format=json", "?format=events"} {
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // of the stream
			r := r.Clone(ctx)
			r.URL.RawQuery = query
			w := httptest.NewRecorder()
			page.ServeHTTP(w, r)
			require.Equal(t, from.ok, w.Code == http.StatusOK, "%+v", from)
			if !from.ok {
				require.Equal(t, http.StatusForbidden, w.Code)
				require.NotContains(t, w.Body.String(), "users")
			}
		}
	}
	page.Allow = func(r *http.Request) bool { return r.Header.Get("Authorization") == "sesame" }
	require.Equal(t, http.StatusForbidden, get(page, "").Code, "not even the machine itself")
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "sesame")
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
}

// TestThePageRunsNothingButItsOwn: the policy knows its style and its script by their hashes, and there
// is no other.
func TestThePageRunsNothingButItsOwn(t *testing.T) {
	page, _, _ := bench()
	w := get(page, "")
	policy := w.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	require.NotContains(t, policy, "http")
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	body := w.Body.String()
	for _, tag := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+tag+`[^>]*>(.*?)</`+tag+`>`).FindAllStringSubmatch(body, -1)
		require.Len(t, found, 1)
		require.Greater(t, len(found[0][1]), 1000)
		sum := sha256.Sum256([]byte(found[0][1]))
		require.Contains(t, policy, tag+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	require.NotRegexp(t, `(?i) (src|href|on\w+|style)="?(http|//|[a-z]+\()`, body)
	require.Less(t, len(body), 32<<10)
}

func TestOddNamesAreData(t *testing.T) {
	var page debuglimit.Page
	name := "</script><script>alert(1)</script>&=\x00é"
	page.Add(name, debuglimit.Limiter(weir.New(weir.TokenBucket(weir.PerSecond(1)))))
	require.NotContains(t, get(&page, "?format=json").Body.String(), "<script>")
	require.NotContains(t, get(&page, "").Body.String(), "alert")
	require.Equal(t, http.StatusOK, getJSON(t, &page, "&limiter="+url.QueryEscape(name))["status"])
}

func TestMisuseIsToldAtOnce(t *testing.T) {
	l := weir.New(weir.TokenBucket(weir.PerSecond(1)))
	var page debuglimit.Page
	page.Add("a", debuglimit.Limiter(l))
	for want, misuse := range map[string]func(){
		`debuglimit: Add("a"): the name must be UTF-8, and one that no other limiter on the page has`:    func() { page.Add("a", debuglimit.Limiter(l)) },
		`debuglimit: Add(""): the name must be UTF-8, and one that no other limiter on the page has`:     func() { page.Add("", debuglimit.Limiter(l)) },
		"debuglimit: Add of the zero Source: make one with Limiter, PerClient or Store":                  func() { page.Add("b", debuglimit.Source{}) },
		`debuglimit: Add("\xff"): the name must be UTF-8, and one that no other limiter on the page has`: func() { page.Add("\xff", debuglimit.Limiter(l)) },
		"debuglimit: Limiter(nil)":   func() { debuglimit.Limiter(nil) },
		"debuglimit: PerClient(nil)": func() { debuglimit.PerClient(nil, debuglimit.Strings()) },
		"debuglimit: Store(nil)":     func() { debuglimit.Store(nil) },
		"debuglimit: Hashed of Keys without a Format: it hashes what that writes": func() { debuglimit.Keys[int]{}.Hashed() },
	} {
		require.PanicsWithValue(t, want, misuse)
	}
	require.True(t, page.Remove("a"))
	require.False(t, page.Remove("a"))
	page.Add("a", debuglimit.Limiter(l))
}

func TestPrefixesAreReadAsTheyAreWrittenAndTyped(t *testing.T) {
	keys := debuglimit.Prefixes()
	for text, want := range map[string]string{
		"192.0.2.7":                "192.0.2.7/32",
		"::ffff:192.0.2.7":         "192.0.2.7/32",
		"2001:db8:1:2:3::9":        "2001:db8:1:2::/64",
		"fe80::1%eth0":             "fe80::/64",
		"2001:db8:1:2::/64":        "2001:db8:1:2::/64",
		"2001:db8:1:2:3::/48":      "2001:db8:1::/48",
		"unknown":                  "invalid Prefix",
		"2001:db8:1:2:3:4:5:6/128": "2001:db8:1:2:3:4:5:6/128",
	} {
		key, err := keys.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, key.String())
		again, err := keys.Parse(keys.Format(key))
		require.NoError(t, err)
		if !key.IsSingleIP() || key.Addr().Is4() {
			require.Equal(t, key, again, text)
		}
	}
	for _, text := range []string{"", "localhost", "192.0.2", "192.0.2.1:80"} {
		_, err := keys.Parse(text)
		require.Error(t, err, text)
	}
}

// TestHashedClientsAreKnownByTheirPseudonyms: found by their names, and shown by what the list of those who
// are denied most shows.
func TestHashedClientsAreKnownByTheirPseudonyms(t *testing.T) {
	users := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(1)), weir.WithTopDenied(2))
	users.AllowN("ann@example.org", 2)
	users.AllowN("bob@example.org", 2)
	var page debuglimit.Page
	keys := debuglimit.Strings().Hashed()
	page.Add("users", debuglimit.PerClient(users, keys))
	body := get(&page, "?format=json&limiter=users&key=ann@example.org").Body.String()
	require.NotContains(t, body, "example.org")
	require.Contains(t, body, fmt.Sprintf(`"client":{"key":%q`, keys.Format("ann@example.org")))
	require.Contains(t, body, fmt.Sprintf(`{"key":%q,"count":1,"error":0}`, keys.Format("ann@example.org")))
	require.Regexp(t, `^#[0-9a-f]{12}$`, keys.Format("ann@example.org"))
	require.NotEqual(t, keys.Format("ann@example.org"), keys.Format("bob@example.org"))
	require.NotEqual(t, keys.Format("ann@example.org"), debuglimit.Strings().Hashed().Format("ann@example.org"))
}
