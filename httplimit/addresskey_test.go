package httplimit_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestTrustedPrefixesInAllTheirForms(t *testing.T) {
	for trusted, of := range map[string]struct{ in, out []string }{
		"10.1.2.3/8":          {in: []string{"10.0.0.0", "10.255.255.255", "::ffff:10.9.9.9"}, out: []string{"9.255.255.255", "11.0.0.0", "::10.0.0.1"}},
		"::ffff:10.1.2.3/104": {in: []string{"10.0.0.0", "10.255.255.255", "::ffff:10.9.9.9"}, out: []string{"11.0.0.0"}},
		"::ffff:10.1.2.3/128": {in: []string{"10.1.2.3"}, out: []string{"10.1.2.2", "10.1.2.4"}},
		"::ffff:0:0/96":       {in: []string{"0.0.0.0", "255.255.255.255"}, out: []string{"::1"}},
		"2001:db8::1/32":      {in: []string{"2001:db8::", "2001:db8:ffff::%eth0"}, out: []string{"2001:db7:ffff::", "2001:db9::"}},
		"::/0":                {in: []string{"::1", "ffff::"}, out: []string{"10.0.0.1", "::ffff:10.0.0.1"}},
		"0.0.0.0/0":           {in: []string{"10.0.0.1", "::ffff:10.0.0.1"}, out: []string{"::1"}},
		"fe80::/10":           {in: []string{"fe80::1%eth0", "fe80::1%1"}, out: []string{"fec0::1"}},
		"10.0.0.0/8 10.0.0.0/16 10.5.0.0/16 10.0.0.0/8": {in: []string{"10.0.0.1", "10.4.0.1", "10.5.0.1", "10.6.0.1"}, out: []string{"11.0.0.0"}},
		"10.5.0.0/16 10.3.0.0/16 ::1/128 10.4.0.0/16":   {in: []string{"10.3.0.1", "10.4.0.1", "10.5.0.1", "::1"}, out: []string{"10.2.0.1", "10.6.0.1", "::2"}},
	} {
		key := httplimit.ClientIP(prefixes(trusted)...)
		for _, peer := range of.in {
			require.Equal(t, "198.51.100.7/32", keyOf(t, key, request(peer, "X-Forwarded-For", "198.51.100.7")), "%s in %s", peer, trusted)
		}
		for _, peer := range of.out {
			require.Equal(t, keyOf(t, httplimit.RemoteIP, request(peer)),
				keyOf(t, key, request(peer, "X-Forwarded-For", "198.51.100.7")), "%s in %s", peer, trusted)
		}
	}
}

func TestTrustIsThatOfAnyPrefix(t *testing.T) {
	seed := rand.Uint64()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	random := rand.New(rand.NewPCG(seed, 2))
	address := func() netip.Addr { // few bits vary, so that prefixes meet
		if random.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(64))})
		}
		return netip.AddrFrom16([16]byte{0x20, 1, 15: byte(random.IntN(64))})
	}
	for range 2000 {
		var trusted []netip.Prefix
		for range random.IntN(10) {
			a := address()
			trusted = append(trusted, netip.PrefixFrom(a, a.BitLen()-random.IntN(6)))
		}
		key := httplimit.ClientIP(trusted...)
		for range 20 {
			peer, want := address(), false
			for _, p := range trusted {
				want = want || p.Contains(peer)
			}
			got := keyOf(t, key, request(peer.String(), "X-Forwarded-For", "198.51.100.7")) == "198.51.100.7/32"
			require.Equal(t, want, got, "%s in %s", peer, trusted)
		}
	}
}

func TestTheTrustedPrefixesAreCopied(t *testing.T) {
	trusted := prefixes("10.0.0.0/8")
	key := httplimit.ClientIP(trusted...)
	trusted[0] = netip.MustParsePrefix("192.0.2.0/24")
	require.Equal(t, "198.51.100.7/32", keyOf(t, key, request("10.0.0.1:1", "X-Forwarded-For", "198.51.100.7")))
	require.Equal(t, "192.0.2.1/32", keyOf(t, key, request("192.0.2.1:1", "X-Forwarded-For", "198.51.100.7")))
}

func TestAnInvalidAddressKeyPanics(t *testing.T) {
	ten := netip.MustParsePrefix("10.0.0.0/8")
	for want, key := range map[string]httplimit.AddressKey{
		"httplimit: trusted prefix 2 of 2 is the zero Prefix":                                                       {Trusted: []netip.Prefix{ten, {}}},
		"httplimit: trusted prefix 1 of 1 is invalid: 10.0.0.0 with a length that it cannot have":                   {Trusted: []netip.Prefix{netip.PrefixFrom(ten.Addr(), 33)}},
		"httplimit: trusted prefix 1 of 2 is invalid: 10.0.0.0 with a length that it cannot have":                   {Trusted: []netip.Prefix{netip.PrefixFrom(ten.Addr(), -1), ten}},
		"httplimit: trusted prefix 1 of 1, ::ffff:10.0.0.0/8, is wider than all of IPv4: write 10.0.0.0/n, or ::/8": {Trusted: prefixes("::ffff:10.0.0.0/8")},
		"httplimit: AddressKey.IPv4Bits is 33: it must be 1 to 32, or 0 for 32":                                     {IPv4Bits: 33},
		"httplimit: AddressKey.IPv6Bits is 129: it must be 1 to 128, or 0 for 64":                                   {IPv6Bits: 129},
		"httplimit: AddressKey.IPv6Bits is -1: it must be 1 to 128, or 0 for 64":                                    {IPv6Bits: -1},
		`httplimit: AddressKey.Header: "X Forwarded For" is not a header's name`:                                    {Header: "X Forwarded For"},
	} {
		require.PanicsWithValue(t, want, func() { key.Func() })
		if key.Trusted != nil {
			require.PanicsWithValue(t, want, func() { httplimit.ClientIP(key.Trusted...) })
		}
	}
}

func TestAddressKeyByOtherPrefixes(t *testing.T) {
	for bits, want := range map[int]string{
		0:   "2001:db8:1234:5678::/64",
		1:   "::/1",
		48:  "2001:db8:1234::/48",
		56:  "2001:db8:1234:5600::/56",
		128: "2001:db8:1234:5678:9abc::1/128",
	} {
		key := httplimit.AddressKey{IPv6Bits: bits}.Func()
		require.Equal(t, want, keyOf(t, key, request("[2001:db8:1234:5678:9abc::1]:80")))
		require.Equal(t, "192.0.2.200/32", keyOf(t, key, request("[::ffff:192.0.2.200]:80")))
		key = httplimit.AddressKey{IPv6Bits: bits, Trusted: prefixes("10.0.0.0/8")}.Func()
		require.Equal(t, want, keyOf(t, key, request("10.0.0.1:1", "Forwarded", `for="[2001:db8:1234:5678:9abc::1]"`)))
	}
	key := httplimit.AddressKey{IPv4Bits: 24}.Func()
	require.Equal(t, "192.0.2.0/24", keyOf(t, key, request("192.0.2.200:80")))
	require.Equal(t, "2001:db8::/64", keyOf(t, key, request("[2001:db8::1]:80")))
}

func TestANamedHeaderIsTheOnlyOne(t *testing.T) {
	trusted := prefixes("10.0.0.0/8")
	all := []string{
		"X-Forwarded-For", "203.0.113.1, 203.0.113.2",
		"Forwarded", "for=203.0.113.3, for=203.0.113.4",
		"X-Real-Ip", "203.0.113.5",
	}
	for header, want := range map[string]string{
		"x-forwarded-for":  "203.0.113.2/32",
		"forwarded":        "203.0.113.4/32",
		"X-Real-IP":        "203.0.113.5/32",
		"CF-Connecting-IP": "10.0.0.1/32",
	} {
		key := httplimit.AddressKey{Trusted: trusted, Header: header}.Func()
		require.Equal(t, want, keyOf(t, key, request("10.0.0.1:1", all...)))
		require.Equal(t, "198.51.100.7/32", keyOf(t, key, request("198.51.100.7:1", all...)))
		require.Equal(t, "10.0.0.1/32", keyOf(t, key, request("10.0.0.1:1")))
	}
}

func TestUnixSocketsAreTrustedIfAsked(t *testing.T) {
	key := httplimit.AddressKey{Trusted: prefixes("10.0.0.0/8"), TrustUnix: true}.Func()
	for _, peer := range []string{"", "@", "@abstract", "/run/proxy.sock"} {
		require.Equal(t, "198.51.100.7/32", keyOf(t, key, request(peer, "X-Forwarded-For", "203.0.113.9, 198.51.100.7, 10.0.0.2")))
		require.Equal(t, "", keyOf(t, key, request(peer, "X-Forwarded-For", "203.0.113.9, unknown")))
		require.Equal(t, "", keyOf(t, key, request(peer, "X-Forwarded-For", "203.0.113.9", "Forwarded", "for=198.51.100.7")))
		require.Equal(t, "", keyOf(t, key, request(peer)))
	}
	require.Equal(t, "198.51.100.7/32", keyOf(t, key, request("198.51.100.7:1", "X-Forwarded-For", "203.0.113.9")))
	require.Equal(t, "", keyOf(t, key, request("nowhere", "X-Forwarded-For", "203.0.113.9")))
}
