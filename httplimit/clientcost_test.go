package httplimit_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// cloud is as many prefixes as a content network has.
const cloud = `10.0.0.0/8 127.0.0.1/32 173.245.48.0/20 103.21.244.0/22 103.22.200.0/22 103.31.4.0/22 141.101.64.0/18 108.162.192.0/18
	190.93.240.0/20 188.114.96.0/20 197.234.240.0/22 162.158.0.0/15 104.16.0.0/13 104.24.0.0/14 172.64.0.0/13 131.0.72.0/22
	2400:cb00::/32 2606:4700::/32 2803:f800::/32 2405:b500::/32 2405:8100::/32 2a06:98c0::/29 2c0f:f248::/32`

type costly struct {
	name   string
	key    keyFunc
	header http.Header
}

func costs() []costly {
	client := httplimit.ClientIP(prefixes(cloud)...)
	return []costly{
		{"RemoteIP", httplimit.RemoteIP, nil},
		{"NoProxy", httplimit.ClientIP(), nil},
		{"NoHeader", client, nil},
		{"OneHop", client, http.Header{"X-Forwarded-For": {"198.51.100.7"}}},
		{"ThreeHops", client, http.Header{"X-Forwarded-For": {"203.0.113.9, 198.51.100.7", "[2606:4700::1%eth0]:443, 10.0.0.2:80"}}},
		{"Unknown", client, http.Header{"X-Forwarded-For": {"unknown"}}},
		{"Forwarded", client, http.Header{"Forwarded": {`for=198.51.100.7;proto=http, for="[2606:4700::1]:443";by=_me`}}},
		{"Both", client, http.Header{"X-Forwarded-For": {"198.51.100.7, 10.0.0.2"}, "Forwarded": {`for=198.51.100.7, for=10.0.0.2`}}},
		{"MegabyteForged", client, http.Header{"X-Forwarded-For": {strings.Repeat("203.0.113.9, ", 80_000) + "198.51.100.7"}}},
		{"MegabyteTrusted", client, http.Header{"X-Forwarded-For": {strings.Repeat("10.0.0.2,", 115_000) + "10.0.0.2"}}},
		{"MegabyteNoComma", client, http.Header{"X-Forwarded-For": {strings.Repeat("1", 1<<20)}}},
		{"MegabyteSpace", client, http.Header{"X-Forwarded-For": {"1," + strings.Repeat(" ", 1<<20)}}},
		{"MegabyteZone", client, http.Header{"X-Forwarded-For": {"fe80::1%" + strings.Repeat("z", 1<<20)}}},
		{"Lines100000", client, http.Header{"X-Forwarded-For": lines("203.0.113.9", 100_000)}},
		{"Lines100000Trusted", client, http.Header{"X-Forwarded-For": lines("10.0.0.2", 100_000)}},
		{"Lines100000Empty", client, http.Header{"X-Forwarded-For": lines("", 100_000)}},
		{"ForwardedMegabyteQuoted", client, http.Header{"Forwarded": {`for=203.0.113.9;a="` + strings.Repeat(`\",`, 350_000) + `"`}}},
		{"ForwardedMegabyteBackslashes", client, http.Header{"Forwarded": {`for=203.0.113.9;a="` + strings.Repeat(`\`, 1<<20) + `"`}}},
		{"ForwardedMegabyteTrusted", client, http.Header{"Forwarded": {strings.Repeat("for=10.0.0.2,", 80_000) + "for=10.0.0.2"}}},
		{"ForwardedMegabytePairs", client, http.Header{"Forwarded": {strings.Repeat("a=b;", 1<<18) + "for=10.0.0.2"}}},
		{"HeaderKey", func() keyFunc {
			key := httplimit.HeaderKey("X-Api-Key")
			return func(r *http.Request) (p netip.Prefix, ok bool) { _, ok = key(r); return p, ok }
		}(), http.Header{"X-Api-Key": {strings.Repeat("k", 1<<20)}}},
	}
}

func lines(value string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = value
	}
	return all
}

func TestKeysDoNotAllocate(t *testing.T) {
	for _, c := range costs() {
		r := &http.Request{RemoteAddr: "10.0.0.1:4711", Header: c.header}
		require.Zero(t, testing.AllocsPerRun(20, func() {
			if _, ok := c.key(r); !ok {
				t.Error("no key")
			}
		}), c.name)
	}
}

func BenchmarkKey(b *testing.B) {
	for _, c := range costs() {
		b.Run(c.name, func(b *testing.B) {
			r := &http.Request{RemoteAddr: "10.0.0.1:4711", Header: c.header}
			b.ReportAllocs()
			for b.Loop() {
				c.key(r)
			}
		})
	}
}
