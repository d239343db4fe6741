package weir_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

var limitTexts = []string{
	"100/s", "60/min", "5/10s burst 20", "1/10592d6h", "7/1h30m", "3/µs", "0", "0/s burst 5", "unlimited", " 5 / 10 s\tburst\n7 ",
	"5/fortnight", "100 per second", "10k/s", "0.5/s", "1_000/s", "every 2.5s", "5/s, burst 20", "-5/s", "5/-1s", "5/-1\xad", "5/0s", "1/d burst 11000",
	"99999999999999999999/s", "5/99999999999999999999s", "5/s burst", "9223372036854775807/d burst 1", "5/s\x00", "\x80",
}

func FuzzParseLimit(f *testing.F) {
	for _, text := range limitTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := weir.ParseLimit(text)
		if err != nil {
			require.Zero(t, l)
			requireGoodError(t, err, "weir: limit ")
			if text, found := suggested(err); found {
				_, err := weir.ParseLimit(text)
				require.NoError(t, err)
			}
			return
		}
		require.NoError(t, l.Validate())
		again, err := weir.ParseLimit(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
		p, err := weir.ParsePolicy(text)
		require.NoError(t, err, "a limit is a policy")
		require.True(t, weir.TokenBucket(l).Equal(p))
	})
}

func FuzzParsePolicy(f *testing.F) {
	for _, text := range limitTexts {
		f.Add(text)
		f.Add("all(sliding-window " + text + ", first-of(leaky-bucket " + text + " queue 3, " + text + "))")
		f.Add("burst-reserve(" + text + ", " + text + `) as "reserve"`)
	}
	for seed := range uint64(30) {
		f.Add(choosePolicy(randomly(seed), 3).String())
	}
	for _, text := range []string{
		`5/s as "a\xff\u2028\"b"`, "5/s as `raw`", `5/s as "open`, "5/s as \"\\q\"", "token_bucket 5/s", "all()", "all(5/s", "5/s)", "5/s, 6/s",
		nested(64), nested(65), "token-bucket(5/s)", "sliding-window 5/s burst 9",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := weir.ParsePolicy(text)
		if err != nil {
			require.True(t, p.Equal(weir.Policy{}))
			requireGoodError(t, err, "weir: policy ")
			return
		}
		require.NoError(t, p.Validate())
		requireInverse(t, p)
		if written := p.String(); !strings.ContainsAny(written, `"`) {
			airy := strings.NewReplacer(" ", " \n\t\r", "(", " ( ", ")", " ) ", ",", " , ", "/", " / ").Replace(written)
			if len(airy) <= longestText {
				require.True(t, p.Equal(weir.MustParsePolicy(airy)), "%q", airy)
			}
		}
	})
}

// requireGoodError wants one line, of what may be printed and is not long.
func requireGoodError(t *testing.T, err error, begins string) {
	t.Helper()
	text := err.Error()
	require.True(t, strings.HasPrefix(text, begins), text)
	require.True(t, utf8.ValidString(text), "%q", text)
	require.NotContains(t, text, "\n")
	require.NotContains(t, text[1:], "weir: ")
	require.Less(t, len(text), 1000)
}
