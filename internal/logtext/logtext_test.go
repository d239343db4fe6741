package logtext_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/logtext"
	"github.com/stretchr/testify/require"
)

func TestWhatIsLoggedIsCutBetweenRunes(t *testing.T) {
	for _, c := range []struct {
		s    string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc..."}, {"éé", 3, "é..."}, {"é", 1, "..."}, {"😀a", 3, "..."},
		{strings.Repeat("\x80", 9), 3, "..."},
	} {
		require.Equal(t, c.want, logtext.Shorten(c.s, c.most), "%q", c.s)
	}
}

func TestWhoIsOneIsLoggedAsOne(t *testing.T) {
	require.Equal(t, "unknown", logtext.Prefix(netip.Prefix{}))
	for prefix, want := range map[string]string{
		"192.0.2.1/32": "192.0.2.1", "192.0.2.0/24": "192.0.2.0/24", "2001:db8::1/128": "2001:db8::1", "2001:db8::/64": "2001:db8::/64",
	} {
		require.Equal(t, want, logtext.Prefix(netip.MustParsePrefix(prefix)))
	}
}
