package weir_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// TestATextIsOf65536BytesAtMost: as it is read, and as it would be written.
func TestATextIsOf65536BytesAtMost(t *testing.T) {
	padded := strings.Repeat(" ", 64<<10-3) + "5/s"
	_, err := weir.ParseLimit(padded)
	require.NoError(t, err)
	_, err = weir.ParseLimit(padded + " ")
	require.ErrorContains(t, err, ": its 65537 bytes must be at most 65536")

	// A tab in back quotes is written as two bytes.
	tabs := func(n int) string { return "5/s as `" + strings.Repeat("\t", n) + "`" }
	p, err := weir.ParsePolicy(tabs((64<<10 - len(`token-bucket 5/s as ""`)) / 2))
	require.NoError(t, err)
	require.Len(t, p.String(), 64<<10)
	_, err = weir.ParsePolicy(tabs((64<<10-len(`token-bucket 5/s as ""`))/2) + " ")
	require.NoError(t, err, "it is written no longer")
	_, err = weir.ParsePolicy("all(" + tabs((64<<10-len(`all(token-bucket 5/s as "")`)+1)/2) + ")")
	require.ErrorContains(t, err, "written out it has 65537 bytes: it must be at most 65536")
}

// TestAnErrorShowsBytesThatAreNoText: from the first on.
func TestAnErrorShowsBytesThatAreNoText(t *testing.T) {
	_, err := weir.ParsePolicy(strings.Repeat("\x80", 100))
	require.ErrorContains(t, err, `weir: policy "`+strings.Repeat(`\x80`, 64))
}

// TestAnErrorSaysOnlyWhatIsSo: of queues and of strings.
func TestAnErrorSaysOnlyWhatIsSo(t *testing.T) {
	for _, bad := range []badText{
		{`leaky-bucket 0 queue 5 x`, `"leaky-bucket 0 queue 5 x" at 24: expected "as" or the end, found "x"`},
		{`fixed-window 0 queue 5`, `"fixed-window 0 queue 5" at 16: expected "/", "as" or the end, found "queue"; only a leaky-bucket has one; try "0/s"`},
		{`5/s as "\"`, `"5/s as \"\\\"" at 8: the name has no closing "`},
	} {
		_, err := weir.ParsePolicy(bad.text)
		require.EqualError(t, err, bad.full("policy"), "%q", bad.text)
	}
	_, err := weir.ParseLimit("0 queue 5")
	require.EqualError(t, err, `weir: limit "0 queue 5" at 3: expected "/" or the end, found "queue"; try "0/s"`)
}

// TestNothingIsSuggestedForWhatIsNotUnderstoodWhole: rather than something else.
func TestNothingIsSuggestedForWhatIsNotUnderstoodWhole(t *testing.T) {
	for _, text := range []string{
		"100 \x80",
		"100 " + strings.Repeat(" ", 120) + "per second",
		"100 per second burst 5 6",
		"1.5 per 25 years",
		"1.5 per 30 years",
		"per second",
	} {
		_, err := weir.ParseLimit(text)
		_, ok := suggested(err)
		require.False(t, ok, "%q: %v", text, err)
	}
}

// TestNothingIsSuggestedForAnAlgorithmThatIsNoLimit: nor for a text too long to be understood.
func TestNothingIsSuggestedForAnAlgorithmThatIsNoLimit(t *testing.T) {
	for _, text := range []string{"per second", "per" + strings.Repeat(" ", 120) + "10 seconds"} {
		_, err := weir.ParsePolicy(text)
		require.ErrorContains(t, err, `unknown algorithm "per": it is one of token-bucket, `)
	}
}

// TestANameIsToldWhilePeopleWait: a policy is looked at ahead of them under its own name.
func TestANameIsToldWhilePeopleWait(t *testing.T) {
	for _, p := range []weir.Policy{
		weir.MustParsePolicy(`sliding-window 2/10s as "x"`),
		weir.SlidingWindow(weir.Per(2, 10*time.Second)).Named("x"),
		weir.TokenBucket(weir.Per(2, 10*time.Second)).Named("x"),
	} {
		limiter := weir.New(p, weir.WithClock(weir.NewManualClock()))
		require.True(t, limiter.AllowN(2))
		require.Positive(t, limiter.Reserve(1).Delay())
		require.Equal(t, "x", limiter.Take(1).Policy)
		require.Equal(t, "x", limiter.Peek(0).Policy)
	}
}
