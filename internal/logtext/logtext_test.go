package logtext_test

import (
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
