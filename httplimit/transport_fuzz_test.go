package httplimit

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzReadRateLimit compares the reader with parseList, which knows Strings and
// Integers only.
func FuzzReadRateLimit(f *testing.F) {
	for _, line := range []string{
		`"default";r=50;t=30`, `"a";r=0;t=9,"b";r=1`, `"a";r=-1;t=9`, `"a\"";r=1;t=2;r=3`, `"a";r=999999999999999;t=1000000000000000`,
		"\"a\";r=1;t=1,\n\"b\";r=0;t=7", "\n", `"a";r=1;t=1,`, `limit=100, remaining=50, reset=5`,
	} {
		f.Add(line)
	}
	for _, item := range bareItems {
		f.Add(item + ";r=1;t=1;x=" + item)
	}
	for _, item := range notBareItems {
		f.Add(`"a";r=1;t=1;x=` + item)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		got := readRateLimit(lines)
		require.GreaterOrEqual(t, got.left, int64(0))
		require.LessOrEqual(t, got.left, int64(maxInteger))
		require.GreaterOrEqual(t, got.within, time.Duration(0))
		require.LessOrEqual(t, got.within, maxHold)

		items, err := parseList(lines...)
		if err != nil {
			return
		}
		want := serviceLimit{spare: len(items) > 0}
		for _, item := range items {
			r, ok := item.parameters["r"]
			seconds := item.parameters["t"]
			if !ok || r < 0 || seconds < 0 {
				want = serviceLimit{}
				break
			}
			within := min(time.Duration(min(seconds, 1e6))*time.Second, maxHold)
			want.spare = want.spare && r > 0
			if within > 0 && (want.within == 0 || r < want.left || r == want.left && within > want.within) {
				want.left, want.within = r, within
			}
		}
		require.Equal(t, want, got)
	})
}

func FuzzReadAsk(f *testing.F) {
	f.Add(429, "7", "", "", "")
	f.Add(429, "99999999999999999999", "", "", "0")
	f.Add(503, "Fri, 31 Dec 9999 23:59:59 GMT", "Sat, 01 Jan 2000 00:00:00 GMT", "", "")
	f.Add(429, "Saturday, 01-Jan-00 00:01:30 GMT", "Sat Jan  1 00:00:00 2000", "", "")
	f.Add(429, "", "", `"a";r=0;t=9`, "0")
	f.Add(200, "-1", "now", `"a";r=5;t=9,"b";r=0`, "00")
	f.Add(503, "Mon, 01 Jan 0001 00:00:00 GMT", "", `"a";r=0;t=9`, "1")
	f.Fuzz(func(t *testing.T, status int, retryAfter, date, rateLimit, age string) {
		header := http.Header{"Retry-After": {retryAfter}, "Date": {date}, "Ratelimit": {rateLimit}, "Age": {age}}
		now := time.Now()
		a := readAsk(&http.Response{StatusCode: status, Header: header}, now)
		require.GreaterOrEqual(t, a.stay, time.Duration(0))
		require.LessOrEqual(t, a.stay, maxHold)
		require.LessOrEqual(t, a.within, maxHold)
		if status != 429 && status != 503 {
			require.False(t, a.refused)
			require.Zero(t, a.stay)
		}
		if a.stay > 0 {
			require.True(t, a.refused)
			require.Zero(t, a.serviceLimit)
		}
		if a.bare {
			require.True(t, a.refused)
			require.Zero(t, a.stay)
		}
		h := new(hold)
		v := new(visit)
		h.send(v, now)
		h.learn(v.sent, a, now)
		require.LessOrEqual(t, h.closedUntil().Sub(now), maxHold)
	})
}
