package httplimit_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

type keyFunc = func(*http.Request) (netip.Prefix, bool)

// request has those lines of header, each a name and a value.
func request(remoteAddr string, header ...string) *http.Request {
	r := &http.Request{RemoteAddr: remoteAddr, Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// keyOf is a key's text; none has no text.
func keyOf(t *testing.T, key keyFunc, r *http.Request) string {
	t.Helper()
	p, ok := key(r)
	require.True(t, ok, "the layer must apply to everybody")
	require.Equal(t, p, p.Masked())
	if p == (netip.Prefix{}) {
		return ""
	}
	return p.String()
}

func prefixes(s string) []netip.Prefix {
	var all []netip.Prefix
	for p := range strings.FieldsSeq(s) {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

func TestRemoteIPKeysByTheConnection(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:1234":                    "192.0.2.1/32",
		"192.0.2.1":                         "192.0.2.1/32", // as some middleware leaves it
		"192.0.2.1:":                        "192.0.2.1/32",
		"[2001:db8::1]:1234":                "2001:db8::/64",
		"[2001:db8::2]:1":                   "2001:db8::/64",
		"2001:db8::1":                       "2001:db8::/64",
		"[2001:db8:0:1::1]:1234":            "2001:db8:0:1::/64",
		"[::ffff:192.0.2.1]:1234":           "192.0.2.1/32",
		"::FFFF:c000:201":                   "192.0.2.1/32",
		"[::ffff:192.0.2.1%eth0]:80":        "192.0.2.1/32",
		"[fe80::1:2%eth0]:80":               "fe80::/64",
		"fe80::1%25eth0:1":                  "fe80::/64",
		"[::1]:80":                          "::/64",
		"":                                  "",
		"@":                                 "",
		"@abstract":                         "",
		"/run/app.sock":                     "",
		"pipe":                              "",
		"example.com:80":                    "",
		"192.0.2.1:http":                    "",
		"192.0.2.1:123456":                  "",
		"192.0.2.01:80":                     "",
		"192.0.2:80":                        "",
		"192.0.2.1%eth0":                    "",
		"[fe80::1%]:80":                     "",
		"[2001:db8::1]80":                   "",
		"[2001:db8::1":                      "",
		"[]:80":                             "",
		"%eth0":                             "",
		":80":                               "",
		" 192.0.2.1":                        "",
		strings.Repeat("f", 1<<20):          "",
		strings.Repeat(":", 1<<20):          "",
		"[::1]:" + strings.Repeat("9", 100): "",
	} {
		r := request(remote, "X-Forwarded-For", "203.0.113.9", "Forwarded", "for=203.0.113.9")
		require.Equal(t, want, keyOf(t, httplimit.RemoteIP, r), "%.60q", remote)
		require.Equal(t, want, keyOf(t, httplimit.ClientIP(), r), "%.60q", remote)
		require.Equal(t, want, keyOf(t, httplimit.ClientIP(prefixes("203.0.113.0/24 ::2/128")...), r), "%.60q", remote)
	}
}

// Proxies are 10/8 and 2001:db8:fe::/48; the request comes from 10.0.0.1 where the table does not say otherwise.
func TestClientIPWalksFromTheRight(t *testing.T) {
	const x, f = "X-Forwarded-For", "Forwarded"
	key := httplimit.ClientIP(prefixes("10.0.0.0/8 2001:db8:fe::/48")...)
	for name, c := range map[string]struct {
		remote string
		header []string
		want   string
	}{
		"nothing to read":                      {"", nil, "10.0.0.1/32"},
		"one hop":                              {"", []string{x, "203.0.113.9"}, "203.0.113.9/32"},
		"a forged header of a stranger":        {"198.51.100.7:1", []string{x, "203.0.113.9", f, "for=203.0.113.9"}, "198.51.100.7/32"},
		"a stranger who names a proxy":         {"198.51.100.7:1", []string{x, "203.0.113.9, 10.0.0.1"}, "198.51.100.7/32"},
		"a stranger on a Unix socket":          {"@", []string{x, "203.0.113.9"}, ""},
		"a stranger without an address":        {"nowhere", []string{x, "203.0.113.9"}, ""},
		"forged left of the proxy's word":      {"", []string{x, "203.0.113.9, 198.51.100.7"}, "198.51.100.7/32"},
		"past trusted ones":                    {"", []string{x, "203.0.113.9, 198.51.100.7, 10.1.1.1, 2001:db8:fe:1::1"}, "198.51.100.7/32"},
		"a forged trusted one":                 {"", []string{x, "203.0.113.9, 10.0.0.9, 198.51.100.7, 10.1.1.1"}, "198.51.100.7/32"},
		"all trusted":                          {"", []string{x, "10.0.0.3, 10.0.0.2"}, "10.0.0.3/32"},
		"lines are joined":                     {"", []string{x, "203.0.113.9", x, "198.51.100.7", x, "10.0.0.2"}, "198.51.100.7/32"},
		"the last line counts first":           {"", []string{x, "203.0.113.9, 203.0.113.8", x, "198.51.100.7"}, "198.51.100.7/32"},
		"space, tabs, none":                    {"", []string{x, "203.0.113.9 ,\t198.51.100.7\t,10.0.0.2 "}, "198.51.100.7/32"},
		"ports, brackets, zones":               {"", []string{x, "[2001:db8:1::5%eth0]:443, [2001:db8:fe::1]:80,10.0.0.2:8080, 10.0.0.3:"}, "2001:db8:1::/64"},
		"a mapped client":                      {"", []string{x, "::ffff:198.51.100.7"}, "198.51.100.7/32"},
		"a mapped proxy":                       {"", []string{x, "198.51.100.7, ::ffff:10.0.0.2"}, "198.51.100.7/32"},
		"a mapped peer":                        {"[::ffff:10.0.0.1]:80", []string{x, "198.51.100.7"}, "198.51.100.7/32"},
		"a trusted one with a zone":            {"", []string{x, "198.51.100.7, 2001:db8:fe::1%eth0"}, "198.51.100.7/32"},
		"unknown at once":                      {"", []string{x, "203.0.113.9, unknown"}, "10.0.0.1/32"},
		"unknown behind a proxy":               {"", []string{x, "203.0.113.9, unknown, 10.0.0.2"}, "10.0.0.2/32"},
		"an empty element":                     {"", []string{x, "203.0.113.9,, 10.0.0.2"}, "10.0.0.2/32"},
		"an empty element at the end":          {"", []string{x, "203.0.113.9,"}, "10.0.0.1/32"},
		"an empty element at the beginning":    {"", []string{x, ", 198.51.100.7"}, "198.51.100.7/32"},
		"an empty element begins a line":       {"", []string{x, "203.0.113.9", x, ",10.0.0.2"}, "10.0.0.2/32"},
		"an empty line":                        {"", []string{x, "203.0.113.9", x, "", x, "10.0.0.2"}, "10.0.0.2/32"},
		"only an empty line":                   {"", []string{x, ""}, "10.0.0.1/32"},
		"a name":                               {"", []string{x, "203.0.113.9, localhost"}, "10.0.0.1/32"},
		"a Unix socket between proxies":        {"", []string{x, "203.0.113.9, unix:"}, "10.0.0.1/32"},
		"quotes do not belong here":            {"", []string{x, `203.0.113.9, "198.51.100.7"`}, "10.0.0.1/32"},
		"nor do they quote":                    {"", []string{x, `203.0.113.9, 2001:db8:1::5%"`}, "2001:db8:1::/64"},
		"octal":                                {"", []string{x, "203.0.113.9, 0198.051.0100.07"}, "10.0.0.1/32"},
		"a number":                             {"", []string{x, "203.0.113.9, 3325256711"}, "10.0.0.1/32"},
		"a space inside":                       {"", []string{x, "203.0.113.9, 198.51.100.7 198.51.100.8"}, "10.0.0.1/32"},
		"a prefix":                             {"", []string{x, "203.0.113.9, 198.51.100.7/32"}, "10.0.0.1/32"},
		"Forwarded in XFF":                     {"", []string{x, "203.0.113.9, for=198.51.100.7"}, "10.0.0.1/32"},
		"of IPv6 the /64":                      {"", []string{x, "2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2::/64"},
		"Forwarded":                            {"", []string{f, "for=198.51.100.7"}, "198.51.100.7/32"},
		"Forwarded, any case":                  {"", []string{f, "fOR=198.51.100.7"}, "198.51.100.7/32"},
		"Forwarded past trusted ones":          {"", []string{f, `for=203.0.113.9, for=198.51.100.7;proto=http, for="[2001:db8:fe::1]:80";by=10.0.0.9`}, "198.51.100.7/32"},
		"Forwarded on lines":                   {"", []string{f, "for=203.0.113.9", f, "for=198.51.100.7", f, "for=10.0.0.2"}, "198.51.100.7/32"},
		"Forwarded, all trusted":               {"", []string{f, "for=10.0.0.3, for=10.0.0.2"}, "10.0.0.3/32"},
		"Forwarded, quoted IPv6":               {"", []string{f, `for="[2001:db8:1::5]"`}, "2001:db8:1::/64"},
		"Forwarded, not quoted as it should":   {"", []string{f, `for=[2001:db8:1::5]:80`}, "2001:db8:1::/64"},
		"Forwarded, an obfuscated port":        {"", []string{f, `for="198.51.100.7:_p.o-r_t"`}, "198.51.100.7/32"},
		"Forwarded, an empty one":              {"", []string{f, `for="198.51.100.7:_"`}, "10.0.0.1/32"},
		"Forwarded, unknown":                   {"", []string{f, "for=203.0.113.9, for=unknown"}, "10.0.0.1/32"},
		"Forwarded, hidden":                    {"", []string{f, "for=203.0.113.9, for=_hidden, for=10.0.0.2"}, "10.0.0.2/32"},
		"Forwarded without for":                {"", []string{f, "for=203.0.113.9, by=10.0.0.2;proto=http"}, "10.0.0.1/32"},
		"Forwarded, an empty element":          {"", []string{f, "for=203.0.113.9, "}, "10.0.0.1/32"},
		"Forwarded, an empty for":              {"", []string{f, `for=203.0.113.9, for=""`}, "10.0.0.1/32"},
		"Forwarded, for without a value":       {"", []string{f, `for=203.0.113.9, for=;proto=http`}, "10.0.0.1/32"},
		"Forwarded, for twice":                 {"", []string{f, "for=198.51.100.7;for=203.0.113.9"}, "10.0.0.1/32"},
		"Forwarded, for twice, the same":       {"", []string{f, "for=198.51.100.7;For=198.51.100.7"}, "10.0.0.1/32"},
		"Forwarded, other parameters":          {"", []string{f, "by=10.0.0.9;for=198.51.100.7;proto=https;host=example.com"}, "198.51.100.7/32"},
		"Forwarded, by is not for":             {"", []string{f, "by=203.0.113.9;xfor=203.0.113.9"}, "10.0.0.1/32"},
		"Forwarded, empty pairs and space":     {"", []string{f, "; for=198.51.100.7 ;; proto=http;"}, "198.51.100.7/32"},
		"Forwarded, space around =":            {"", []string{f, "for = 198.51.100.7"}, "10.0.0.1/32"},
		"Forwarded, no =":                      {"", []string{f, "198.51.100.7"}, "10.0.0.1/32"},
		"Forwarded, more behind the value":     {"", []string{f, `for="198.51.100.7"8`}, "10.0.0.1/32"},
		"Forwarded, malformed elsewhere":       {"", []string{f, "for=198.51.100.7;by"}, "10.0.0.1/32"},
		"Forwarded, not ASCII elsewhere":       {"", []string{f, "for=198.51.100.7;host=é"}, "10.0.0.1/32"},
		"Forwarded, a backslash elsewhere":     {"", []string{f, `for=198.51.100.7;host=a\b`}, "10.0.0.1/32"},
		"Forwarded, escaped":                   {"", []string{f, `for="198.51.100.\7"`}, "10.0.0.1/32"},
		"a comma in quotes":                    {"", []string{f, `for=198.51.100.7;host="x, for=203.0.113.9"`}, "198.51.100.7/32"},
		"a comma in quotes with quotes":        {"", []string{f, `for=198.51.100.7;host="x\", for=203.0.113.9;a=\"", for=10.0.0.2`}, "198.51.100.7/32"},
		"backslashes before the end":           {"", []string{f, `for=198.51.100.7;host="x, for=203.0.113.9\\\\"`}, "198.51.100.7/32"},
		"a quote that is left open":            {"", []string{f, `for="203.0.113.9, for=198.51.100.7`}, "198.51.100.7/32"},
		"a quote left open, another follows":   {"", []string{f, `for="203.0.113.9, for="198.51.100.7"`}, "198.51.100.7/32"},
		"a quote left open after a backslash":  {"", []string{f, `for=203.0.113.9;a="\, for="198.51.100.7"`}, "198.51.100.7/32"},
		"a quote left open on a line before":   {"", []string{f, `for="203.0.113.9`, f, `for=198.51.100.7`}, "198.51.100.7/32"},
		"a quoted string over two lines":       {"", []string{f, `for=203.0.113.9;a="x`, f, `y", for=10.0.0.2`}, "10.0.0.2/32"},
		"a quote that is only closed":          {"", []string{f, `for=203.0.113.9", for=10.0.0.2`}, "10.0.0.2/32"},
		"no such header":                       {"", []string{"X-Real-Ip", "203.0.113.9", "True-Client-Ip", "203.0.113.9"}, "10.0.0.1/32"},
		"both, the same":                       {"", []string{x, "203.0.113.9, 198.51.100.7", f, "for=198.51.100.7"}, "198.51.100.7/32"},
		"both, Forwarded is forged":            {"", []string{x, "198.51.100.7", f, "for=203.0.113.9"}, "10.0.0.1/32"},
		"both, XFF is forged":                  {"", []string{x, "203.0.113.9", f, "for=198.51.100.7"}, "10.0.0.1/32"},
		"both, XFF is forged, two hops":        {"", []string{x, "203.0.113.9", f, "for=198.51.100.7, for=10.0.0.2"}, "10.0.0.1/32"},
		"both, Forwarded names a proxy only":   {"", []string{x, "198.51.100.7, 10.0.0.2", f, "for=10.0.0.2"}, "198.51.100.7/32"},
		"both, XFF names a proxy only":         {"", []string{x, "10.0.0.2", f, "for=198.51.100.7, for=10.0.0.2"}, "198.51.100.7/32"},
		"both, Forwarded names another proxy":  {"", []string{x, "198.51.100.7", f, "for=10.0.0.2"}, "198.51.100.7/32"},
		"both, only proxies":                   {"", []string{x, "10.0.0.3, 10.0.0.2", f, "for=10.0.0.2"}, "10.0.0.3/32"},
		"both, an obfuscated one, XFF forged":  {"", []string{x, "203.0.113.9", f, "for=_hidden"}, "10.0.0.1/32"},
		"both, unknown, Forwarded forged":      {"", []string{x, "unknown", f, "for=203.0.113.9"}, "10.0.0.1/32"},
		"both, Forwarded is garbage":           {"", []string{x, "198.51.100.7", f, `"`}, "10.0.0.1/32"},
		"both, neither is an address":          {"", []string{x, "unknown", f, "for=unknown"}, "10.0.0.1/32"},
		"both, the same from different places": {"", []string{x, "198.51.100.7, 10.0.0.2", f, `for="198.51.100.7:_x"`}, "198.51.100.7/32"},
	} {
		t.Run(name, func(t *testing.T) {
			remote := c.remote
			if remote == "" {
				remote = "10.0.0.1:4711"
			}
			require.Equal(t, c.want, keyOf(t, key, request(remote, c.header...)))
		})
	}
}

func TestTheLast4096BytesOfAHeaderAreRead(t *testing.T) {
	key := httplimit.ClientIP(prefixes("10.0.0.0/8")...)
	hop := ",10.0.0.2" // 9 bytes
	for _, c := range []struct {
		left string
		hops int
		want string
	}{
		{"198.51.100.7", 0, "198.51.100.7/32"},
		{"198.51.100.7", 453, "198.51.100.7/32"}, // 19 of 4096 bytes are left, 12 and a comma are needed
		{"198.51.100.7", 454, "10.0.0.2/32"},     // 10
		{"198.51.100.7, 10.0.0.3", 454, "10.0.0.3/32"},
		{"198.51.100.7, 10.0.0.33", 454, "10.0.0.2/32"},
		{"198.51.100.7", 100_000, "10.0.0.2/32"},
	} {
		r := request("10.0.0.1:1", "X-Forwarded-For", c.left+strings.Repeat(hop, c.hops))
		require.Equal(t, c.want, keyOf(t, key, r), c.hops)

		lines := strings.Split(c.left+strings.Repeat(hop, c.hops), ",")
		r = &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{"X-Forwarded-For": lines}}
		require.Equal(t, strings.Replace(c.want, ".33", ".2", 1), keyOf(t, key, r), c.hops)
	}

	endless := strings.Repeat("1", 1<<20)
	for _, header := range [][]string{
		{"X-Forwarded-For", endless},
		{"X-Forwarded-For", "198.51.100.7," + strings.Repeat(" ", 1<<20) + "10.0.0.2"},
		{"Forwarded", endless},
		{"Forwarded", `for=198.51.100.7;host="` + strings.Repeat(`\\,"`, 1<<18)},
		{"Forwarded", strings.Repeat(`"`, 1<<20)},
	} {
		require.Equal(t, "10.0.0.1/32", keyOf(t, key, request("10.0.0.1:1", header...)))
	}

	long := `for=198.51.100.7;host="` + strings.Repeat("h", 4000) + `"`
	require.Equal(t, "198.51.100.7/32", keyOf(t, key, request("10.0.0.1:1", "Forwarded", long)))
}
