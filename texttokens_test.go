package weir_test

import (
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// TestATokenIsReadToItsEnd: a word to the last of its letters, a number to the last
// digit, and an error names the whole of it.
func TestATokenIsReadToItsEnd(t *testing.T) {
	for _, bad := range []badText{
		{`5/s bursty 3`, `"5/s bursty 3" at 5: expected "burst", "as" or the end, found "bursty"`},
		{`5/sz`, `"5/sz" at 3: unknown period "sz": it is s, m, h, d or a duration such as 1h30m`},
		{`5/sZ`, `"5/sZ" at 3: unknown period "sZ": it is s, m, h, d or a duration such as 1h30m`},
		{`5/s[`, `"5/s[" at 4: expected "burst", "as" or the end, found "["`},
		{`5/s{`, `"5/s{" at 4: expected "burst", "as" or the end, found "{"`},
		{`5/s   77x`, `"5/s   77x" at 7: expected "burst", "as" or the end, found "77"`},
		{`5/s x7`, `"5/s x7" at 5: expected "burst", "as" or the end, found "x"`},
		{`+5/s`, `"+5/s" at 1: expected a limit such as "100/s", "unlimited" or "0", found "+"; try "5/s"`},
		{`- /s`, `"- /s" at 1: expected a limit such as "100/s", "unlimited" or "0", found "-"`},
		{`-`, `"-" at 1: expected a limit such as "100/s", "unlimited" or "0", found "-"`},
		{`-  `, `"-  " at 1: expected a limit such as "100/s", "unlimited" or "0", found "-"`},
		{`5/10-3`, `"5/10-3" at 5: unknown period "-": it is s, m, h, d or a duration such as 1h30m`},
		{"5/s as `a\nb", "\"5/s as `a\\nb\" at 8: the name has no closing `"},
		{"5/s as \"a\nb\"", `"5/s as \"a\nb\"" at 8: the name has no closing "`},
		{"5/s as `", "\"5/s as `\" at 8: the name has no closing `"},
		{`5/s as "x" queue 3`, `"5/s as \"x\" queue 3" at 12: expected the end, found "queue"`},
		{`leaky-bucket 5/s queue 3 queue 4`, `"leaky-bucket 5/s queue 3 queue 4" at 26: expected "as" or the end, found "queue"`},
		{`leaky-bucket 5/s quue 4`, `"leaky-bucket 5/s quue 4" at 18: expected "burst", "queue", "as" or the end, found "quue"`},
	} {
		_, err := weir.ParsePolicy(bad.text)
		require.EqualError(t, err, bad.full("policy"), "%q", bad.text)
	}
}

// TestATextThatIsTooLongIsShownFromItsStart: read or written.
func TestATextThatIsTooLongIsShownFromItsStart(t *testing.T) {
	long := strings.Repeat(" ", 64<<10) + "5/s"
	start := `"` + strings.Repeat(" ", 64) + `"...`
	_, err := weir.ParsePolicy(long)
	require.ErrorContains(t, err, "weir: policy "+start)
	_, err = weir.ParseLimit(long)
	require.ErrorContains(t, err, "weir: limit "+start)
}
