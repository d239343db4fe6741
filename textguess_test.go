package weir_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// TestALimitIsSuggestedUpToWhatEndsIt: what is not understood before that is not
// guessed.
func TestALimitIsSuggestedUpToWhatEndsIt(t *testing.T) {
	limits := map[string]string{
		"5 per s{": "5/s", "5 per s(5": "5/s", "5 per s,": "5/s", "5 per s .x": "5/s", "5 per s .": "5/s", "5' x": "5/s",
		"5 per s,5": "", "5 per s z": "", "5 per s \x80": "", "5 per s -5": "", "5/s,5": "", "5/s .5.": "", "5/s -5": "", "5/s bananas": "",

		"5.5": "11/2s", "5./s": "", "5. 5/s": "", "2kr/s": "", "2k r/s": "2000/s", "each hour": "1/h", "once per h": "1/h",
		"10 per-hour": "10/h", "10_per_hour": "10/h", "10 per hour -": "10/h", "10 -": "10/s", ".": "", ".5": "1/2s", ".x": "",
		"5 per s burst 3 burst": "", "5 per s burst 3 burst 4": "",

		"10000000000000 per s": "", "1.000001 per s": "1000001/1000000s", "1.0000010 per s": "",
		"1 per 262980 hours": "1/262980h", "1 per 262981 hours": "",
	}
	if strconv.IntSize == 64 {
		limits["1000000000000 per s"] = "1000000000000/s"
	}
	for text, want := range limits {
		_, err := weir.ParseLimit(text)
		require.Error(t, err, "%q", text)
		got, _ := suggested(err)
		if want != "" {
			want = weir.MustParseLimit(want).String()
		}
		require.Equal(t, want, got, "%v", err)
	}
	_, err := weir.ParsePolicy("leaky-bucket 5 per s queue 3")
	got, _ := suggested(err)
	require.Equal(t, "5/s", got, "%v", err)
}

// TestAHundredBytesAreUnderstood: of a longer text, nothing is.
func TestAHundredBytesAreUnderstood(t *testing.T) {
	spaced := func(bytes int, end string) string {
		return "5 per" + strings.Repeat(" ", bytes-len("5 per")-len(end)) + end
	}
	for text, want := range map[string]string{
		spaced(100, "s"):        "5/s",
		spaced(101, "s"):        "",
		spaced(100, "s as"):     "5/s",
		spaced(101, "s as"):     "",
		spaced(99, "s,") + "  ": "5/s",
	} {
		_, err := weir.ParseLimit(text)
		got, _ := suggested(err)
		require.Equal(t, want, got, "%d bytes: %v", len(text), err)
	}
}
