package httplimit

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func TestPolicyField(t *testing.T) {
	t.Parallel()
	burst := weir.TokenBucket(weir.PerMinute(100)).Named("burst")
	daily := weir.FixedWindow(weir.PerDay(1000)).Named("daily")
	for _, test := range []struct {
		name     string
		policies []weir.Policy
		want     string // empty: no field
	}{
		{"none", nil, ``},
		{"the draft's example", []weir.Policy{burst, daily}, `"burst";q=100;w=60,"daily";q=1000;w=86400`},
		{"parts of a combination", []weir.Policy{weir.All(burst, daily)}, `"burst";q=100;w=60,"daily";q=1000;w=86400`},
		{"parts of parts", []weir.Policy{weir.FirstOf(weir.All(daily), burst).Named("both")}, `"daily";q=1000;w=86400,"burst";q=100;w=60`},
		{"a reserve", []weir.Policy{weir.BurstReserve(weir.PerSecond(100), weir.PerSecond(5).WithBurst(50))},
			`"token-bucket 100/s";q=100;w=1,"token-bucket 5/s burst 50";q=50;w=10`},
		{"the same twice", []weir.Policy{burst, weir.All(burst, daily)}, `"burst";q=100;w=60,"daily";q=1000;w=86400`},
		{"one name for two", []weir.Policy{burst, daily.Named("burst")}, `"burst";q=100;w=60,"burst";q=1000;w=86400`},
		{"no name", []weir.Policy{weir.SlidingWindow(weir.PerHour(7))}, `"sliding-window 7/h";q=7;w=3600`},
		{"unlimited", []weir.Policy{weir.TokenBucket(weir.Unlimited()), burst}, `"burst";q=100;w=60`},
		{"only unlimited", []weir.Policy{weir.All(weir.TokenBucket(weir.Unlimited()))}, ``},
		{"nothing at all", []weir.Policy{weir.TokenBucket(weir.Limit{}).Named("closed")}, `"closed";q=0`},
		{"a burst of 0", []weir.Policy{weir.TokenBucket(weir.PerMinute(6).WithBurst(0)).Named("closed")}, `"closed";q=0;w=60`},
		{"invalid", []weir.Policy{{}, weir.TokenBucket(weir.PerMinute(-1)), burst}, `"burst";q=100;w=60`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := string(newPolicyField(test.policies))
			require.Equal(t, test.want, got)
			_, err := parseList(got)
			require.NoError(t, err)
		})
	}
}

func TestQuota(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, test := range []struct {
		policy        weir.Policy
		quota, window uint64
	}{
		{weir.TokenBucket(weir.PerSecond(10)), 10, 1},
		{weir.TokenBucket(weir.PerMinute(60).WithBurst(10)), 10, 10},   // 60 at once would be denied
		{weir.TokenBucket(weir.PerSecond(5).WithBurst(50)), 50, 10},    // more than 5 may be left
		{weir.TokenBucket(weir.PerSecond(100).WithBurst(20)), 100, 1},  // 20 in 200 ms
		{weir.TokenBucket(weir.PerSecond(100).WithBurst(150)), 200, 2}, // 150 in 1.5 s
		{weir.TokenBucket(weir.PerMinute(100).WithBurst(7)), 8, 5},     // 7 in 4.2 s; 8.33 in 5 s
		{weir.TokenBucket(weir.Every(1500 * ms)), 1, 2},
		{weir.TokenBucket(weir.Every(time.Nanosecond)), 1e9, 1},
		{weir.TokenBucket(weir.Every(time.Second + 1)), 1, 2},
		{weir.LeakyBucket(weir.PerSecond(5), 10), 5, 1},  // one every 200 ms
		{weir.LeakyBucket(weir.PerMinute(5), 10), 1, 12}, // one every 12 s
		{weir.LeakyBucket(weir.PerMinute(5).WithBurst(0), 10), 0, 60},
		{weir.FixedWindow(weir.Per(10, 100*ms)), 100, 1},
		{weir.FixedWindow(weir.Per(5, 10*time.Second)), 5, 10},
		{weir.SlidingWindow(weir.PerHour(1000)), 1000, 3600},
		{weir.SlidingCounter(weir.Per(3, 2500*ms)), 3, 3},
		{weir.TokenBucket(weir.PerDay(1).WithBurst(10000)), 10000, 864e6},  // 27 years
		{weir.TokenBucket(weir.Per(math.MaxInt>>2, 1)), maxInteger + 1, 1}, // clamped where it is written
	} {
		t.Run(test.policy.String(), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, test.policy.Validate())
			l, _ := test.policy.Limit()
			quota, window := quotaOf(test.policy, l)
			require.Equal(t, test.quota, min(quota, maxInteger+1))
			require.Equal(t, test.window, window)
			_, err := parseList(string(newPolicyField([]weir.Policy{test.policy})))
			require.NoError(t, err)
		})
	}
}

// A client that takes RateLimit-Policy at its word, q at the beginning of
// every w, is never denied where w did not have to be rounded.
func TestQuotaIsGranted(t *testing.T) {
	t.Parallel()
	for _, policy := range []weir.Policy{
		weir.TokenBucket(weir.PerSecond(10)),
		weir.TokenBucket(weir.PerMinute(60).WithBurst(10)),
		weir.TokenBucket(weir.PerSecond(5).WithBurst(50)),
		weir.TokenBucket(weir.PerDay(6)),
		weir.LeakyBucket(weir.PerMinute(5), 0),
		weir.FixedWindow(weir.PerMinute(60)),
		weir.SlidingWindow(weir.PerMinute(60)),
	} {
		clock := weir.NewManualClock()
		limiter := weir.New(policy, weir.WithClock(clock))
		item, err := parseList(string(newPolicyField([]weir.Policy{policy})))
		require.NoError(t, err)
		for range 10 {
			d := limiter.Take(int(item[0].parameters["q"]))
			require.True(t, d.Allowed, policy)
			require.LessOrEqual(t, wholeSeconds(uint64(d.ResetAfter)), uint64(item[0].parameters["w"]), policy)
			clock.Advance(time.Duration(item[0].parameters["w"]) * time.Second)
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	field := newPolicyField([]weir.Policy{weir.TokenBucket(weir.PerMinute(100)).Named("burst")})
	allowed := weir.Decision{Allowed: true, Policy: "burst", Limit: 100, Remaining: 50, ResetAfter: 29*time.Second + 1}
	denied := weir.Decision{Policy: "burst", Limit: 100, RetryAfter: 1001 * time.Millisecond, ResetAfter: time.Minute}
	never := weir.Decision{Policy: "burst", Limit: 100, Remaining: 100, RetryAfter: weir.Never}
	const policy = `"burst";q=100;w=60`
	for _, test := range []struct {
		name   string
		format HeaderFormat
		d      weir.Decision
		want   map[string]string
	}{
		{"allowed", HeadersStandard, allowed, map[string]string{
			"RateLimit-Policy": policy, "RateLimit": `"burst";r=50;t=30`}},
		{"allowed", HeadersXRateLimit, allowed, map[string]string{
			"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "50", "X-RateLimit-Reset": "30"}},
		{"allowed", HeadersBoth, allowed, map[string]string{
			"RateLimit-Policy": policy, "RateLimit": `"burst";r=50;t=30`,
			"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "50", "X-RateLimit-Reset": "30"}},
		{"allowed", HeadersRetryAfterOnly, allowed, nil},
		{"denied", HeadersStandard, denied, map[string]string{
			"RateLimit-Policy": policy, "RateLimit": `"burst";r=0;t=2`, "Retry-After": "2"}},
		{"denied", HeadersXRateLimit, denied, map[string]string{
			"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2", "Retry-After": "2"}},
		{"denied", HeadersRetryAfterOnly, denied, map[string]string{"Retry-After": "2"}},
		{"never", HeadersStandard, never, map[string]string{
			"RateLimit-Policy": policy, "RateLimit": `"burst";r=100`}},
		{"never", HeadersXRateLimit, never, map[string]string{
			"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "100", "X-RateLimit-Reset": "0"}},
		{"never", HeadersRetryAfterOnly, never, nil},
		{"unlimited", HeadersBoth, weir.Decision{Allowed: true, Policy: "token-bucket unlimited", Limit: math.MaxInt, Remaining: math.MaxInt},
			map[string]string{"RateLimit-Policy": policy}},
		{"no layer applies", HeadersBoth, weir.Decision{Allowed: true, Remaining: math.MaxInt},
			map[string]string{"RateLimit-Policy": policy}},
		{"a shadow's denial", HeadersBoth, weir.Decision{Allowed: true, Shadowed: true, Policy: "burst", Limit: 100, Remaining: 5000, RetryAfter: 1, ResetAfter: time.Minute},
			map[string]string{"RateLimit-Policy": policy, "RateLimit": `"burst";r=100;t=1`,
				"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "100", "X-RateLimit-Reset": "1"}},
		{"the largest numbers", HeadersBoth, weir.Decision{Policy: "p", Limit: math.MaxInt - 1, Remaining: math.MaxInt - 1, RetryAfter: weir.Never - 1, ResetAfter: math.MaxInt64},
			map[string]string{"RateLimit-Policy": policy, "RateLimit": fmt.Sprintf(`"p";r=%d;t=9223372037`, min(uint64(math.MaxInt-1), maxInteger)), "Retry-After": "9223372037",
				"X-RateLimit-Limit": strconv.Itoa(math.MaxInt - 1), "X-RateLimit-Remaining": strconv.Itoa(math.MaxInt - 1), "X-RateLimit-Reset": "9223372037"}},
		{"negative numbers", HeadersBoth, weir.Decision{Policy: "p", Limit: -1, Remaining: -1, RetryAfter: -1, ResetAfter: -1},
			map[string]string{"RateLimit-Policy": policy, "RateLimit": `"p";r=0`, "Retry-After": "1",
				"X-RateLimit-Limit": "0", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			test.format.set(h, field, &test.d)
			want := http.Header{}
			for key, value := range test.want {
				want.Set(key, value)
			}
			require.Equal(t, want, h)
			readFields(t, h)
		})
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		0:                               "1", // nobody is told to come back at once
		1:                               "1",
		time.Second - 1:                 "1",
		time.Second:                     "1",
		time.Second + 1:                 "2",
		36*time.Hour + time.Millisecond: "129601",
		weir.Never - 1:                  "9223372037",
		weir.Never:                      "",
		math.MaxInt64 / 2:               "4611686019",
	} {
		h := http.Header{}
		HeadersStandard.set(h, "", &weir.Decision{RetryAfter: wait})
		require.Equal(t, want, h.Get("Retry-After"), wait)
	}
}

// Two middlewares around one handler: the client is told of both.
func TestSetBesideAnother(t *testing.T) {
	t.Parallel()
	outer := newPolicyField([]weir.Policy{weir.TokenBucket(weir.PerSecond(100)).Named("all")})
	inner := newPolicyField([]weir.Policy{weir.TokenBucket(weir.PerSecond(5)).Named("login")})
	all := weir.Decision{Allowed: true, Policy: "all", Limit: 100, Remaining: 3, ResetAfter: time.Second}
	login := weir.Decision{Allowed: true, Policy: "login", Limit: 5, Remaining: 4, ResetAfter: time.Second}

	h := http.Header{}
	HeadersBoth.set(h, outer, &all)
	HeadersBoth.set(h, inner, &login)
	require.Equal(t, http.Header{
		"Ratelimit-Policy":      {`"all";q=100;w=1`, `"login";q=5;w=1`},
		"Ratelimit":             {`"all";r=3;t=1`, `"login";r=4;t=1`},
		"X-Ratelimit-Limit":     {"100"},
		"X-Ratelimit-Remaining": {"3"},
		"X-Ratelimit-Reset":     {"1"},
	}, h)
	policies, limits := readFields(t, h)
	require.Len(t, policies, 2)
	require.Len(t, limits, 2)

	login.Allowed, login.Remaining, login.RetryAfter = false, 4, time.Minute
	HeadersBoth.set(h, inner, &login)
	require.Equal(t, "5", h.Get("X-RateLimit-Limit"), "a denial says why")
	require.Equal(t, "60", h.Get("Retry-After"))
	require.Len(t, h["Ratelimit-Policy"], 2, "the same policies are not listed again")

	h = http.Header{}
	HeadersStandard.set(h, outer, &all)
	h["Ratelimit-Policy"][0], h["Ratelimit"] = "changed", append(h["Ratelimit"], "added")
	other := http.Header{}
	HeadersStandard.set(other, outer, &all)
	require.Equal(t, []string{`"all";q=100;w=1`}, other["Ratelimit-Policy"], "a response has its values for itself")
	require.Len(t, h["Ratelimit-Policy"], 1)
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`plain name`:    `"plain name"`,
		`say "hi"`:      `"say \"hi\""`,
		`C:\limits`:     `"C:\\limits"`,
		`für alle`:      `"f%C3%BCr alle"`,
		"a\r\nB: c":     `"a%0D%0AB: c"`,
		"tab\t\x00\x7f": `"tab%09%00%7F"`,
		"\xff\xfe":      `"%FF%FE"`,
		`100%`:          `"100%25"`,
		`%C3%BC`:        `"%25C3%25BC"`,
		`a,b;c=d`:       `"a,b;c=d"`,
	} {
		require.Equal(t, want, string(appendString(nil, name)))
		checkName(t, name)
	}
}

// checkName writes the fields of a policy of that name, and reads it back.
func checkName(t *testing.T, name string) {
	t.Helper()
	policy := weir.TokenBucket(weir.PerMinute(100)).Named(name)
	h := http.Header{}
	d := weir.New(policy, weir.WithClock(weir.NewManualClock())).Take(1)
	HeadersStandard.set(h, newPolicyField([]weir.Policy{policy, policy}), &d)
	policies, limits := readFields(t, h)
	require.Equal(t, []sfItem{{policies[0].name, map[string]int64{"q": 100, "w": 60}}}, policies)
	require.Equal(t, []sfItem{{policies[0].name, map[string]int64{"r": 99, "t": 1}}}, limits)
	back, err := url.PathUnescape(policies[0].name)
	require.NoError(t, err)
	require.Equal(t, policy.Name(), back)
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "burst", `"\`, "ü", "\r\n", "%zz", "\xff", "a,b;r=1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) { checkName(t, name) })
}

func TestSetAllocates(t *testing.T) {
	field := newPolicyField([]weir.Policy{weir.TokenBucket(weir.PerMinute(100)).Named("burst"), weir.FixedWindow(weir.PerDay(1000)).Named("daily")})
	allowed := weir.Decision{Allowed: true, Policy: "burst", Limit: 100, Remaining: 50, ResetAfter: 30 * time.Second}
	denied := weir.Decision{Policy: "burst", Limit: 100, RetryAfter: 300 * time.Second, ResetAfter: 1000 * time.Second}
	for _, test := range []struct {
		name   string
		format HeaderFormat
		d      weir.Decision
		most   float64
	}{
		{"standard", HeadersStandard, allowed, 2},
		{"X-RateLimit", HeadersXRateLimit, allowed, 2},
		{"both", HeadersBoth, allowed, 2},
		{"Retry-After only", HeadersRetryAfterOnly, allowed, 0},
		{"standard, denied", HeadersStandard, denied, 4},
		{"Retry-After only, denied", HeadersRetryAfterOnly, denied, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := make(http.Header, 8)
			require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
				clear(h)
				test.format.set(h, field, &test.d)
			}), test.most)
		})
	}
}
