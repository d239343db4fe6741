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

// Each TestCase is a case that broke another limiter; its comment names the thread.

// go-chi/httprate#53, #61.
func TestCase41AForgedXForwardedForIsIgnored(t *testing.T) {
	key := httplimit.ClientIP(netip.MustParsePrefix("10.0.0.0/8"))
	for _, c := range []struct {
		peer, want string
		lines      []string
	}{
		{"203.0.113.9:1", "203.0.113.9/32", []string{"198.51.100.1"}}, // from nobody we trust
		{"10.0.0.1:1", "198.51.100.1/32", []string{"192.0.2.66, 198.51.100.1"}},
		{"10.0.0.1:1", "198.51.100.1/32", []string{"192.0.2.66", "198.51.100.1, 10.2.3.4"}},
		{"10.0.0.1:1", "10.2.3.4/32", []string{"192.0.2.66, nonsense, 10.2.3.4"}},
		{"10.0.0.1:1", "10.0.0.1/32", []string{"192.0.2.66, "}},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.peer, c.lines
		got, ok := key(r)
		require.True(t, ok)
		require.Equal(t, c.want, got.String(), c)
	}
}

// go-chi/httprate#10.
func TestCase42OneIPv6SubscriberIsOneKey(t *testing.T) {
	key := func(peer string) string {
		p, _ := httplimit.RemoteIP(&http.Request{RemoteAddr: peer})
		return p.String()
	}
	require.Equal(t, "2001:db8::/64", key("[2001:db8::1]:1"))
	require.Equal(t, "2001:db8::/64", key("[2001:db8::2]:2"))
	require.Equal(t, "1.2.3.4/32", key("[::ffff:1.2.3.4]:3"))
	require.Equal(t, "1.2.3.4/32", key("1.2.3.4:4"))
}

// traefik/traefik#8573.
func TestCase43RetryAfterIsWholeSecondsRoundedUp(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		1: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Minute: "5400", weir.Never: "",
	} {
		w := httptest.NewRecorder()
		httplimit.WriteDenied(w, httptest.NewRequest(http.MethodGet, "/", nil), weir.Decision{RetryAfter: wait})
		require.Equal(t, want, w.Header().Get("Retry-After"), wait)
	}
}
