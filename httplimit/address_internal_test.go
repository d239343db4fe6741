package httplimit

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnIPv4AddressIsWhatNetipTakesForOne: with a port, and without.
func TestAnIPv4AddressIsWhatNetipTakesForOne(t *testing.T) {
	fields := []string{"", "0", "1", "9", "10", "25", "99", "255", "256", "1000", "00", "01", "a", "1/", "1;"}
	ends := []string{"", ".", ":", ":80", ":_a", ":x", ";", ".1", ".1:80"}
	check := func(s string) {
		host, _, _ := strings.Cut(s, ":")
		want, err := netip.ParseAddr(host)
		got, ok := parseIPv4(s)
		require.Equal(t, err == nil && want.Is4() && isPort(s[len(host):]), ok, s)
		if ok {
			require.Equal(t, want, got, s)
		}
	}
	for _, end := range ends {
		for _, a := range fields {
			check(a + end)
			for _, b := range fields {
				check(a + "." + b + end)
				for _, c := range fields {
					check("1." + a + "." + b + "." + c + end)
					check(a + "." + b + "." + c + ".1" + end)
					check(a + "." + b + "." + c + end)
				}
			}
		}
	}
}

func TestAPortHasFiveDigitsOrIsObfuscated(t *testing.T) {
	for _, s := range []string{"", ":", ":0", ":80", ":99999", ":_a", ":__", ":_hidden-port.1"} {
		require.True(t, isPort(s), s)
	}
	for _, s := range []string{"80", ";80", ":123456", ":_", ":8_", ":-1", "::", ":80:"} {
		require.False(t, isPort(s), s)
	}
	for i := range 256 {
		c := string([]byte{byte(i)})
		digit := strings.Contains("0123456789", c)
		named := digit || strings.Contains("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-", c)
		require.Equal(t, digit, isPort(":"+c), "%q", c)
		require.Equal(t, named, isPort(":_"+c), "%q", c)
	}
}

// TestWhatMayBeAnAddressHasItsBytes: anything else costs no error of netip's.
func TestWhatMayBeAnAddressHasItsBytes(t *testing.T) {
	for i := range 256 {
		c := string([]byte{byte(i)})
		require.Equal(t, strings.Contains("0123456789abcdefABCDEF.:", c), mayBeAddress("1"+c), "%q", c)
	}
	longest := "1111:2222:3333:4444:5555:6666:255.255.255.255"
	require.True(t, netip.MustParseAddr(longest).Is6())
	require.True(t, mayBeAddress(longest))
	require.False(t, mayBeAddress(longest+"1"))
	require.False(t, mayBeAddress(""))
}

func TestAnIPv4AddressMayStandInBrackets(t *testing.T) {
	for _, s := range []string{"[192.0.2.1]", "[192.0.2.1]:80", "[::ffff:192.0.2.1]"} {
		got, ok := parseAddress(s)
		require.True(t, ok, s)
		require.Equal(t, netip.MustParseAddr("192.0.2.1"), got)
	}
	for _, s := range []string{"[192.0.2.1%1]", "[192.0.2.1", "[192.0.2.1]80", "[]", "[%1]", "%1", "%", ":80", "1:80"} {
		_, ok := parseAddress(s)
		require.False(t, ok, s)
	}
}
