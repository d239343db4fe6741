package weir_test

import (
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

const longestText = 64 << 10

// nested returns a policy inside of so many parentheses.
func nested(depth int) string {
	return strings.Repeat("all(", depth) + "5/s" + strings.Repeat(")", depth)
}

func TestTextsThatAreTooLongAreRefused(t *testing.T) {
	for _, text := range []string{" ", "9", "a", "(", "all(", "5/s,", "\x80", "日", `"`, "as"} {
		text = strings.Repeat(text, 1<<20/len(text)+1)
		_, err := weir.ParseLimit(text)
		require.ErrorContains(t, err, "bytes must be at most 65536")
		require.Less(t, len(err.Error()), 500)
		_, err = weir.ParsePolicy(text)
		require.ErrorContains(t, err, "bytes must be at most 65536")
		require.Less(t, len(err.Error()), 500)
		p := weir.TokenBucket(weir.PerSecond(1))
		require.Error(t, p.UnmarshalText([]byte(text)))
		require.Equal(t, "token-bucket 1/s", p.String())
	}
	_, err := weir.ParseLimit(strings.Repeat(" ", longestText+1))
	require.EqualError(t, err, `weir: limit "`+strings.Repeat(" ", 64)+`"...: its 65537 bytes must be at most 65536`)
}

func TestTextsThatAreJustShortEnoughAreRead(t *testing.T) {
	text := "5/s" + strings.Repeat(" ", longestText-3)
	require.Equal(t, weir.PerSecond(5), weir.MustParseLimit(text))
	require.Equal(t, "token-bucket 5/s", weir.MustParsePolicy(text).String())
	require.Equal(t, weir.PerSecond(5), weir.MustParseLimit(strings.Repeat("0", longestText-3)+"5/s"))

	// Errors are short, and show what is around the place.
	for text, says := range map[string]string{
		strings.Repeat(" ", longestText):                          `..."` + strings.Repeat(" ", 64) + `" at 65537: expected a policy such as "token-bucket 100/s burst 20", found the end`,
		strings.Repeat("9", longestText):                          `"` + strings.Repeat("9", 64) + `"... at 1: count of ` + strings.Repeat("9", 32) + `...: it must be at most`,
		strings.Repeat("a", longestText):                          `"` + strings.Repeat("a", 64) + `"... at 1: unknown algorithm "` + strings.Repeat("a", 32) + `...": it is one of token-bucket`,
		"5/" + strings.Repeat("é", 1000):                          `"5/` + strings.Repeat("é", 31) + `"... at 3: unknown period "` + strings.Repeat("é", 16) + `...": it is s, m, h, d`,
		"all(" + strings.Repeat("5/s, 6/m, ", 100) + "7/x)":       `..."` + strings.Repeat("5/s, 6/m, ", 6) + `7/x)" at 1007: unknown period "x"`,
		"all(" + strings.Repeat("日", 100) + " 5/s" + ", 6/s":      `"all(` + strings.Repeat("日", 20) + `"... at 5: unknown algorithm`,
		"all(" + strings.Repeat("日", 100):                         `"all(` + strings.Repeat("日", 20) + `"... at 5: unknown algorithm`,
		strings.Repeat(" ", 100) + strings.Repeat("日", 22) + "5":  `..."` + strings.Repeat(" ", 32) + strings.Repeat("日", 11) + `"... at 101: unknown algorithm "` + strings.Repeat("日", 10) + `..."`,
		"5/s as `" + strings.Repeat("日", 25) + "` x":              `..."` + strings.Repeat("日", 21) + "` x\" at 86: expected the end",
		"5/s as \"" + strings.Repeat(`\`, longestText-8):          `at 8: the name has no closing "`,
		"all(" + strings.Repeat("5/s,", longestText/4-2) + "5/s)": `... at 1: written out it has 294897 bytes: it must be at most 65536`,
	} {
		_, err := weir.ParsePolicy(text)
		require.ErrorContains(t, err, says)
		require.Less(t, len(err.Error()), 500)
	}
}

func TestTextsThatAreNestedTooDeepAreRefused(t *testing.T) {
	p := weir.MustParsePolicy(nested(64))
	requireInverse(t, p)
	_, err := weir.All(p).MarshalText()
	require.EqualError(t, err, `weir: policy "all(all(all(all(all(all(all(all(all(all(all(all(all(all(all(all("...: it is nested 65 deep and must be at most 64`)

	for _, depth := range []int{65, 66, 10_000} {
		_, err := weir.ParsePolicy(nested(depth))
		require.ErrorContains(t, err, " at 260: parentheses are nested more than 64 deep")
		require.Less(t, len(err.Error()), 500)
	}
	_, err = weir.ParsePolicy(strings.Repeat("all(", 64) + "burst-reserve(5/s, 5/s)")
	require.ErrorContains(t, err, "parentheses are nested more than 64 deep")
	_, err = weir.ParsePolicy(strings.Repeat("(", 10_000))
	require.ErrorContains(t, err, ` at 1: expected a policy such as "token-bucket 100/s burst 20", found "("`)

	// Beside each other there may be many.
	requireInverse(t, weir.MustParsePolicy("all("+strings.Repeat("all(5/s), ", 1000)+"5/s)"))
}

func TestPoliciesThatAreTooLongAreNotWritten(t *testing.T) {
	p := weir.TokenBucket(weir.PerSecond(5))
	head := len(p.Named("x").String()) - 1
	requireInverse(t, p.Named(strings.Repeat("x", longestText-head)))
	_, err := p.Named(strings.Repeat("x", longestText-head+1)).MarshalText()
	require.EqualError(t, err, `weir: policy "token-bucket 5/s as \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...: its text of 65537 bytes must be at most 65536`)

	// A name that takes more room written than it took to read.
	_, err = weir.ParsePolicy("5/s as `" + strings.Repeat("\x01", 20_000) + "`")
	require.ErrorContains(t, err, "at 1: written out it has 80022 bytes: it must be at most 65536")
}

func TestPoliciesWithTooManyWaysAreRefused(t *testing.T) {
	most := "all(" + strings.Repeat("first-of(5/s, 6/s), ", 63) + "5/s)"
	requireInverse(t, weir.MustParsePolicy(most))
	_, err := weir.ParsePolicy("first-of(5/s, all(" + strings.Repeat("first-of(5/s, 6/s), ", 63) + "first-of(5/s, 6/s)))")
	require.EqualError(t, err, `weir: policy "first-of(5/s, all(first-of(5/s, 6/s), first-of(5/s, 6/s), first-"... at 15: `+
		`all with more than 2^63 ways to pay: leave out some of the first-of in it`)
}
