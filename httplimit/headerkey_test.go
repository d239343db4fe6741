package httplimit_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestHeaderKey(t *testing.T) {
	key := httplimit.HeaderKey("x-API-key")
	for name, c := range map[string]struct {
		header []string
		want   string
		ok     bool
	}{
		"absent":         {nil, "", false},
		"another":        {[]string{"X-Api-Keys", "a"}, "", false},
		"one":            {[]string{"X-Api-Key", "a"}, "a", true},
		"as it is":       {[]string{"X-Api-Key", "A, b"}, "A, b", true},
		"empty":          {[]string{"X-Api-Key", ""}, "", true},
		"two lines":      {[]string{"X-Api-Key", "a", "X-Api-Key", "b"}, "a", true},
		"an empty first": {[]string{"X-Api-Key", "", "X-Api-Key", "b"}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("", c.header...)
			got, ok := key(r)
			require.Equal(t, c.ok, ok)
			require.Equal(t, c.want, got)
			require.Equal(t, r.Header.Get("X-Api-Key"), got, "what the handler acts on")
		})
	}

	_, ok := key(&http.Request{})
	require.False(t, ok)
	_, ok = key(&http.Request{Header: http.Header{"X-Api-Key": nil}})
	require.False(t, ok)
}

func TestHeaderKeyHost(t *testing.T) {
	key := httplimit.HeaderKey("host")
	got, ok := key(&http.Request{Host: "example.com"})
	require.True(t, ok)
	require.Equal(t, "example.com", got)
	_, ok = key(&http.Request{})
	require.False(t, ok)
}

func TestHeaderKeyOfNoHeaderPanics(t *testing.T) {
	for _, name := range []string{"", "X Api Key", "X-Api-Key:", "X-Äpi-Key", "X-\u0161pi-Key", "X\x00"} {
		require.Panics(t, func() { httplimit.HeaderKey(name) }, name)
	}
	require.PanicsWithValue(t, `httplimit: HeaderKey: "X-Api-Key:" is not a header's name`, func() { httplimit.HeaderKey("X-Api-Key:") })
}

func TestHeaderKeyDoesNotCopy(t *testing.T) {
	r := request("", "X-Api-Key", strings.Repeat("k", 1<<20))
	key := httplimit.HeaderKey("X-Api-Key")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if v, ok := key(r); !ok || len(v) != 1<<20 {
			t.Error("not the value")
		}
	}))
}
