package weir_test

import (
	"encoding/json"
	"flag"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]weir.Limit{
		"100/s":                                  weir.PerSecond(100),
		"100/sec":                                weir.PerSecond(100),
		"100/second":                             weir.PerSecond(100),
		"60/m":                                   weir.PerMinute(60),
		"60/min":                                 weir.PerMinute(60),
		"60/minute":                              weir.PerMinute(60),
		"1000/h":                                 weir.PerHour(1000),
		"1000/hour":                              weir.PerHour(1000),
		"7/d":                                    weir.PerDay(7),
		"7/day":                                  weir.PerDay(7),
		"3/ms":                                   weir.Per(3, time.Millisecond),
		"3/us":                                   weir.Per(3, time.Microsecond),
		"3/\u00b5s":                              weir.Per(3, time.Microsecond),
		"3/\u03bcs":                              weir.Per(3, time.Microsecond),
		"3/ns":                                   weir.Per(3, time.Nanosecond),
		"5/10s":                                  weir.Per(5, 10*time.Second),
		"5/1s":                                   weir.PerSecond(5),
		"5/1h30m":                                weir.Per(5, 90*time.Minute),
		"5/30m1h":                                weir.Per(5, 90*time.Minute),
		"5/90min":                                weir.Per(5, 90*time.Minute),
		"5/14d":                                  weir.Per(5, 14*24*time.Hour),
		"1/10592d6h":                             weir.Every(29 * year),
		"1/1d1h1m1s1ms1us1ns":                    weir.Every(25*time.Hour + time.Minute + time.Second + 1001001),
		"5/00000000000000001s":                   weir.PerSecond(5),
		"007/s":                                  weir.PerSecond(7),
		"1000/h burst 50":                        weir.PerHour(1000).WithBurst(50),
		"20/100ms burst 100":                     weir.Per(20, 100*time.Millisecond).WithBurst(100),
		"20/100ms burst 20":                      weir.Per(20, 100*time.Millisecond),
		"5/s burst 0":                            weir.PerSecond(5).WithBurst(0),
		"0/s":                                    weir.PerSecond(0),
		"0/s burst 5":                            weir.PerSecond(0).WithBurst(5),
		"0":                                      {},
		"unlimited":                              weir.Unlimited(),
		"\t 5\n/ 1 h\r\n30 m burst\n7 ":          weir.Per(5, 90*time.Minute).WithBurst(7),
		"5/10s burst20":                          weir.Per(5, 10*time.Second).WithBurst(20),
		"2147483647/s":                           weir.PerSecond(math.MaxInt32),
		strconv.Itoa(math.MaxInt) + "/d burst 1": weir.PerDay(math.MaxInt).WithBurst(1),
	} {
		l, err := weir.ParseLimit(text)
		require.NoError(t, err)
		require.Equal(t, want, l, "%q", text)
		require.Equal(t, want, weir.MustParseLimit(text))
	}
}

func TestParsePolicy(t *testing.T) {
	ten, hourly := weir.TokenBucket(weir.PerSecond(10).WithBurst(20)), weir.SlidingWindow(weir.PerHour(1000)).Named("hourly")
	for text, want := range map[string]weir.Policy{
		"100/s":                      weir.TokenBucket(weir.PerSecond(100)),
		"0":                          weir.TokenBucket(weir.Limit{}),
		"unlimited":                  weir.TokenBucket(weir.Unlimited()),
		`10/s burst 20 as "ten"`:     ten.Named("ten"),
		"token-bucket 10/s burst 20": ten,
		"leaky-bucket 5/s":           weir.LeakyBucket(weir.PerSecond(5), 0),
		"leaky-bucket 5/s queue 0":   weir.LeakyBucket(weir.PerSecond(5), 0),
		"leaky-bucket 5/s queue 10":  weir.LeakyBucket(weir.PerSecond(5), 10),
		"leaky-bucket unlimited queue 1 as `a\\nb`": weir.LeakyBucket(weir.Unlimited(), 1).Named(`a\nb`),
		"leaky-bucket 5/s burst 0 queue 2":          weir.LeakyBucket(weir.PerSecond(5).WithBurst(0), 2),
		"fixed-window 5/10s":                        weir.FixedWindow(weir.Per(5, 10*time.Second)),
		"fixed-window 5/10s burst 5":                weir.FixedWindow(weir.Per(5, 10*time.Second)),
		"sliding-window 1000/h":                     weir.SlidingWindow(weir.PerHour(1000)),
		"sliding-window 1000/h burst 0":             weir.SlidingWindow(weir.PerHour(1000).WithBurst(0)),
		"sliding-counter 60/m":                      weir.SlidingCounter(weir.PerMinute(60)),
		"sliding-counter 0":                         weir.SlidingCounter(weir.Limit{}),
		"burst-reserve(100/s, 5/s burst 50)":        weir.BurstReserve(weir.PerSecond(100), weir.PerSecond(5).WithBurst(50)),
		`burst-reserve(0,unlimited)as"\xff\u2028"`:  weir.BurstReserve(weir.Limit{}, weir.Unlimited()).Named("\xff\u2028"),
		"all(0)": weir.All(weir.TokenBucket(weir.Limit{})),
		"all(10/s burst 20,sliding-window 1000/h as\"hourly\")":                                             weir.All(ten, hourly),
		" all\n(\n\ttoken-bucket 10 / s burst 20 ,\n\tsliding-window 1000/h as \"hourly\"\n) as \"both\"\n": weir.All(ten, hourly).Named("both"),
		`first-of(all(10/s burst 20 as "a, b)") as "c", unlimited, 0, all(0))`: weir.FirstOf(
			weir.All(ten.Named("a, b)")).Named("c"),
			weir.TokenBucket(weir.Unlimited()), weir.TokenBucket(weir.Limit{}), weir.All(weir.TokenBucket(weir.Limit{}))),
	} {
		p, err := weir.ParsePolicy(text)
		require.NoError(t, err)
		require.True(t, want.Equal(p), "%q: %v", text, p)
		require.Equal(t, want.String(), p.String())
		require.Equal(t, want.Name(), p.Name())
		require.True(t, want.Equal(weir.MustParsePolicy(text)))
		clock := weir.WithClock(weir.NewManualClock())
		require.Equal(t, weir.New(want, clock).Take(1), weir.New(p, clock).Take(1), "it decides alike, under the same name")
	}
}

func TestMustParsePanicsWithTheError(t *testing.T) {
	_, err := weir.ParseLimit("5/fortnight")
	require.Equal(t, err.Error(), panicText(t, func() { weir.MustParseLimit("5/fortnight") }))
	_, err = weir.ParsePolicy("all()")
	require.Equal(t, err.Error(), panicText(t, func() { weir.MustParsePolicy("all()") }))
}

// requireInverse wants what String writes of p to be read as p.
func requireInverse(t testing.TB, p weir.Policy) {
	t.Helper()
	text, err := p.MarshalText()
	require.NoError(t, err, "%v", p)
	require.Equal(t, p.String(), string(text))
	read, err := weir.ParsePolicy(p.String())
	require.NoError(t, err)
	require.True(t, p.Equal(read), "%v read as %v", p, read)
	require.Equal(t, p.String(), read.String())
	require.Equal(t, p.Name(), read.Name())
	if l, ok := p.Limit(); ok {
		again, err := weir.ParseLimit(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
	}
}

func TestParseIsTheInverseOfString(t *testing.T) {
	limits := append([]weir.Limit{
		{}, weir.Unlimited(), weir.PerSecond(0), weir.PerSecond(5).WithBurst(0), weir.PerDay(0).WithBurst(math.MaxInt),
		weir.PerDay(math.MaxInt).WithBurst(1), weir.PerSecond(math.MaxInt32).WithBurst(math.MaxInt32),
		weir.Every(25*time.Hour + 61*time.Second + 1001001), weir.Every(time.Millisecond), weir.Per(7, time.Microsecond),
		weir.Every(time.Duration(30 * 365.25 * 24 * float64(time.Hour))),
	}, awkward...)
	a, b := weir.TokenBucket(weir.PerSecond(5)), weir.SlidingWindow(weir.PerHour(3))
	policies := []weir.Policy{
		weir.LeakyBucket(weir.PerSecond(5), math.MaxInt), weir.All(a), weir.All(weir.All(a)).Named("outer"), weir.FirstOf(b.Named("in"), a),
		weir.BurstReserve(weir.PerSecond(5), weir.PerHour(1)).Named("br"), weir.All(weir.BurstReserve(weir.Limit{}, weir.Unlimited()), a),
		weir.FirstOf(a, a).Named("burst-reserve(5/s, 5/s)"), weir.BurstReserve(weir.PerSecond(5), weir.PerSecond(5)).Named("x").Named(""),
		weir.BurstReserve(weir.PerSecond(5), weir.PerSecond(5)).Named(weir.FirstOf(a, a).String()), a.Named(a.String()), b.Named(a.String()),
	}
	for _, l := range limits {
		policies = append(policies, everyAlgorithmThatTakes(l)...)
	}
	for _, name := range []string{
		" ", "a\nb\tc\r", `say "hi"`, "`", `\`, "\x00\x7f\x80\xff", "é日本\u2028\ufffd\U0010ffff", "a as \"b\"", "), (", strings.Repeat("long ", 1000),
	} {
		policies = append(policies, a.Named(name), weir.All(b.Named(name), a).Named(name+"!"), weir.BurstReserve(weir.PerSecond(1), weir.PerDay(1)).Named(name))
	}
	for _, p := range policies {
		requireInverse(t, p)
	}
}

func everyAlgorithmThatTakes(l weir.Limit) (policies []weir.Policy) {
	for _, p := range everyAlgorithm(l) {
		if p.Validate() == nil {
			policies = append(policies, p)
		}
	}
	return policies
}

func TestParseIsTheInverseOfStringOfRandomPolicies(t *testing.T) {
	for seed := range uint64(3000) {
		c := randomly(seed)
		p := choosePolicy(c, 4)
		if c.oneIn(3) {
			name := make([]byte, 1+c(6))
			for i := range name {
				name[i] = byte(c(256))
			}
			p = p.Named(string(name))
		}
		if l := weir.Per(int(c(math.MaxInt32)), time.Duration(1+c(int64(30*year)))); l.Validate() == nil {
			p = weir.All(p, weir.TokenBucket(l))
		}
		requireInverse(t, p)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestLimitsAndPoliciesInJSON(t *testing.T) {
	type config struct {
		Login weir.Limit            `json:"login"`
		API   weir.Policy           `json:"api"`
		Other weir.Policy           `json:"other,omitzero"`
		Plans map[string]weir.Limit `json:"plans"`
		Names map[weir.Limit]string `json:"names"`
	}
	in := config{
		Login: weir.Per(5, 10*time.Second),
		API:   weir.All(weir.TokenBucket(weir.PerSecond(10)), weir.SlidingWindow(weir.PerHour(1000)).Named("hourly")),
		Plans: map[string]weir.Limit{"free": weir.PerHour(60), "own": weir.Unlimited(), "blocked": {}},
		Names: map[weir.Limit]string{weir.PerHour(60): "free"},
	}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"login": "5/10s",
		"api": "all(token-bucket 10/s, sliding-window 1000/h as \"hourly\")",
		"plans": {"free": "60/h", "own": "unlimited", "blocked": "0"},
		"names": {"60/h": "free"}
	}`, string(text))
	var out config
	require.NoError(t, json.Unmarshal(text, &out))
	require.Equal(t, in.Login, out.Login)
	require.True(t, in.API.Equal(out.API))
	require.True(t, out.Other.Equal(weir.Policy{}))
	require.Equal(t, in.Plans, out.Plans)
	require.Equal(t, in.Names, out.Names)
}

func TestUnmarshalTextLeavesItsReceiverOnAnError(t *testing.T) {
	l, p := weir.PerSecond(7), weir.TokenBucket(weir.PerSecond(7)).Named("seven")
	was := p
	require.EqualError(t, l.UnmarshalText([]byte("5/x")), `weir: limit "5/x" at 3: unknown period "x": it is s, m, h, d or a duration such as 1h30m`)
	require.EqualError(t, p.UnmarshalText([]byte("all(5/s")), `weir: policy "all(5/s" at 8: expected "burst", "as", "," or ")", found the end; the "(" at 4 is not closed`)
	require.Equal(t, weir.PerSecond(7), l)
	require.True(t, was.Equal(p))

	require.NoError(t, l.UnmarshalText([]byte("0")))
	require.NoError(t, p.UnmarshalText([]byte("0")))
	require.Equal(t, weir.Limit{}, l)
	require.True(t, weir.TokenBucket(weir.Limit{}).Equal(p))
	require.Equal(t, "seven", was.Name())
}

func TestMarshalTextRefusesWhatIsInvalid(t *testing.T) {
	_, err := weir.PerSecond(-5).MarshalText()
	require.EqualError(t, err, weir.PerSecond(-5).Validate().Error())
	for _, p := range []weir.Policy{{}, weir.All(), weir.TokenBucket(weir.PerSecond(-5)), weir.SlidingWindow(weir.PerSecond(5).WithBurst(3))} {
		_, err := p.MarshalText()
		require.EqualError(t, err, p.Validate().Error())
	}
	_, err = json.Marshal(weir.Policy{})
	require.Error(t, err)
}

func TestFlags(t *testing.T) {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var l weir.Limit
	var p weir.Policy
	flags.TextVar(&l, "limit", weir.PerSecond(100), "each client")
	flags.TextVar(&p, "policy", weir.TokenBucket(weir.PerSecond(100)), "all clients")
	require.Equal(t, "100/s", flags.Lookup("limit").DefValue)
	require.Equal(t, "token-bucket 100/s", flags.Lookup("policy").DefValue)
	flags.PrintDefaults()

	require.NoError(t, flags.Parse([]string{"-limit", "5/10s burst 20"}))
	require.Equal(t, weir.Per(5, 10*time.Second).WithBurst(20), l)
	require.Equal(t, "token-bucket 100/s", p.String())
	require.ErrorContains(t, flags.Parse([]string{"-policy", "token_bucket 5/s"}), `try "token-bucket"`)
	require.NoError(t, flags.Parse([]string{"-policy", "sliding-window 5/m"}))
	require.Equal(t, "sliding-window 5/m", p.String())
	require.Equal(t, "sliding-window 5/m", flags.Lookup("policy").Value.String())
}

func TestParseLimitDoesNotAllocate(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := weir.ParseLimit("5/1h30m burst 20"); err != nil {
			t.Fatal(err)
		}
	}))
}
