package load

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, h http.Handler) Options {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Options{Method: "GET", URL: s.URL, Header: http.Header{}, Rate: 500, For: 2500 * time.Millisecond, Client: s.Client()}
}

func TestAWeirKeepsItsPromise(t *testing.T) {
	limit := httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerSecond(10).WithBurst(5)).Named("address")))
	r := Run(context.Background(), serve(t, limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))))
	require.Equal(t, []Quota{{"address", 10, time.Second}}, r.Quotas)
	check := r.Check(r.Quotas[0])
	require.True(t, check.Kept(), "%+v", check)
	require.Positive(t, check.Admitted)
	require.Positive(t, r.Returns)
	require.Equal(t, r.Returns, r.Welcome)
	for i, a := range r.Answers[1:] {
		require.LessOrEqual(t, r.Answers[i].Sent, a.Sent)
		require.NoError(t, a.Err)
	}
}

func TestAServerThatAdmitsMoreThanItSaysIsCaught(t *testing.T) {
	o := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("RateLimit-Policy", `"a";q=1;w=60`) }))
	o.For = 500 * time.Millisecond
	r := Run(context.Background(), o)
	require.False(t, r.Check(r.Quotas[0]).Kept())
}

// After a denial nothing comes before its time, and then one request alone.
func TestRunStaysAwayForAsLongAsItIsTold(t *testing.T) {
	var asked atomic.Int64
	var denied, back atomic.Int64 // nanoseconds
	o := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n := asked.Add(1); {
		case n == 1:
			denied.Store(time.Now().UnixNano())
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case n == 2:
			back.Store(time.Now().UnixNano())
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	o.Rate = 1 // so that nothing is under way when the denial comes
	r := Run(context.Background(), o)
	require.GreaterOrEqual(t, back.Load()-denied.Load(), int64(time.Second))
	require.EqualValues(t, 2, asked.Load())
	require.Equal(t, 1, r.Returns)
	require.Zero(t, r.Welcome)
	require.Greater(t, r.Stopped, 59*time.Minute)
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	o := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	o.For = time.Hour
	require.NotEmpty(t, Run(ctx, o).Answers)
}

func TestWhatDoesNotAnswerIsAFailure(t *testing.T) {
	o := serve(t, http.NotFoundHandler())
	o.URL, o.For = "http://127.0.0.1:1/", 50*time.Millisecond
	r := Run(context.Background(), o)
	require.NotEmpty(t, r.Answers)
	require.Error(t, r.Answers[0].Err)
	require.Zero(t, r.mostWithin(time.Hour))
}

func TestQuotasAreReadAsTheDraftHasThem(t *testing.T) {
	quotas := func(lines ...string) []Quota { return readQuotas(http.Header{"Ratelimit-Policy": lines}) }
	minute := time.Minute
	require.Equal(t, []Quota{{"a b", 100, minute}, {"c", 5, time.Second}}, quotas(`"a b";q=100;w=60;pk=:YQ==:, "bytes";q=9;w=1;qu="content-bytes"`, `c;q=5;w=1;qu="requests"`))
	for _, bad := range []string{"", `"a`, `"a"`, `"a";q=1`, `"a";w=1`, `"a";q=0;w=1`, `"a";q=-1;w=1`, `"a";q=1.5;w=1`, `"a";q=1;w=999999999999999`, `("a");q=1;w=1`, `5;q=1;w=1`} {
		require.Empty(t, quotas(bad), bad)
	}
	require.Equal(t, []Quota{{"a", 7, minute}, {"b", 1, minute}}, merge([]Quota{{"a", 5, minute}}, []Quota{{"a", 7, minute}, {"b", 1, minute}, {"a", 6, minute}}))
}

func TestRetryAfterIsReadBothWays(t *testing.T) {
	now := time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "x": 0, "Sun, 17 May 2026 12:01:00 GMT": time.Minute, "Sun, 17 May 2026 11:00:00 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(http.Header{"Retry-After": {text}}, now), text)
	}
}

// What could have been admitted within the quota is not taken for more.
func TestCheckIsSureOfWhatItSays(t *testing.T) {
	second := time.Second
	q := Quota{"a", 2, second}
	answers := func(instants ...time.Duration) *Result {
		r := &Result{}
		for _, at := range instants {
			r.Answers = append(r.Answers, Answer{Sent: at, Received: at + second/10, Status: 200})
		}
		return r
	}
	c := answers(0, 0, second/2, second/2).Check(q)
	require.Equal(t, Check{q, second, 4, 4}, c, "two at the end of a window and two at the beginning of the next")
	c = answers(0, 0, second/2, second/2, second/2).Check(q)
	require.Equal(t, Check{q, second, 5, 4}, c)
	require.False(t, c.Kept())
	require.True(t, answers(0, 0, second/2, second/2, 19*second/20).Check(q).Kept(), "the last may have been admitted after a second")
	var often []time.Duration
	for i := range 100 {
		often = append(often, time.Duration(i)*second/3) // three a second is more than two
	}
	c = answers(often...).Check(q)
	require.False(t, c.Kept())
	require.Greater(t, c.Span, second, "which shows in the long run only")
	r := answers(0, 0, 0, 0, 0)
	r.Answers[0].Denied = true
	require.True(t, r.Check(q).Kept())
	require.True(t, (&Result{}).Check(q).Kept())
}
