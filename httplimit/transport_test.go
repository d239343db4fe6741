package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// A fakeHost stands for all servers there are, in the time of a bubble.
type fakeHost struct {
	t      *testing.T
	began  time.Time
	answer func(n int, r *http.Request) (*http.Response, error) // to the nth request, from 0

	mu   sync.Mutex
	came []time.Duration // since it began
}

func newFakeHost(t *testing.T, answer func(n int, r *http.Request) (*http.Response, error)) *fakeHost {
	return &fakeHost{t: t, began: time.Now(), answer: answer}
}

func (f *fakeHost) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	n := len(f.came)
	f.came = append(f.came, time.Since(f.began))
	f.mu.Unlock()
	if r.Body != nil {
		defer r.Body.Close()
	}
	resp, err := f.answer(n, r)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// requireCame checks when all requests so far came.
func (f *fakeHost) requireCame(at ...time.Duration) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Equal(f.t, at, f.came)
}

// reply returns an answer with fields, names and values in turn.
func reply(status int, fields ...string) (*http.Response, error) {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("body"))}
	for i := 0; i < len(fields); i += 2 {
		resp.Header.Add(fields[i], fields[i+1])
	}
	return resp, nil
}

// replies answers with each in turn, and then with 200.
func replies(answers ...func() (*http.Response, error)) func(int, *http.Request) (*http.Response, error) {
	return func(n int, _ *http.Request) (*http.Response, error) {
		if n < len(answers) {
			return answers[n]()
		}
		return reply(200)
	}
}

func just(status int, fields ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return reply(status, fields...) }
}

func newRequest(t *testing.T, ctx context.Context, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	require.NoError(t, err)
	return r
}

const hostA, hostB = "http://a.example/", "http://b.example/"

// ask sends a GET and returns the status of its answer.
func ask(t *testing.T, transport http.RoundTripper, ctx context.Context, url string) (int, error) {
	t.Helper()
	resp, err := transport.RoundTrip(newRequest(t, ctx, url))
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func requireStatus(t *testing.T, status int, transport http.RoundTripper, url string) {
	t.Helper()
	got, err := ask(t, transport, t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, status, got)
}

// askAtOnce sends n requests that are let go one after the other at one instant,
// and returns a function that waits for them and says how they ended.
func askAtOnce(t *testing.T, transport http.RoundTripper, url string, n int) func() (statuses []int, errs []error) {
	t.Helper()
	statuses, errs := make([]int, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { statuses[i], errs[i] = ask(t, transport, t.Context(), url) })
		synctest.Wait()
	}
	return func() ([]int, []error) {
		all.Wait()
		return statuses, errs
	}
}

const sec = time.Second

// A body that says whether it was closed.
type closeSpy struct {
	io.Reader
	closed chan struct{}
}

func newCloseSpy(text string) *closeSpy {
	return &closeSpy{strings.NewReader(text), make(chan struct{})}
}

func (c *closeSpy) Close() error {
	close(c.closed) // twice would panic
	return nil
}

func (c *closeSpy) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

func TestTransportLeavesTheRequestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "1")))
		r, err := http.NewRequestWithContext(t.Context(), "PUT", hostA, strings.NewReader("text"))
		require.NoError(t, err)
		r.Header.Set("X-A", "a")
		before, header, body := *r, r.Header.Clone(), r.Body
		resp, err := (&httplimit.Transport{Base: host, Retries: 1}).RoundTrip(r)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		host.requireCame(0, sec)
		require.Equal(t, header, r.Header)
		require.True(t, body == r.Body)
		require.Equal(t, before.URL, r.URL)
		require.Equal(t, before.ContentLength, r.ContentLength)
	})
}

func TestTransportClosesTheBodyOfWhatItDoesNotSend(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		transport *httplimit.Transport
		ctx       context.Context
		url       string
	}{
		"cancelled":     {&httplimit.Transport{}, cancelled, hostA},
		"held back":     {heldTransport(t), context.Background(), hostA},
		"no turn":       {&httplimit.Transport{Hosts: weir.NewPerClient[string](weir.FixedWindow(weir.PerHour(0)))}, context.Background(), hostA},
		"refused later": {&httplimit.Transport{Base: http.NewFileTransport(http.Dir("."))}, context.Background(), "foo://a"},
	} {
		t.Run(name, func(t *testing.T) {
			body := newCloseSpy("")
			r, err := http.NewRequestWithContext(test.ctx, "POST", test.url, body)
			require.NoError(t, err)
			if name == "refused later" {
				r.URL = nil
				test.transport.Base = nil
			}
			resp, err := test.transport.RoundTrip(r)
			require.Error(t, err)
			require.Nil(t, resp)
			require.True(t, body.isClosed())
		})
	}
}

// heldTransport returns a Transport whose host a asks for an hour.
func heldTransport(t *testing.T) *httplimit.Transport {
	transport := &httplimit.Transport{Base: newFakeHost(t, replies(just(429, "Retry-After", "3600")))}
	requireStatus(t, 429, transport, hostA)
	return transport
}

func TestTransportPassesOnCloseIdleConnections(t *testing.T) {
	base := &closer{}
	client := &http.Client{Transport: &httplimit.Transport{Base: base}}
	client.CloseIdleConnections()
	require.Equal(t, 1, base.closed)
	(&httplimit.Transport{Base: newFakeHost(t, nil)}).CloseIdleConnections() // has none
}

type closer struct {
	http.RoundTripper
	closed int
}

func (c *closer) CloseIdleConnections() { c.closed++ }

func TestTransportReturnsWhatBaseReturns(t *testing.T) {
	errBase := errors.New("no route")
	transport := &httplimit.Transport{Retries: 3}
	resp, _ := reply(200)
	for _, test := range []struct {
		resp *http.Response
		err  error
	}{{nil, errBase}, {resp, nil}, {nil, nil}, {&http.Response{StatusCode: 200}, nil}} {
		sent := 0
		transport.Base = roundTrip(func(*http.Request) (*http.Response, error) { sent++; return test.resp, test.err })
		resp, err := transport.RoundTrip(newRequest(t, t.Context(), hostA))
		require.Same(t, test.resp, resp)
		require.Equal(t, test.err, err)
		require.Equal(t, 1, sent, "net/http sends again what may be after an error")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHostKey(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://example.com/a?b#c":       "example.com:80",
		"https://EXAMPLE.com":            "example.com:443",
		"HTTPS://example.com:443/":       "example.com:443",
		"http://example.com:443":         "example.com:443",
		"https://user:pass@example.com.": "example.com:443",
		"http://example.com.:8080":       "example.com:8080",
		"http://example.com:":            "example.com:80",
		"http://192.0.2.1":               "192.0.2.1:80",
		"http://[::1]/":                  "[::1]:80",
		"http://[::ffff:192.0.2.1]/":     "192.0.2.1:80",
		"http://example.com:00008080/":   "example.com:8080",
		"http://example.com:000/":        "example.com:000",
		"https://[2001:DB8:0:0::1]:8443": "[2001:db8::1]:8443",
		"http://[fe80::1%25eth0]:80":     "[fe80::1%eth0]:80",
		"http://B%C3%9CCHER.example":     "bücher.example:80",
		"unix://socket/path":             "socket",
		"foo://[::1]/":                   "[::1]",
		"foo://example.com:7":            "example.com:7",
	} {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		require.Equal(t, want, httplimit.HostKey(u), raw)
	}
}

func TestTransportNeedsNoFields(t *testing.T) {
	var transport httplimit.Transport
	require.Zero(t, transport.Held("a.example:80"))
	transport.CloseIdleConnections()
	u := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }), "")
	status, body := get(t, &http.Client{Transport: &transport}, u)
	require.Equal(t, 200, status)
	require.Equal(t, "hello", body)
}
