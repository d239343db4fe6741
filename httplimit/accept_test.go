package httplimit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrefersText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		accept string
		text   bool
	}{
		{"", false},
		{"*/*", false}, // curl, fetch
		{"application/json", false},
		{"application/problem+json, text/plain;q=0.9", false},
		{"application/json, text/plain, */*", false},              // axios
		{"application/json, text/javascript, */*; q=0.01", false}, // jQuery
		{"application/vnd.github+json, text/plain;q=0.5", false},
		{"application/*, text/plain", false},
		{"image/avif,image/webp,*/*;q=0.8", false},
		{"application/grpc-web+proto", false},
		{"text/plain", true},
		{"TEXT/Plain; Charset=UTF-8", true},
		{"text/*", true},
		{"text/plain, */*;q=0.1", true},
		{"text/plain;q=0.9, application/json;q=0.5", true},
		{"text/plain;q=0.5, application/json;q=0.9", false},
		{"text/plain;q=0.5, application/json;q=0.501", false},
		{"text/plain, application/json", false}, // as much the one as the other
		{"text/html", true},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", true}, // browsers
		{"text/html, application/json", false},
		{"text/css,*/*;q=0.1", true},
		{"application/json;q=0, */*", true},
		{"application/*;q=0, */*;q=0.1", true},
		{"text/plain;q=0, text/html", false}, // not this text
		{"text/plain;q=0, */*", false},
		{"text/plain;q=0, application/json;q=0", false},
		{`text/html;x="a,b;q=0", application/json;q=0.3`, true},
		{`text/html;x="\",application/json", */*;q=0.2`, true},
		{`text/html;x="unclosed, application/json`, true},
		{"text/plain; Q=0.1 , application/json ; q = 0.2", false},
		{"text/plain;q=", false},
		{"text/plain;q=2", false},
		{"text/plain;q=-1", false},
		{"text/plain;q=1.001", false},
		{"text/plain;q=0.1234", false},
		{"text/plain;q=0.x", false},
		{"text/plain;q=1.", true},
		{"text/plain;q=0.001", true},
		{"text/plain;;;", true},
		{",,;,/,*,=;q=1,text/plain", true},
		{"text", false},
		{"text/", true},
		{"\x00\xff\"\\", false},
	} {
		require.Equal(t, test.text, prefersText([]string{test.accept}), test.accept)
	}
	require.False(t, prefersText(nil))
	require.True(t, prefersText([]string{"application/json;q=0.1", "text/plain"}), "all lines count")
	require.False(t, prefersText([]string{"text/plain", "application/json"}))
}

func TestAcceptIsReadToABound(t *testing.T) {
	filler := strings.Repeat("image/x,", maxAccept/8)
	require.False(t, prefersText([]string{filler + "text/plain"}))
	require.True(t, prefersText([]string{"text/plain," + filler + "application/json"}))
	require.False(t, prefersText([]string{strings.Repeat("a", 1<<20)}))
	require.False(t, prefersText([]string{strings.Repeat("x", maxAccept-12) + ",text/plain;q=0.001"}), "no half of a range is read")
	require.False(t, prefersText(append(make([]string, maxAccept), "text/plain")), "empty lines cost as well")
	for _, c := range []string{",", ";", `"`, `\`, "a", "text/html;q=0.1,", `text/plain;a="`} {
		long := []string{strings.Repeat(c, 1<<20/len(c))}
		require.LessOrEqual(t, testing.AllocsPerRun(10, func() { prefersText(long) }), 0.0, c)
	}
}

func FuzzAccept(f *testing.F) {
	f.Add("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "")
	f.Add(`text/plain;x="a,b\"";q=0.5`, "application/json;q=0.5001")
	f.Fuzz(func(t *testing.T, a, b string) {
		both := prefersText([]string{a, b})
		if len(a)+len(b)+1 < maxAccept && strings.Count(a, `"`) == 0 {
			require.Equal(t, both, prefersText([]string{a + "," + b}), "lines are one list")
		}
		require.False(t, prefersText([]string{"application/problem+json", a}), "nothing is preferred to what is wanted most")
	})
}
