package weir

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestALongTokenIsCutBetweenRunes: after 32 bytes at most.
func TestALongTokenIsCutBetweenRunes(t *testing.T) {
	for token, want := range map[string]string{
		"":                                   "",
		strings.Repeat("a", 32):              strings.Repeat("a", 32),
		strings.Repeat("a", 33):              strings.Repeat("a", 32) + "...",
		strings.Repeat("é", 16):              strings.Repeat("é", 16),
		strings.Repeat("é", 17):              strings.Repeat("é", 16) + "...",
		"a" + strings.Repeat("é", 17):        "a" + strings.Repeat("é", 15) + "...",
		"a" + strings.Repeat("😀", 9):         "a" + strings.Repeat("😀", 7) + "...",
		strings.Repeat("a", 31) + "éa":       strings.Repeat("a", 31) + "...",
		strings.Repeat("\x80", 40):           strings.Repeat("\x80", 28) + "...",
		strings.Repeat("a", 30) + "\x80\x80": strings.Repeat("a", 30) + "\x80\x80",
	} {
		require.Equal(t, want, shorten(token))
	}
}

// TestAnExcerptIsOf64BytesAround: as near to the byte as the ends allow.
func TestAnExcerptIsOf64BytesAround(t *testing.T) {
	text := strings.Repeat("0123456789", 10)
	require.Equal(t, strconv.Quote(text[:64]), excerpt(text[:64], 40))
	require.Equal(t, strconv.Quote(text[:64])+"...", excerpt(text[:65], 0))
	for at := range len(text) + 1 {
		from := min(max(at-32, 0), 36)
		want := strconv.Quote(text[from : from+64])
		if from > 0 {
			want = "..." + want
		}
		if from < 36 {
			want += "..."
		}
		require.Equal(t, want, excerpt(text, at), "at %d", at)
	}
}

// TestAnExcerptHasNoHalvesOfRunes: it is longer by as little as that takes.
func TestAnExcerptHasNoHalvesOfRunes(t *testing.T) {
	for _, r := range []string{"é", "€", "😀"} {
		for shift := range len(r) {
			text := strings.Repeat("a", shift) + strings.Repeat(r, 60)
			for at := range len(text) + 1 {
				got := excerpt(text, at)
				inner, err := strconv.Unquote(strings.Trim(got, "."))
				require.NoError(t, err)
				require.True(t, utf8.ValidString(inner), "%d bytes of %q before %d", shift, r, at)
				require.GreaterOrEqual(t, len(inner), 64)
				require.Less(t, len(inner), 64+2*len(r)-1)
			}
		}
	}
	// What is no rune at all is looked at only so far.
	require.Equal(t, "..."+strconv.Quote(strings.Repeat("\x80", 4+64+4))+"...", excerpt(strings.Repeat("\x80", 200), 100))
}
