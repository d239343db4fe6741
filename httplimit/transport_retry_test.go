package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	again := map[string]func(r *http.Request){
		"GET": nil, "HEAD": nil, "OPTIONS": nil, "TRACE": nil, "PUT": nil, "DELETE": nil,
		"":                        func(r *http.Request) { r.Method = "" },
		"POST with a key":         func(r *http.Request) { r.Header.Set("Idempotency-Key", "a") },
		"PATCH with an X- key":    func(r *http.Request) { r.Header.Set("X-Idempotency-Key", "a") },
		"POST with an unsent key": func(r *http.Request) { r.Header["Idempotency-Key"] = nil }, // as net/http has it
		"PUT without a body":      func(r *http.Request) { r.Body = http.NoBody },
	}
	once := map[string]func(r *http.Request){
		"POST": nil, "PATCH": nil, "CONNECT": nil, "get": nil,
		"PUT with a body":     func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("a")) },
		"POST without a body": func(r *http.Request) { r.Body = http.NoBody },
		"PUT that is gone": func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader("a"))
			r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("deleted") }
		},
	}
	for i, requests := range []map[string]func(r *http.Request){once, again} {
		for name, change := range requests {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					host := newFakeHost(t, replies(just(429, "Retry-After", "3"), just(503, "Retry-After", "2")))
					method, _, _ := strings.Cut(name, " ")
					r, err := http.NewRequestWithContext(t.Context(), method, hostA, nil)
					require.NoError(t, err)
					if change != nil {
						change(r)
					}
					resp, err := (&httplimit.Transport{Base: host, Retries: 2}).RoundTrip(r)
					require.NoError(t, err)
					if i == 0 {
						require.Equal(t, 429, resp.StatusCode)
						host.requireCame(0)
						return
					}
					require.Equal(t, 200, resp.StatusCode)
					host.requireCame(0, 3*sec, 5*sec)
				})
			})
		}
	}
}

func TestWhichAnswersAreRetried(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer func() (*http.Response, error)
		at     time.Duration // -1: not at all
	}{
		"429":                      {just(429, "Retry-After", "3"), 3 * sec},
		"at once":                  {just(429, "Retry-After", "0"), 0},
		"503":                      {just(503, "Retry-After", "3"), 3 * sec},
		"429 alone":                {just(429), sec},
		"nothing left":             {just(429, "RateLimit", `"a";r=0;t=7`), 7 * sec},
		"503 alone":                {just(503), -1},
		"503 with RateLimit":       {just(503, "RateLimit", `"a";r=0;t=7`), -1},
		"another error":            {just(500, "Retry-After", "3"), -1},
		"a redirect":               {just(302, "Retry-After", "3"), -1},
		"success":                  {just(202, "Retry-After", "3"), -1},
		"it is not the rate":       {just(429, "RateLimit", `"a";r=5`), -1},
		"longer than MaxWait":      {just(429, "Retry-After", "121"), -1},
		"longer than the deadline": {just(429, "Retry-After", "100"), -1},
		"an error":                 {func() (*http.Response, error) { return nil, errors.New("reset") }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var body *closeSpy
				host := newFakeHost(t, replies(func() (*http.Response, error) {
					resp, err := test.answer()
					if resp != nil {
						body = newCloseSpy("refused")
						resp.Body = body
					}
					return resp, err
				}))
				ctx := t.Context()
				if strings.HasSuffix(name, "deadline") {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, 100*sec)
					defer cancel()
				}
				resp, err := (&httplimit.Transport{Base: host, Retries: 1}).RoundTrip(newRequest(t, ctx, hostA))
				if test.at >= 0 {
					require.NoError(t, err)
					require.Equal(t, 200, resp.StatusCode)
					host.requireCame(0, test.at)
					require.True(t, body.isClosed())
					return
				}
				host.requireCame(0)
				require.Zero(t, time.Since(host.began), "it is told at once")
				if resp == nil {
					require.EqualError(t, err, "reset")
					return
				}
				require.False(t, body.isClosed())
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, "refused", string(text))
			})
		})
	}
}

func TestARefusalIsReturnedToWhoCannotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		host := newFakeHost(t, func(int, *http.Request) (*http.Response, error) {
			cancel()
			return reply(429, "Retry-After", "1")
		})
		resp, err := (&httplimit.Transport{Base: host, Retries: 1}).RoundTrip(newRequest(t, ctx, hostA))
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "body", string(text))
	})
}

func TestRetriesAreBounded(t *testing.T) {
	for retries, want := range map[int]int{-1: 1, 0: 1, 1: 2, 5: 6} {
		synctest.Test(t, func(t *testing.T) {
			host := newFakeHost(t, func(int, *http.Request) (*http.Response, error) { return reply(429, "Retry-After", "2") })
			requireStatus(t, 429, &httplimit.Transport{Base: host, Retries: retries}, hostA)
			require.Len(t, host.came, want)
		})
	}
	synctest.Test(t, func(t *testing.T) { // MaxWait is for all of them
		host := newFakeHost(t, func(int, *http.Request) (*http.Response, error) { return reply(429, "Retry-After", "25") })
		requireStatus(t, 429, &httplimit.Transport{Base: host, Retries: 99, MaxWait: time.Minute}, hostA)
		host.requireCame(0, 25*sec, 50*sec)
	})
}

func TestEachRetryBringsTheBodyAndTakesATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, r *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			require.Equal(t, "text", string(text))
			require.EqualValues(t, 4, r.ContentLength)
			if n < 3 {
				return reply(429, "Retry-After", "1")
			}
			return reply(200)
		})
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.Every(5 * sec)))
		defer hosts.Close()
		r, err := http.NewRequestWithContext(t.Context(), "PUT", hostA, strings.NewReader("text"))
		require.NoError(t, err)
		resp, err := (&httplimit.Transport{Base: host, Hosts: hosts, Retries: 3}).RoundTrip(r)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		host.requireCame(0, 5*sec, 10*sec, 15*sec)
	})
}

// The bodies that GetBody gives are closed like the first.
func TestNoBodyIsLeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []*closeSpy
		next := func() (io.ReadCloser, error) {
			bodies = append(bodies, newCloseSpy("text"))
			return bodies[len(bodies)-1], nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "PUT", hostA, nil)
		require.NoError(t, err)
		r.Body, _ = next()
		r.GetBody = next
		host := newFakeHost(t, func(int, *http.Request) (*http.Response, error) { return reply(429, "Retry-After", "4") })
		go func() { time.Sleep(6 * sec); cancel() }()
		_, err = (&httplimit.Transport{Base: host, Retries: 9}).RoundTrip(r)
		require.EqualError(t, err, "httplimit: a.example:80 holds requests back for 2s more: context canceled")
		require.Len(t, bodies, 3)
		for _, body := range bodies {
			require.True(t, body.isClosed())
		}
	})
}

// However long the body of a refusal is, no more than 64 KiB are read, for no more than a second.
func TestADrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &endlessBody{}
		host := newFakeHost(t, replies(func() (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: body}, nil
		}, func() (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}}, nil // has none
		}))
		requireStatus(t, 200, &httplimit.Transport{Base: host, Retries: 2}, hostA)
		require.LessOrEqual(t, body.read, 64<<10+1)
		require.True(t, body.closed)

		stuck, _ := io.Pipe()
		host = newFakeHost(t, replies(func() (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: stuck}, nil
		}))
		began := time.Now()
		requireStatus(t, 200, &httplimit.Transport{Base: host, Retries: 1}, hostA)
		require.Equal(t, time.Second, time.Since(began), "a body that does not come is not waited for any longer")
	})
}

type endlessBody struct {
	read   int
	closed bool
}

func (e *endlessBody) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }
func (e *endlessBody) Close() error               { e.closed = true; return nil }

// What was refused waits before those who came after it.
func TestARetryKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paths []string
		host := newFakeHost(t, func(n int, r *http.Request) (*http.Response, error) {
			paths = append(paths, r.URL.Path)
			time.Sleep(sec)
			if n < 2 {
				return reply(429, "Retry-After", "5")
			}
			return reply(200, "RateLimit", `"a";r=0;t=3`)
		})
		transport := &httplimit.Transport{Base: host, Retries: 9}
		first := askAtOnce(t, transport, hostA+"first", 1)
		time.Sleep(2 * sec)
		second := askAtOnce(t, transport, hostA+"second", 1)
		time.Sleep(sec)
		first()
		second()
		require.Equal(t, []string{"/first", "/first", "/first", "/second"}, paths)
		host.requireCame(0, 6*sec, 12*sec, 16*sec)
	})
}
