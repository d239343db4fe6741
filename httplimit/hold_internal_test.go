package httplimit

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

type answerWith func(*http.Request) (*http.Response, error)

func (f answerWith) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func visitHost(t *testing.T, transport *Transport, name string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+name+"/", nil)
	require.NoError(t, err)
	_, err = transport.RoundTrip(r)
	require.NoError(t, err)
}

func TestAHostThatAsksForNothingIsForgotten(t *testing.T) {
	for _, header := range []http.Header{
		{}, {"Retry-After": {"7"}}, {"Ratelimit": {`"a";r=0`}}, {"Ratelimit": {`"a";r=0;t=0`}}, {"Ratelimit": {`"a";r=0;t=9,`}},
	} {
		var transport Transport
		transport.Base = answerWith(func(*http.Request) (*http.Response, error) {
			require.Len(t, transport.table.hosts, 1, "it is under way")
			return &http.Response{StatusCode: 200, Header: header, Body: http.NoBody}, nil
		})
		for i := range 100 {
			visitHost(t, &transport, fmt.Sprint(i, ".example"))
			require.Empty(t, transport.table.hosts)
		}
	}
}

// A crawler's hosts each ask for a second; a hundred are visited in one.
func TestHostsOfWhichNothingHoldsAreForgotten(t *testing.T) {
	for _, header := range []http.Header{{"Retry-After": {"1"}}, {"Ratelimit": {`"a";r=5;t=1`}}} {
		synctest.Test(t, func(t *testing.T) {
			transport := &Transport{Base: answerWith(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 503, Header: header, Body: http.NoBody}, nil
			})}
			most := 0
			for i := range 20_000 {
				visitHost(t, transport, fmt.Sprint(i, ".example"))
				most = max(most, len(transport.table.hosts))
				time.Sleep(10 * time.Millisecond)
			}
			require.LessOrEqual(t, most, 2*(100+1))
			time.Sleep(time.Second)
			transport.table.sweep(time.Now())
			require.Empty(t, transport.table.hosts)
		})
	}
}

// No more quotas are kept than matter, whatever a host answers.
func TestQuotasThatANewerOneReplacesAreForgotten(t *testing.T) {
	var h hold
	now := time.Now()
	for i := range 1000 {
		v := new(visit)
		h.send(v, now)
		h.learn(v.sent, ask{serviceLimit: serviceLimit{left: int64(i * 7919 % 1000), within: time.Hour}}, now)
		require.Len(t, h.quotas, 1)
	}
	var together [1000]visit
	for i := range together {
		h.send(&together[i], now)
	}
	for i := range together { // in turn tighter
		h.learn(together[i].sent, ask{serviceLimit: serviceLimit{left: int64(1000 - i), within: time.Hour}}, now)
		require.LessOrEqual(t, len(h.quotas), 2)
	}
	h.lapse(false, now.Add(time.Hour))
	require.Empty(t, h.quotas)
}

// Everything that has ended is gone from a host that is never idle.
func TestABusyHostKeepsNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		transport := &Transport{}
		transport.Base = answerWith(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/slow" {
				<-answers
			}
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: http.NoBody}, nil
		})
		defer close(answers)
		go visitHost(t, transport, "a.example/slow#")
		synctest.Wait()
		for range 100 {
			visitHost(t, transport, "a.example")
		}
		h := transport.table.hosts["a.example:80"]
		require.Equal(t, 1, h.inFlight)
		require.Zero(t, h.turning)
		require.Empty(t, h.queue)
		require.Empty(t, h.quotas)
		require.Nil(t, h.first)
		require.Nil(t, h.timer, "nobody waits")
	})
}

// valid and malformed bare items, by RFC 9651, section 3.3.
var (
	bareItems = []string{
		`0`, `-0`, `007`, `-999999999999999`, `1.0`, `-123456789012.123`, `""`, `"a\"b\\c ~"`, `a`, `*a`, `A1:/!#$%&'*+-.^_|~` + "`",
		`::`, `:aGk=:`, `:a+/:`, `?0`, `?1`, `@0`, `@-1659578233`, `%""`, `%"f%c3%bc!"`, `%"\"`,
	}
	notBareItems = []string{
		``, `-`, `--1`, `+1`, `1.`, `.1`, `1.1234`, `1234567890123.1`, `1000000000000000`, `1e3`, `"`, `"a`, `"\`, `"\a"`, `"ü"`, "\"\t\"", "\"\x7f\"", `'a'`,
		`:`, `:a`, `:a-b:`, `?`, `?2`, `?true`, `@`, `@1.5`, `@a`, `%`, `%a`, `%"`, `%"%"`, `%"%c"`, `%"%C3%BC"`, `%"%c3"`, `%"ü"`, `()`, `(a b)`, `ü`, `a b`, `a;`, `a;B`, `a;b=`, `a;=b`, `a;1`,
	}
)

func TestReadRateLimitReadsEveryTypeOfItem(t *testing.T) {
	t.Parallel()
	nine := serviceLimit{left: 5, within: 9 * time.Second, spare: true}
	for _, item := range bareItems {
		for _, line := range []string{
			item + `;r=5;t=9`, `"a";r=5;t=9;x=` + item, `"a";r=5;x=` + item + `;t=9`, `  "a"; x=` + item + `;  r=5;t=9  `,
			`"b";r=6;x=` + item + ` ,` + "\t" + `"a";t=9;r=5`, `"a";r=` + item + `;r=5;t=9`, `"a";r=5;t=` + item + `;t=9`,
		} {
			require.Equal(t, nine, readRateLimit([]string{line}), line)
		}
	}
	for _, item := range notBareItems {
		for _, line := range []string{item + `;r=5;t=9`, `"a";r=5;t=9;x=` + item, `"a";r=5;t=9,` + item, item + `,"a";r=5;t=9`} {
			require.Zero(t, readRateLimit([]string{line}), line)
			require.Zero(t, readRateLimit([]string{`"b";r=1;t=1`, line}), line)
		}
	}
	for _, line := range []string{
		`"a";r=5;t=9,`, `,"a";r=5;t=9`, `"a";r=5;t=9 "b";r=5`, `"a" ;r=5;t=9`, `"a";r =5`, `"a";r= 5`, "\"a\";\tr=5", `"a"`, `"a";r`, `"a";r=5;t`, `"a";r=?1`,
		`"a";r=5.0;t=9`, `"a";r=5;t=9.0`, `"a";r="5"`, `"a";r=@5`, `"a";R=5`, `"a";r=-1;t=9`, `"a";r=5;t=-9`, `"a";r=5;t=9` + "\n", "\t" + `"a";r=5;t=9`,
	} {
		require.Zero(t, readRateLimit([]string{line}), line)
	}
	require.Zero(t, readRateLimit(nil))
}

func TestReadRateLimitTakesTheTightest(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]serviceLimit{
		`"a";r=5;t=9,"b";r=4;t=3,"c";r=7;t=1`:     {4, 3 * time.Second, true},
		`"a";r=5;t=9,"b";r=5;t=10,"c";r=5;t=1`:    {5, 10 * time.Second, true},
		`"a";r=5;t=9,"b";r=4`:                     {5, 9 * time.Second, true},
		`"a";r=5;t=9,"b";r=0`:                     {5, 9 * time.Second, false},
		`"a";r=0;t=0`:                             {0, 0, false},
		`"a";r=5`:                                 {0, 0, true},
		`"a";r=999999999999999;t=999999999999999`: {maxInteger, maxHold, true},
		`"a";r=1;t=86400`:                         {1, maxHold, true},
		`"a";r=1;t=86401`:                         {1, maxHold, true},
	} {
		require.Equal(t, want, readRateLimit([]string{line}), line)
		require.Equal(t, want, readRateLimit(strings.Split(line, ",")), line)
	}
}

// The reader reads what the writer writes.
func TestReadRateLimitReadsOurFields(t *testing.T) {
	t.Parallel()
	for _, d := range []weir.Decision{
		{Policy: "a", Limit: 10, Remaining: 3, Allowed: true, ResetAfter: 1500 * time.Millisecond},
		{Policy: "a;r=0,\"\\ü%\n", Limit: 10, Remaining: 3, Allowed: true, ResetAfter: 1500 * time.Millisecond},
		{Policy: "a", Limit: math.MaxInt - 1, Remaining: 3, Allowed: true, ResetAfter: 1500 * time.Millisecond},
	} {
		h := http.Header{}
		HeadersStandard.Set(h, d)
		require.Equal(t, serviceLimit{3, 2 * time.Second, true}, readRateLimit(h.Values("RateLimit")), h)
		HeadersStandard.Set(h, weir.Decision{Policy: "b", Limit: 2, RetryAfter: time.Minute})
		require.Equal(t, serviceLimit{0, time.Minute, false}, readRateLimit(h.Values("RateLimit")), h)
		require.Equal(t, ask{refused: true, stay: time.Minute}, readAsk(&http.Response{StatusCode: 429, Header: h}, time.Now()))
	}
}
