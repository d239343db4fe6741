package httplimit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const letters = "abcdefghijklmnopqrstuvwxyz"

// TestATokenHasTheBytesOfHTTP: those of RFC 9110, section 5.6.2.
func TestATokenHasTheBytesOfHTTP(t *testing.T) {
	tchar := "!#$%&'*+-.^_`|~0123456789" + letters + strings.ToUpper(letters)
	for c := range 256 {
		require.Equal(t, strings.IndexByte(tchar, byte(c)) >= 0, isToken(byte(c)), "%q", byte(c))
	}
	for _, name := range []string{" X", "X ", "é", "X\u0080", ":X", "\x00"} {
		require.Panics(t, func() { HeaderKey(name) }, "%q", name)
	}
}

// TestAParameterEndsWhereItCannotGoOn: unquoted, it is of visible ASCII other than
// what separates and quotes.
func TestAParameterEndsWhereItCannotGoOn(t *testing.T) {
	for c := range 256 {
		s := "a" + string([]byte{byte(c)}) + "z"
		value, rest, ok := parameterValue(s)
		require.True(t, ok)
		if c > ' ' && c < 0x7f && !strings.ContainsRune(`;,"\`, rune(c)) {
			require.Equal(t, [2]string{s, ""}, [2]string{value, rest})
		} else {
			require.Equal(t, [2]string{"a", s[1:]}, [2]string{value, rest})
		}
	}
	for s, want := range map[string][2]string{
		`"a;b";c`:  {"a;b", ";c"},
		`""`:       {"", ""},
		`"a\"b"c`:  {`a\"b`, "c"},
		`"a\\"b"c`: {`a\\`, `b"c`},
	} {
		value, rest, ok := parameterValue(s)
		require.True(t, ok, s)
		require.Equal(t, want, [2]string{value, rest})
	}
	for _, s := range []string{"", ";a", ",", `"a`, `"`, `"a\"`} {
		_, _, ok := parameterValue(s)
		require.False(t, ok, s)
	}
}

// TestAnElementThatDoesNotParseNamesNobody: whatever else it says.
func TestAnElementThatDoesNotParseNamesNobody(t *testing.T) {
	require.Equal(t, "x", forParameter("a=1; for=x ;b=2"))
	for _, element := range []string{
		"=1;for=x", "@=1;for=x", "a:1;for=x", "a;for=x", "for=x;a", "for=x;=", "for=x;for=x", "for=x y", "for=x y=z", `for="x`, "for=",
	} {
		require.Empty(t, forParameter(element), element)
	}
}

// TestNothingIsReadBeyondTheBudget: not even an earlier line that would fit in.
func TestNothingIsReadBeyondTheBudget(t *testing.T) {
	for _, quotes := range []bool{false, true} {
		e := elements{lines: []string{"a", "too long"}, budget: 5, quotes: quotes}
		for range 3 {
			element, ok := e.previous()
			require.True(t, ok, "there is another element, which is not read")
			require.Empty(t, element)
			if len(e.lines) == 0 {
				break
			}
		}
		e = elements{lines: []string{"a", "bc, d"}, budget: 10, quotes: quotes}
		for _, want := range []string{"d", "bc", "a"} {
			element, ok := e.previous()
			require.True(t, ok)
			require.Equal(t, want, element)
		}
		_, ok := e.previous()
		require.False(t, ok)
	}
}
