package debuglimit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
	"github.com/stretchr/testify/require"
)

// A slicedStore is a Reader that == panics on.
type slicedStore struct {
	*store
	_ []int
}

func TestALimiterThatCannotBeComparedIsOfNoLayers(t *testing.T) {
	far := slicedStore{store: &store{PerClient: weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(5)))}}
	layer := weir.ByRemote(weir.Remote[string]{
		Take: far.Peek, Peek: far.Peek,
		Refund:  func(context.Context, string, int) error { return nil },
		Limiter: far,
	}, func(key string) (string, bool) { return key, true })
	var page debuglimit.Page
	page.Add("far", debuglimit.Store(far))
	page.AddLayers("search", weir.NewLayers(layer))
	require.NotContains(t, get(&page, "?format=json").Body.String(), `"layers"`)
}

// TestAProxyThatNamesNobodyIsRefused: nginx asks so unless it is told to do otherwise, for whoever asks it.
func TestAProxyThatNamesNobodyIsRefused(t *testing.T) {
	page, _, _ := bench()
	r := httptest.NewRequest("GET", "http://127.0.0.1:8080/debug/weir", nil)
	r.RemoteAddr, r.Proto, r.ProtoMinor = "127.0.0.1:5000", "HTTP/1.0", 0
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
}

// TestALongIPv6PrefixIsFoundByWhatIsShown: an address alone is read as its /64, so this is not written as one.
func TestALongIPv6PrefixIsFoundByWhatIsShown(t *testing.T) {
	keys := debuglimit.Prefixes()
	want := netip.MustParsePrefix("2001:db8::7/128")
	got, err := keys.Parse(keys.Format(want))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestWhatIsToldOfTheMostDeniedIsBounded: keys may be what a client made as long as it liked, and so many that
// each second of a page would take long.
func TestWhatIsToldOfTheMostDeniedIsBounded(t *testing.T) {
	users := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(0)), weir.WithTopDenied(5000))
	for i := range 5000 {
		users.Allow(fmt.Sprint(i, strings.Repeat("é", 10_000)))
	}
	var page debuglimit.Page
	page.Add("users", debuglimit.PerClient(users, debuglimit.Strings()))
	top := getJSON(t, &page, "&limiter=users")["top_denied"].([]any)
	require.Len(t, top, 1000)
	for _, c := range top {
		key := c.(map[string]any)["key"].(string)
		require.True(t, strings.HasSuffix(key, "é…"), key)
		require.NotContains(t, key, string(utf8.RuneError))
		require.Less(t, len(key), 300)
	}
}

func TestLayersNeedANameAndLimiters(t *testing.T) {
	var page debuglimit.Page
	layers := weir.NewLayers[int]()
	require.PanicsWithValue(t, `debuglimit: AddLayers(""): the name must be UTF-8`, func() { page.AddLayers("", layers) })
	require.PanicsWithValue(t, `debuglimit: AddLayers("\xff"): the name must be UTF-8`, func() { page.AddLayers("\xff", layers) })
	require.PanicsWithValue(t, `debuglimit: AddLayers("a"): nil layers`, func() { page.AddLayers("a", nil) })
}
