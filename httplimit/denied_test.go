package httplimit

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

var deniedFor = weir.Decision{Policy: "burst", Limit: 100, RetryAfter: 1500 * time.Millisecond, ResetAfter: time.Minute}

const deniedProblem = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
	`"title":"Quota Exceeded","status":429,"detail":"The quota is used up. Retry after 2 seconds.",` +
	`"violated-policies":["burst"],"retry-after":2}` + "\n"

const deniedText = `Too Many Requests under "burst". The quota is used up. Retry after 2 seconds.` + "\n"

func TestWriteDenied(t *testing.T) {
	t.Parallel()
	never := weir.Decision{Policy: "burst", Limit: 100, Remaining: 100, RetryAfter: weir.Never}
	odd := deniedFor
	odd.Policy, odd.RetryAfter = "\"ü\"\n", 1
	for _, test := range []struct {
		name       string
		d          weir.Decision
		accept     string
		retryAfter string
		body       string
	}{
		{"JSON", deniedFor, "", "2", deniedProblem},
		{"text", deniedFor, "text/plain", "2", deniedText},
		{"a browser", deniedFor, "text/html,*/*;q=0.8", "2", deniedText},
		{"never", never, "*/*", "", `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
			`"title":"Quota Exceeded","status":429,"detail":"The request asks for more than the quota ever allows.","violated-policies":["burst"]}` + "\n"},
		{"never, text", never, "text/*", "", `Too Many Requests under "burst". The request asks for more than the quota ever allows.` + "\n"},
		{"an odd name", odd, "", "1", `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
			`"title":"Quota Exceeded","status":429,"detail":"The quota is used up. Retry after 1 second.",` +
			`"violated-policies":["\"%C3%BC\"%0A"],"retry-after":1}` + "\n"},
		{"an odd name, text", odd, "text/plain", "1", `Too Many Requests under "\"ü\"\n". The quota is used up. Retry after 1 second.` + "\n"},
		{"no policy", weir.Decision{RetryAfter: weir.Never}, "", "", `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
			`"title":"Quota Exceeded","status":429,"detail":"The request asks for more than the quota ever allows.","violated-policies":[]}` + "\n"},
		{"no policy, text", weir.Decision{}, "text/plain", "1", "Too Many Requests. The quota is used up. Retry after 1 second.\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			if test.accept != "" {
				r.Header.Set("Accept", test.accept)
			}
			w.Header().Set("Content-Length", "5") // of what the handler was about to send
			WriteDenied(w, r, test.d)
			require.Equal(t, http.StatusTooManyRequests, w.Code)
			require.Equal(t, test.body, w.Body.String())
			want := http.Header{
				"Content-Type":           {"application/problem+json"},
				"Cache-Control":          {"no-store"},
				"X-Content-Type-Options": {"nosniff"},
			}
			if strings.HasPrefix(test.accept, "text") {
				want.Set("Content-Type", "text/plain; charset=utf-8")
			} else {
				require.True(t, json.Valid(w.Body.Bytes()))
			}
			if test.retryAfter != "" {
				want.Set("Retry-After", test.retryAfter)
			}
			require.Equal(t, want, w.Header())
		})
	}
}

func TestWriteDeniedKeepsRetryAfter(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"17":                            `"detail":"The quota is used up. Retry after 17 seconds.","violated-policies":["burst"],"retry-after":17}`,
		"Fri, 31 Dec 1999 23:59:59 GMT": `"detail":"The quota is used up.","violated-policies":["burst"]}`,
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Retry-After", value)
		WriteDenied(w, httptest.NewRequest("GET", "/", nil), deniedFor)
		require.Equal(t, []string{value}, w.Header()["Retry-After"])
		require.Contains(t, w.Body.String(), want)
	}
}

// deny is a handler that tells all it can and denies.
func deny(w http.ResponseWriter, r *http.Request) {
	field := newPolicyField([]weir.Policy{weir.TokenBucket(weir.PerMinute(100)).Named("burst")})
	HeadersBoth.set(w.Header(), field, &deniedFor)
	WriteDenied(w, r, deniedFor)
}

func TestWriteDeniedOverConnections(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(deny))
		server.EnableHTTP2 = version == "HTTP/2.0"
		server.StartTLS()
		t.Cleanup(server.Close)
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
			t.Run(version+" "+method, func(t *testing.T) {
				r, err := http.NewRequest(method, server.URL, nil)
				require.NoError(t, err)
				response, err := server.Client().Do(r)
				require.NoError(t, err)
				defer func() { require.NoError(t, response.Body.Close()) }()
				require.Equal(t, version, response.Proto)
				require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
				for key, want := range map[string]string{
					"RateLimit-Policy":       `"burst";q=100;w=60`,
					"RateLimit":              `"burst";r=0;t=2`,
					"Retry-After":            "2",
					"X-RateLimit-Limit":      "100",
					"X-RateLimit-Remaining":  "0",
					"X-RateLimit-Reset":      "2",
					"Content-Type":           "application/problem+json",
					"Cache-Control":          "no-store",
					"X-Content-Type-Options": "nosniff",
				} {
					require.Equal(t, []string{want}, response.Header.Values(key), key)
				}
				readFields(t, response.Header)
				body, err := io.ReadAll(response.Body)
				require.NoError(t, err)
				if method == "HEAD" {
					require.Empty(t, body)
				} else {
					require.Equal(t, deniedProblem, string(body))
				}
			})
		}
	}
}

// exchange sends bytes as they are and returns the response, and what follows
// until the server closes the connection.
func exchange(t *testing.T, request string) (response *http.Response, body string, conn net.Conn) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(deny))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	method, _, _ := strings.Cut(request, " ")
	response, err = http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(t, err)
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	require.Equal(t, "2", response.Header.Get("Retry-After"))
	return response, string(all), conn
}

func TestWriteDeniedHTTP10(t *testing.T) {
	t.Parallel()
	response, body, conn := exchange(t, "GET / HTTP/1.0\r\n\r\n")
	require.Equal(t, deniedProblem, body)
	require.Empty(t, response.TransferEncoding)
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)

	_, body, _ = exchange(t, "HEAD / HTTP/1.0\r\n\r\n")
	require.Empty(t, body)
}

// The body that is announced here never comes: an answer that waited for any of
// it would not come either.
func TestWriteDeniedReadsNoBody(t *testing.T) {
	t.Parallel()
	for _, head := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4097\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\nsome of it",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
		"POST / HTTP/1.0\r\nContent-Length: 1000\r\n\r\n",
	} {
		t.Run(head, func(t *testing.T) {
			t.Parallel()
			response, body, _ := exchange(t, head)
			require.Equal(t, deniedProblem, body)
			require.True(t, response.Close)
		})
	}

	body := readCounter{}
	r := httptest.NewRequest("POST", "/", &body)
	WriteDenied(httptest.NewRecorder(), r, deniedFor)
	require.Zero(t, body.reads)
}

type readCounter struct{ reads int }

func (c *readCounter) Read([]byte) (int, error) { c.reads++; return 0, io.EOF }

// A small body is no reason to close the connection.
func TestWriteDeniedKeepsTheConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(deny))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	in := bufio.NewReader(conn)
	request := "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4096\r\n\r\n" + strings.Repeat("a", 4096)
	for range 3 {
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		response, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.False(t, response.Close)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, deniedProblem, string(body))
	}
}

// net/http's own client, in the middle of an upload.
func TestWriteDeniedDuringUpload(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(deny))
	t.Cleanup(server.Close)
	body, upload := io.Pipe() // nothing is ever written to it
	defer func() { require.NoError(t, upload.Close()) }()
	response, err := server.Client().Post(server.URL, "text/plain", body)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
	all, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, deniedProblem, string(all))
}

func TestWriteDeniedAnyAccept(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{strings.Repeat("a", 1<<20), strings.Repeat(`"`, 1<<20), ";;;=", "\x00"} {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header["Accept"] = []string{accept, "", accept}
		WriteDenied(w, r, deniedFor)
		require.Equal(t, deniedProblem, w.Body.String())
	}
}
