package httplimit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// read returns whether s is a whole bare item, and its number if it is an Integer.
func read(s string) (n int64, ok bool) {
	r := fieldReader(s)
	n, ok = r.bareItem()
	return n, ok && r == ""
}

// TestAnItemIsAsTheGrammarSays: that of RFC 9651, section 4.2.3.1.
func TestAnItemIsAsTheGrammarSays(t *testing.T) {
	for s, want := range map[string]int64{"0": 0, "12": 12, "-12": -12, "007": 7, strings.Repeat("9", 15): 999_999_999_999_999} {
		n, ok := read(s)
		require.True(t, ok, s)
		require.Equal(t, want, n)
	}
	for _, s := range []string{
		"1.5", "-1.5", "0.125", "123456789012.123", "a", "*", "*a/b:c", `""`, `"a\"\\"`, "::", ":aGk=:", "?0", "?1", "@1", "@-1", `%""`, `%"a%c3%bc ~"`,
	} {
		n, ok := read(s)
		require.True(t, ok, s)
		require.Negative(t, n+(1<<61), "%s is no Integer", s)
	}
	for _, s := range []string{
		"", "-", ".5", "-.5", "5.", "1.2345", "1234567890123.1", strings.Repeat("9", 16), `"a`, `"\`, `"\a"`, `"\` + "\x00", ":a", ":a;:", "?", "?2", "@", "@1.5",
		"%", "%a", "%a\"", `%"`, `%"a`, `%"%`, `%"%c`, `%"%c3`, `%"%c3"`, `%"%C3%BC"`, `%"%g0%90%80%80"`, `%"%0g"`, `%"%ff"`, `%"%c3a%bc"`, `%"%c3%"`, "(1)", "=",
	} {
		r := fieldReader(s)
		_, ok := r.bareItem()
		require.False(t, ok, s)
	}
}

// TestAStringIsOfPrintableASCII: any other byte stands for itself in no string.
func TestAStringIsOfPrintableASCII(t *testing.T) {
	const hex = "0123456789abcdef"
	for i := range 256 {
		c := string([]byte{byte(i)})
		printable := i >= ' ' && i <= '~'
		if r := fieldReader(`"` + c + `"`); !printable {
			require.False(t, r.quoted(), "%q in a String", c)
		}
		if r := fieldReader(`"` + c + `"`); !printable {
			require.False(t, r.displayString(), "%q in a Display String", c)
		}
		_, ok := read(`"` + c + `"`)
		require.Equal(t, printable && c != `"` && c != `\`, ok, "%q in a String", c)
		_, ok = read(`%"` + c + `"`)
		require.Equal(t, printable && c != `"` && c != `%`, ok, "%q in a Display String", c)
		_, ok = read(`%"%` + hex[i>>4:][:1] + hex[i&15:][:1] + `"`)
		require.Equal(t, i < utf8.RuneSelf, ok, "%q by its number", c)
		_, ok = read(`%"%4` + c + `"`)
		require.Equal(t, strings.Contains(hex, c), ok, "%q as a digit", c)
		_, ok = read(`%"%` + c + `1"`)
		require.Equal(t, strings.Contains(hex[:8], c), ok, "%q as a digit", c)
	}
}

func TestAKeyIsOfLowerCase(t *testing.T) {
	for i := range 256 {
		c := string([]byte{byte(i)})
		first := strings.Contains(letters+"*", c)
		r := fieldReader(c + "=")
		require.Equal(t, first, r.key() == c, "%q", c)
		r = fieldReader("a" + c + "=")
		if more := first || strings.Contains("0123456789_-.", c); more {
			require.Equal(t, "a"+c, r.key())
		} else {
			require.Equal(t, "a", r.key(), "%q", c)
		}
	}
	var r fieldReader
	require.Empty(t, r.key())
}

// TestTheTightestOfEqualsIsTheLongest: of items with as much left.
func TestTheTightestOfEqualsIsTheLongest(t *testing.T) {
	for _, lines := range [][]string{
		{`"a";r=1;t=5, "b";r=1;t=9`}, {`"b";r=1;t=9, "a";r=1;t=5`}, {`"b";r=1;t=9`, `"a";r=2;t=20`}, {`"a";r=2;t=20`, `"b";r=1;t=9`}, {`"c";r=0;t=0`, `"b";r=1;t=9`},
	} {
		l := readRateLimit(lines)
		require.EqualValues(t, 1, l.left, lines)
		require.Equal(t, wholeHold(9), l.within, lines)
	}
}
