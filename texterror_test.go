package weir_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

type badText struct{ text, says string }

// MAX in what is said stands for the greatest int.
func (b badText) full(kind string) string {
	return "weir: " + kind + " " + strings.ReplaceAll(b.says, "MAX", strconv.Itoa(math.MaxInt))
}

// suggested returns what an error says to try, and false if it does not.
func suggested(err error) (string, bool) {
	_, after, found := strings.Cut(err.Error(), `; try "`)
	text, _, _ := strings.Cut(after, `"`)
	return text, found
}

func TestParseLimitSaysWhatIsWrong(t *testing.T) {
	for _, bad := range []badText{
		{``, `"" at 1: expected a limit such as "100/s", "unlimited" or "0", found the end`},
		{`  `, `"  " at 3: expected a limit such as "100/s", "unlimited" or "0", found the end`},
		{`100`, `"100" at 4: expected "/" and a period, found the end; try "100/s"`},
		{`100 per second`, `"100 per second" at 5: expected "/" and a period, found "per"; try "100/s"`},
		{`100rps`, `"100rps" at 4: expected "/" and a period, found "rps"; try "100/s"`},
		{`100 requests per 10 seconds`, `"100 requests per 10 seconds" at 5: expected "/" and a period, found "requests"; try "100/10s"`},
		{`100-S`, `"100-S" at 4: expected "/" and a period, found "-S"; try "100/s"`},
		{`100:1m`, `"100:1m" at 4: expected "/" and a period, found ":"; try "100/m"`},
		{`5 a day`, `"5 a day" at 3: expected "/" and a period, found "a"; try "5/d"`},
		{`every 10s`, `"every 10s" at 1: expected a limit such as "100/s", "unlimited" or "0", found "every"; try "1/10s"`},
		{`once a minute`, `"once a minute" at 1: expected a limit such as "100/s", "unlimited" or "0", found "once"; try "1/m"`},
		{`5/`, `"5/" at 3: expected a period such as s, m, h, d or 1h30m, found the end; try "5/s"`},
		{`5/10`, `"5/10" at 5: expected a unit such as s, m, h or d after the number, found the end; try "5/10s"`},
		{`5/fortnight`, `"5/fortnight" at 3: unknown period "fortnight"; try "5/14d"`},
		{`5/2weeks`, `"5/2weeks" at 4: unknown period "weeks"; try "5/14d"`},
		{`5/parsec`, `"5/parsec" at 3: unknown period "parsec": it is s, m, h, d or a duration such as 1h30m`},
		{`5/31y`, `"5/31y" at 5: unknown period "y": it is s, m, h, d or a duration such as 1h30m`},
		{`5/S`, `"5/S" at 3: unknown period "S"; try "5/s"`},
		{`100/Second`, `"100/Second" at 5: unknown period "Second"; try "100/s"`},
		{`60/minutes`, `"60/minutes" at 4: unknown period "minutes"; try "60/m"`},
		{`5/1.5h`, `"5/1.5h" at 4: expected a unit such as s, m, h or d after the number, found "."; try "5/1h30m"`},
		{`5/10 s m`, `"5/10 s m" at 8: expected "burst" or the end, found "m"`},
		{`0.5/s`, `"0.5/s" at 2: expected "/" or the end, found "."; try "1/2s"`},
		{`1.5/m`, `"1.5/m" at 2: expected "/" and a period, found "."; try "3/2m"`},
		{`.5/s`, `".5/s" at 1: expected a limit such as "100/s", "unlimited" or "0", found "."; try "1/2s"`},
		{`1e3/s`, `"1e3/s" at 2: expected "/" and a period, found "e"`},
		{`1,000/s`, `"1,000/s" at 2: expected "/" and a period, found ","`},
		{`1_000/s`, `"1_000/s" at 2: expected "/" and a period, found "_"; try "1000/s"`},
		{`10k/s`, `"10k/s" at 3: expected "/" and a period, found "k"; try "10000/s"`},
		{`+5/s`, `"+5/s" at 1: expected a limit such as "100/s", "unlimited" or "0", found "+"; try "5/s"`},
		{`-5/s`, `"-5/s" at 1: count of -5: it must not be negative`},
		{`- 5/s`, `"- 5/s" at 1: count of -5: it must not be negative`},
		{`5/-10s`, `"5/-10s" at 3: period of -10s: it must be positive`},
		{"5/- 10\xad", `"5/- 10\xad" at 3: period of -10: it must be positive`},
		{`10/0s`, `"10/0s" at 4: period of 0s: it must be positive`},
		{`0/0s`, `"0/0s" at 3: period of 0s: it must be positive`},
		{`5/0h0m`, `"5/0h0m" at 3: period of 0s: it must be positive`},
		{`5/s burst -1`, `"5/s burst -1" at 11: burst of -1: it must not be negative`},
		{`5/s burst`, `"5/s burst" at 10: expected a number after "burst", found the end`},
		{`5/s burst=20`, `"5/s burst=20" at 10: expected a number after "burst", found "="; try "5/s burst 20"`},
		{`5/s burst many`, `"5/s burst many" at 11: expected a number after "burst", found "many"`},
		{`5/s, burst 20`, `"5/s, burst 20" at 4: expected "burst" or the end, found ","`},
		{`5/s Burst 20`, `"5/s Burst 20" at 5: expected "burst" or the end, found "Burst"; try "5/s burst 20"`},
		{`5/s burst 20 burst 30`, `"5/s burst 20 burst 30" at 14: expected the end, found "burst"`},
		{`5/s 7`, `"5/s 7" at 5: expected "burst" or the end, found "7"`},
		{`5/10s 7`, `"5/10s 7" at 8: expected a unit such as s, m, h or d after the number, found the end`},
		{`5/s)`, `"5/s)" at 4: expected "burst" or the end, found ")"`},
		{`5/sburst 20`, `"5/sburst 20" at 3: unknown period "sburst": it is s, m, h, d or a duration such as 1h30m`},
		{`99999999999999999999/s`, `"99999999999999999999/s" at 1: count of 99999999999999999999: it must be at most MAX`},
		{`5/s burst 99999999999999999999`, `"5/s burst 99999999999999999999" at 11: burst of 99999999999999999999: it must be at most MAX`},
		{`5/99999999999999999999s`, `"5/99999999999999999999s" at 3: period of "99999999999999999999s": it must be at most 30 years (262980h0m0s)`},
		{`5/999999999999999999981553255926290448389s`, `"5/999999999999999999981553255926290448389s" at 3: period of "99999999999999999998155325592629...": it must be at most 30 years (262980h0m0s)`}, // without saturation it is 5s
		{`5/11000d`, `"5/11000d" at 3: period of "11000d": it must be at most 30 years (262980h0m0s)`},
		{`1/10000d957d13h`, `"1/10000d957d13h" at 3: period of "10000d957d13h": it must be at most 30 years (262980h0m0s)`},
		{`1/d burst 11000`, `"1/d burst 11000" at 1: limit of 1/d burst 11000: a burst of 11000 takes longer than 30 years to refill`},
		{`none`, `"none" at 1: expected a limit such as "100/s", "unlimited" or "0", found "none"`},
		{`Unlimited`, `"Unlimited" at 1: expected a limit such as "100/s", "unlimited" or "0", found "Unlimited"`},
		{`unlimited burst 5`, `"unlimited burst 5" at 11: expected the end, found "burst"`},
		{`unlimited/s`, `"unlimited/s" at 10: expected the end, found "/"`},
		{`0 burst 5`, `"0 burst 5" at 3: expected "/" or the end, found "burst"; try "0/s burst 5"`},
		{`00`, `"00" at 3: expected "/" and a period, found the end; try "0/s"`},
		{`0 per second`, `"0 per second" at 3: expected "/" or the end, found "per"; try "0/s"`},
		{`5/s as "x"`, `"5/s as \"x\"" at 5: expected "burst" or the end, found "as"`},
		{`token-bucket 5/s`, `"token-bucket 5/s" at 1: expected a limit such as "100/s", "unlimited" or "0", found "token-bucket"`},
		{"5/s\x00", `"5/s\x00" at 4: expected "burst" or the end, found "\x00"`},
		{"5/\x80", `"5/\x80" at 3: unknown period "\x80": it is s, m, h, d or a duration such as 1h30m`},
		{"5/s\nburst\n-1", `"5/s\nburst\n-1" at 11: burst of -1: it must not be negative`},
		{`٣/s`, `"٣/s" at 1: expected a limit such as "100/s", "unlimited" or "0", found "٣"`},
	} {
		l, err := weir.ParseLimit(bad.text)
		require.EqualError(t, err, bad.full("limit"), "%q", bad.text)
		require.Zero(t, l)
		if text, found := suggested(err); found {
			_, err := weir.ParseLimit(text)
			require.NoError(t, err, "what to try instead of %q", bad.text)
		}
		_, err = weir.ParsePolicy(bad.text)
		require.Equal(t, err == nil, strings.Contains(bad.text, "as") || strings.HasPrefix(bad.text, "token"), "%q as a policy", bad.text)
	}
}

func TestParseLimitSuggestsWhatMayHaveBeenMeant(t *testing.T) {
	for text, want := range map[string]string{
		"10 per hour": "10/h", "10 an hour": "10/h", "10 hits each 5 min": "10/5m", "10 every 1.5 days": "10/1d12h", "at most 10 a week": "10/7d",
		"5/y": "5/365d", "5/month": "5/30d", "3 daily": "3/d", "5 weekly": "5/7d", "6/40micros": "6/40us", "6/40nsec": "6/40ns", "8 per fortnight": "8/14d", "9rpd": "9/d", "60rpm": "60/m", "7 rph": "7/h", "2 qps": "2/s", "60 rpm burst 5": "60/m burst 5", "7/300msec": "7/300ms",
		"1'000'000/h": "1000000/h", "2.50/s": "5/2s", "0.001/s": "1/16m40s", "1.50/2.5h": "3/5h", "2k": "2000/s", "2k/h burst 1k": "2000/h burst 1000",
		"5/1H30M": "5/1h30m", "5 / 10": "5/10s", "0.50 burst 3": "1/2s burst 3", "5/s Burst: 3": "5/s burst 3",

		// Nothing where that would be a guess at best.
		"10M/s": "", "5/10 s m": "", "5/s per m": "", "5 per -10s": "", "5 per 6 7 s": "", "1.2.3/s": "", "5/s burst 0.5 x": "", "5/s Burst 0.5": "",
		"5/s Burst": "", "5 burst 6 per s": "", "5 bananas": "", "12345678901234 per s": "", "0.00000001/s": "", "1 per 40y": "", "0.1/10y": "", "1/d Burst 11000": "",
		"5 per " + strings.Repeat(" ", 100) + " s": "", "5 per " + strings.Repeat("9", 100) + "s": "", "-/s": "", "5 per 0s": "", "every": "1/s",
	} {
		_, err := weir.ParseLimit(text)
		require.Error(t, err, "%q", text)
		got, _ := suggested(err)
		require.Equal(t, want, got, "%v", err)
		if got != "" {
			require.Equal(t, got, weir.MustParseLimit(got).String())
		}
	}
}

func TestParsePolicySaysWhatIsWrong(t *testing.T) {
	for _, bad := range []badText{
		{``, `"" at 1: expected a policy such as "token-bucket 100/s burst 20", found the end`},
		{`!`, `"!" at 1: expected a policy such as "token-bucket 100/s burst 20", found "!"`},
		{`(5/s)`, `"(5/s)" at 1: expected a policy such as "token-bucket 100/s burst 20", found "("`},
		{`"5/s"`, `"\"5/s\"" at 1: expected a policy such as "token-bucket 100/s burst 20", found "\""`},
		{`none`, `"none" at 1: unknown algorithm "none": it is one of token-bucket, leaky-bucket, fixed-window, sliding-window, sliding-counter, all, first-of, burst-reserve`},
		{`Unlimited`, `"Unlimited" at 1: unknown algorithm "Unlimited"; try "unlimited"`},
		{`token_bucket 5/s`, `"token_bucket 5/s" at 1: unknown algorithm "token_bucket"; try "token-bucket"`},
		{`TokenBucket 5/s`, `"TokenBucket 5/s" at 1: unknown algorithm "TokenBucket"; try "token-bucket"`},
		{`token bucket 5/s`, `"token bucket 5/s" at 1: unknown algorithm "token"; try "token-bucket"`},
		{`gcra 5/s`, `"gcra 5/s" at 1: unknown algorithm "gcra"; try "token-bucket"`},
		{`sliding-log 5/s`, `"sliding-log 5/s" at 1: unknown algorithm "sliding-log"; try "sliding-window"`},
		{`any(5/s)`, `"any(5/s)" at 1: unknown algorithm "any"; try "first-of"`},
		{`ALL(5/s)`, `"ALL(5/s)" at 1: unknown algorithm "ALL"; try "all"`},
		{`tokn-bucket 5/s`, `"tokn-bucket 5/s" at 1: unknown algorithm "tokn-bucket": it is one of token-bucket, leaky-bucket, fixed-window, sliding-window, sliding-counter, all, first-of, burst-reserve`},
		{`every 10s`, `"every 10s" at 1: unknown algorithm "every"; try "1/10s"`},
		{`token-bucket`, `"token-bucket" at 13: expected a limit such as "100/s", "unlimited" or "0", found the end`},
		{`token-bucket(5/s)`, `"token-bucket(5/s)" at 13: token-bucket takes its limit without parentheses, as in "token-bucket 100/s"`},
		{`token-bucket token-bucket 5/s`, `"token-bucket token-bucket 5/s" at 14: expected a limit such as "100/s", "unlimited" or "0", found "token-bucket"`},
		{`-5/s`, `"-5/s" at 1: count of -5: it must not be negative`},
		{`0.5/s`, `"0.5/s" at 2: expected "/", "as" or the end, found "."; try "1/2s"`},
		{`0 burst 5`, `"0 burst 5" at 3: expected "/", "as" or the end, found "burst"; try "0/s burst 5"`},
		{`5/s queue 5`, `"5/s queue 5" at 5: expected "burst", "as" or the end, found "queue"; only a leaky-bucket has one`},
		{`token-bucket 5/s burst 5 queue 10`, `"token-bucket 5/s burst 5 queue 10" at 26: expected "as" or the end, found "queue"; only a leaky-bucket has one`},
		{`leaky-bucket 5/s queue`, `"leaky-bucket 5/s queue" at 23: expected a number after "queue", found the end`},
		{`leaky-bucket 5/s queue -1`, `"leaky-bucket 5/s queue -1" at 24: queue of -1: it must not be negative`},
		{`leaky-bucket 5/s queue 99999999999999999999`, `"leaky-bucket 5/s queue 99999999999999999999" at 24: queue of 99999999999999999999: it must be at most MAX`},
		{`leaky-bucket 5/s queue 1 burst 2`, `"leaky-bucket 5/s queue 1 burst 2" at 26: expected "as" or the end, found "burst"`},
		{`leaky-bucket 5/s Queue 2`, `"leaky-bucket 5/s Queue 2" at 18: expected "burst", "queue", "as" or the end, found "Queue"`},
		{`leaky-bucket 5/d burst 60000 queue 1`, `"leaky-bucket 5/d burst 60000 queue 1" at 14: limit of 5/d burst 60000: a burst of 60000 takes longer than 30 years to refill`},
		{`sliding-window 5/s burst 9`, `"sliding-window 5/s burst 9" at 1: sliding-window 5/s burst 9 with a burst of 9: a window admits its count of 5 at once, and has no other burst`},
		{`all(5/s, fixed-window 5/s burst 9)`, `"all(5/s, fixed-window 5/s burst 9)" at 10: fixed-window 5/s burst 9 with a burst of 9: a window admits its count of 5 at once, and has no other burst`},
		{`5/s, 6/s`, `"5/s, 6/s" at 4: expected "burst", "as" or the end, found ","; put several policies into all(...) or first-of(...)`},
		{`all`, `"all" at 4: expected "(", found the end`},
		{`all 5/s`, `"all 5/s" at 5: expected "(", found "5"`},
		{`all()`, `"all()" at 5: expected a policy such as "token-bucket 100/s burst 20", found ")"`},
		{`all(5/s,)`, `"all(5/s,)" at 9: expected a policy such as "token-bucket 100/s burst 20", found ")"`},
		{`all(5/s,,5/s)`, `"all(5/s,,5/s)" at 9: expected a policy such as "token-bucket 100/s burst 20", found ","`},
		{`all(5/s, 6/s`, `"all(5/s, 6/s" at 13: expected "burst", "as", "," or ")", found the end; the "(" at 4 is not closed`},
		{`all(5/s as "x"`, `"all(5/s as \"x\"" at 15: expected "," or ")", found the end; the "(" at 4 is not closed`},
		{`all(5/s burst 6 6/s)`, `"all(5/s burst 6 6/s)" at 17: expected "as", "," or ")", found "6"`},
		{`all(first-of(5/s), 6/s`, `"all(first-of(5/s), 6/s" at 23: expected "burst", "as", "," or ")", found the end; the "(" at 4 is not closed`},
		{`all(5/s, 6/s))`, `"all(5/s, 6/s))" at 14: expected "as" or the end, found ")"`},
		{`all(5/s; 6/s)`, `"all(5/s; 6/s)" at 8: expected "burst", "as", "," or ")", found ";"`},
		{`all(5, 100/s)`, `"all(5, 100/s)" at 6: expected "/" and a period, found ","; try "5/s"`},
		{`all(5,100/s)`, `"all(5,100/s)" at 6: expected "/" and a period, found ","`},
		{`all(100 per second, 5/s)`, `"all(100 per second, 5/s)" at 9: expected "/" and a period, found "per"; try "100/s"`},
		{`all(5/s, sliding-window 5/fortnight as "x")`, `"all(5/s, sliding-window 5/fortnight as \"x\")" at 27: unknown period "fortnight"; try "5/14d"`},
		{`burst-reserve`, `"burst-reserve" at 14: expected "(", found the end`},
		{`burst-reserve 5/s`, `"burst-reserve 5/s" at 15: expected "(", found "5"`},
		{`burst-reserve()`, `"burst-reserve()" at 15: expected a limit such as "100/s", "unlimited" or "0", found ")"`},
		{`burst-reserve(5/s)`, `"burst-reserve(5/s)" at 18: expected "burst" or "," and a second limit, found ")"`},
		{`burst-reserve(5/s,`, `"burst-reserve(5/s," at 19: expected a limit such as "100/s", "unlimited" or "0", found the end`},
		{`burst-reserve(5/s, 6/s`, `"burst-reserve(5/s, 6/s" at 23: expected "burst" or ")", found the end; the "(" at 14 is not closed`},
		{`burst-reserve(5/s, 6/s, 7/s)`, `"burst-reserve(5/s, 6/s, 7/s)" at 23: expected "burst" or ")", found ","`},
		{`burst-reserve(token-bucket 5/s, 5/s)`, `"burst-reserve(token-bucket 5/s, 5/s)" at 15: expected a limit such as "100/s", "unlimited" or "0", found "token-bucket"`},
		{`burst-reserve(5/s as "x", 5/s)`, `"burst-reserve(5/s as \"x\", 5/s)" at 19: expected "burst" or "," and a second limit, found "as"`},
		{`burst-reserve(5/s, 5/d burst 60000)`, `"burst-reserve(5/s, 5/d burst 60000)" at 20: limit of 5/d burst 60000: a burst of 60000 takes longer than 30 years to refill`},
		{`5/s as`, `"5/s as" at 7: expected a name in double quotes after "as", found the end`},
		{`5/s as hourly`, `"5/s as hourly" at 8: expected a name in double quotes after "as", found "hourly"`},
		{`5/s as 'x'`, `"5/s as 'x'" at 8: expected a name in double quotes after "as", found "'"`},
		{`5/s as "x`, `"5/s as \"x" at 8: the name has no closing "`},
		{`5/s as "x\"`, `"5/s as \"x\\\"" at 8: the name has no closing "`},
		{"5/s as \"x\ny\"", `"5/s as \"x\ny\"" at 8: the name has no closing "`},
		{`5/s as "\q"`, `"5/s as \"\\q\"" at 8: the name is not a string as in Go: look at its backslashes`},
		{"5/s as `x", "\"5/s as `x\" at 8: the name has no closing `"},
		{`5/s as ""`, `"5/s as \"\"" at 8: expected a name that is not empty; leave out "as" for none`},
		{"5/s as ``", "\"5/s as ``\" at 8: expected a name that is not empty; leave out \"as\" for none"},
		{`5/s as "a" as "b"`, `"5/s as \"a\" as \"b\"" at 12: expected the end, found "as"`},
		{`5/s as "a" "b"`, `"5/s as \"a\" \"b\"" at 12: expected the end, found "\""`},
		{`5/s "x"`, `"5/s \"x\"" at 5: expected "burst", "as" or the end, found "\""`},
		{`all(5/s as "a" 6/s)`, `"all(5/s as \"a\" 6/s)" at 16: expected "," or ")", found "6"`},
		{`5/s token-bucket 5/s`, `"5/s token-bucket 5/s" at 5: expected "burst", "as" or the end, found "token-bucket"`},
	} {
		p, err := weir.ParsePolicy(bad.text)
		require.EqualError(t, err, bad.full("policy"), "%q", bad.text)
		require.Zero(t, p)
	}
}

func TestParsePolicySuggestsAlgorithms(t *testing.T) {
	for want, others := range map[string][]string{
		"token-bucket":    {"tokenbucket", "TOKEN_BUCKET", "Token-Bucket", "token", "gcra"},
		"leaky-bucket":    {"leakyBucket", "leaky"},
		"fixed-window":    {"fixed_window", "Fixed"},
		"sliding-window":  {"sliding_window", "sliding", "sliding-log", "SlidingWindowLog"},
		"sliding-counter": {"slidingCounter", "sliding-window-counter"},
		"all":             {"All", "all-of", "and"},
		"first-of":        {"firstOf", "first", "any", "any_of", "OR"},
		"burst-reserve":   {"BurstReserve", "burst_reserve"},
		"unlimited":       {"Unlimited", "no-limit", "infinite"},
	} {
		for _, other := range others {
			_, err := weir.ParsePolicy(other + " 5/s")
			require.EqualError(t, err, "weir: policy "+strconv.Quote(other+" 5/s")+" at 1: unknown algorithm "+strconv.Quote(other)+"; try "+strconv.Quote(want))
		}
	}
}
