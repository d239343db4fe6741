package httplimit_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestWhatAnAnswerHoldsBack(t *testing.T) {
	t.Parallel()
	date := func(d time.Duration) string { // from when a bubble begins
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
	}
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		status int
		fields []string
		want   time.Duration
	}{
		"seconds":                  {429, []string{"Retry-After", "7"}, 7 * sec},
		"503":                      {503, []string{"Retry-After", "7"}, 7 * sec},
		"zeros":                    {429, []string{"Retry-After", "007"}, 7 * sec},
		"no seconds":               {429, []string{"Retry-After", "0"}, 0},
		"any number of digits":     {429, []string{"Retry-After", strings.Repeat("9", 1000)}, day},
		"64 bits":                  {429, []string{"Retry-After", "18446744073709551617"}, day},
		"a date":                   {429, []string{"Retry-After", date(90 * sec)}, 90 * sec},
		"RFC 850":                  {429, []string{"Retry-After", "Saturday, 01-Jan-00 00:01:30 GMT"}, 90 * sec},
		"asctime":                  {429, []string{"Retry-After", "Sat Jan  1 00:01:30 2000"}, 90 * sec},
		"a date on another clock":  {503, []string{"Retry-After", date(day + 5*sec), "Date", date(day)}, 5 * sec},
		"a Date that is none":      {503, []string{"Retry-After", date(5 * sec), "Date", "today"}, 5 * sec},
		"a past date":              {429, []string{"Retry-After", date(-5 * sec)}, 0},
		"before its Date":          {429, []string{"Retry-After", date(5 * sec), "Date", date(6 * sec)}, 0},
		"a date in 9999":           {429, []string{"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", "Mon, 01 Jan 0001 00:00:00 GMT"}, day},
		"negative":                 {503, []string{"Retry-After", "-7"}, 0},
		"a sign":                   {503, []string{"Retry-After", "+7"}, 0},
		"a fraction":               {503, []string{"Retry-After", "7.5"}, 0},
		"words":                    {503, []string{"Retry-After", "soon"}, 0},
		"503 alone":                {503, nil, 0},
		"a redirect":               {302, []string{"Retry-After", "7"}, 0},
		"another error":            {500, []string{"Retry-After", "7"}, 0},
		"429 alone":                {429, nil, sec},
		"429, malformed":           {429, []string{"Retry-After", "soon", "RateLimit", "a,"}, sec},
		"429, nothing for unknown": {429, []string{"RateLimit", `"a";r=0`}, sec},
		"429 beside unknown":       {429, []string{"RateLimit", `"a";r=0,"b";r=3;t=9`}, sec},
		"429 with something left":  {429, []string{"RateLimit", `"a";r=3;t=9`}, 0},
		"429 with no window":       {429, []string{"RateLimit", `"a";r=3`}, 0},
		"nothing left":             {200, []string{"RateLimit", `"a";r=0;t=9`}, 9 * sec},
		"nothing left, refused":    {429, []string{"RateLimit", `"a";r=0;t=9`}, 9 * sec},
		"nothing left, redirected": {301, []string{"RateLimit", `"a";r=0;t=9`}, 9 * sec},
		"something left":           {200, []string{"RateLimit", `"a";r=1;t=9`}, 0},
		"the tightest":             {200, []string{"RateLimit", `"a";r=1;t=99,"b";r=0;t=9, "c";r=0;t=7`}, 9 * sec},
		"of all lines":             {200, []string{"RateLimit", `"a";r=1;t=99`, "RateLimit", `"b";r=0;t=9`}, 9 * sec},
		"without t":                {200, []string{"RateLimit", `"a";r=0`}, 0},
		"no time":                  {200, []string{"RateLimit", `"a";r=0;t=0`}, 0},
		"15 digits":                {200, []string{"RateLimit", `"a";r=0;t=999999999999999`}, day},
		"16 digits":                {200, []string{"RateLimit", `"a";r=0;t=1000000000000000`}, 0},
		"a negative t":             {200, []string{"RateLimit", `"a";r=0;t=-1`}, 0},
		"a negative r":             {200, []string{"RateLimit", `"a";r=-1;t=9`}, 0},
		"a decimal":                {200, []string{"RateLimit", `"a";r=0;t=9.5`}, 0},
		"a token":                  {200, []string{"RateLimit", `"a";r=none;t=9`}, 0},
		"without r":                {200, []string{"RateLimit", `"a";t=9`}, 0},
		"one is malformed":         {200, []string{"RateLimit", `"a";r=0;t=9`, "RateLimit", `"b";r=x;t=9`}, 0},
		"a trailing comma":         {200, []string{"RateLimit", `"a";r=0;t=9,`}, 0},
		"an older draft":           {200, []string{"RateLimit", `limit=100, remaining=0, reset=9`}, 0},
		"other parameters":         {200, []string{"RateLimit", `"a";r=0;pk=:cHsdsRa894==:;t=9;x-y;z=%"a"`}, 9 * sec},
		"a cached answer":          {200, []string{"RateLimit", `"a";r=0;t=9`, "Age", "12"}, 0},
		"a fresh answer":           {200, []string{"RateLimit", `"a";r=0;t=9`, "Age", "0"}, 9 * sec},
		"Retry-After goes first":   {429, []string{"Retry-After", "3", "RateLimit", `"a";r=0;t=9`}, 3 * sec},
		"even if it is 0":          {503, []string{"Retry-After", "0", "RateLimit", `"a";r=0;t=9`}, 0},
		"where it applies":         {200, []string{"Retry-After", "3", "RateLimit", `"a";r=0;t=9`}, 9 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := newFakeHost(t, replies(just(test.status, test.fields...)))
				transport := &httplimit.Transport{Base: host, MaxWait: day}
				requireStatus(t, test.status, transport, hostA)
				require.Equal(t, test.want, transport.Held("a.example:80"))
				requireStatus(t, 200, transport, hostA)
				host.requireCame(0, test.want)
			})
		})
	}
}

func TestAHoldIsForItsHostOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "9")))
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 429, transport, hostA)
		requireStatus(t, 200, transport, hostB)
		requireStatus(t, 200, transport, "https://a.example/") // another port
		host.requireCame(0, 0, 0)
		requireStatus(t, 200, transport, "http://A.example.:80/")
		host.requireCame(0, 0, 0, 9*sec)
	})
}

func TestRefusalsWithoutATimeHoldLongerEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			if n < 9 {
				return reply(429)
			}
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host, Retries: 99, MaxWait: time.Hour}
		requireStatus(t, 200, transport, hostA)
		host.requireCame(0, 1*sec, 3*sec, 7*sec, 15*sec, 31*sec, 63*sec, 123*sec, 183*sec, 243*sec)
	})
}

func TestAGoodAnswerEndsTheDoubling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func() (*http.Response, error) { time.Sleep(time.Hour); return reply(200) } // so that the host is not forgotten
		host := newFakeHost(t, replies(slow, just(429), just(429), just(200), just(429)))
		transport := &httplimit.Transport{Base: host, Retries: 2}
		done := askAtOnce(t, transport, hostA, 1)
		requireStatus(t, 200, transport, hostA)
		requireStatus(t, 200, transport, hostA)
		host.requireCame(0, 0, sec, 3*sec, 3*sec, 4*sec)
		done()
	})
}

// Of refusals of what was under way together, one counts.
func TestRefusalsTogetherHoldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			time.Sleep(sec + time.Duration(n)*time.Millisecond)
			if n < 20 {
				return reply(429)
			}
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		askAtOnce(t, transport, hostA, 20)()
		requireStatus(t, 200, transport, hostA)
		require.Equal(t, 2*sec, host.came[20])
	})
}

// Nothing is left behind: a bubble does not end while a goroutine runs.
func TestHeldTransportsRunNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := heldTransport(t)
		require.Equal(t, time.Hour, transport.Held("a.example:80"))
		time.Sleep(59 * time.Minute)
		require.Equal(t, time.Minute, transport.Held("a.example:80"))
		time.Sleep(time.Minute)
		require.Zero(t, transport.Held("a.example:80"))
		require.Zero(t, transport.Held("b.example:80"))
	})
}

// Who comes after a hold that nobody has waited for does not wait either.
func TestAHoldThatNobodyWaitedForIsForgotten(t *testing.T) {
	for name, fields := range map[string][]string{
		"Retry-After": {"Retry-After", "5"}, "RateLimit": {"RateLimit", `"a";r=0;t=5`}, "some left": {"RateLimit", `"a";r=3;t=5`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
					if n == 0 {
						return reply(503, fields...)
					}
					time.Sleep(sec)
					return reply(200)
				})
				transport := &httplimit.Transport{Base: host}
				requireStatus(t, 503, transport, hostA)
				time.Sleep(6 * sec)
				askAtOnce(t, transport, hostA, 3)()
				host.requireCame(0, 6*sec, 6*sec, 6*sec)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // nor while another is under way
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 1 {
				return reply(200, "RateLimit", `"a";r=3;t=5`)
			}
			time.Sleep(9 * sec)
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		slow := askAtOnce(t, transport, hostA, 1)
		requireStatus(t, 200, transport, hostA)
		time.Sleep(6 * sec)
		askAtOnce(t, transport, hostA, 3)()
		host.requireCame(0, 0, 6*sec, 6*sec, 6*sec)
		slow()
	})
}
