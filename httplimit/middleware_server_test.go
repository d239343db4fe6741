package httplimit_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

type starter = func(http.Handler) *httptest.Server

// overTLS runs a test over HTTP/1.1 and over HTTP/2.
func overTLS(t *testing.T, test func(t *testing.T, start starter)) {
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(version, func(t *testing.T) {
			test(t, func(h http.Handler) *httptest.Server {
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Proto != version {
						t.Errorf("%s is used", r.Proto)
					}
					h.ServeHTTP(w, r)
				}))
				s.EnableHTTP2 = version == "HTTP/2.0"
				s.StartTLS()
				t.Cleanup(s.Close)
				return s
			})
		})
	}
}

// connection returns a client that has its own connection: one, while it sends one request at a time.
func connection(t *testing.T, s *httptest.Server) *http.Client {
	transport := s.Client().Transport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func drain(response *http.Response) error {
	_, err := io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

// rawConn is a connection for bytes as they are.
func rawConn(t *testing.T, s *httptest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	if s.TLS != nil {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	return conn, bufio.NewReader(conn)
}

// exchangeRaw sends bytes as they are, and returns the answer to them.
func exchangeRaw(t *testing.T, conn io.Writer, in *bufio.Reader, request string) (*http.Response, string) {
	t.Helper()
	_, err := io.WriteString(conn, request)
	require.NoError(t, err)
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(in, &http.Request{Method: method})
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestHTTP10IsLimited(t *testing.T) {
	s := httptest.NewServer(httplimit.Limit(httplimit.Global(still(hourly(2, "a"))))(sayOK))
	t.Cleanup(s.Close)
	for _, code := range []int{200, 200, 429} {
		conn, in := rawConn(t, s)
		response, body := exchangeRaw(t, conn, in, "GET / HTTP/1.0\r\n\r\n")
		require.Equal(t, code, response.StatusCode)
		require.Equal(t, code == 200, body == "ok", body)
		require.NotEmpty(t, response.Header["Ratelimit"])
		_, err := in.ReadByte()
		require.ErrorIs(t, err, io.EOF)
	}
	conn, in := rawConn(t, s)
	for range 3 {
		response, body := exchangeRaw(t, conn, in, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
		require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
		require.Contains(t, body, `"violated-policies":["a"]`)
	}
}

func TestAConnectionGoesOnAfterDenials(t *testing.T) {
	clock := weir.NewManualClock()
	h := httplimit.Limit(httplimit.Global(weir.New(hourly(1, "a"), weir.WithClock(clock))))(sayOK)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	conn, in := rawConn(t, s)
	const get, head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
	for range 2 {
		response, _ := exchangeRaw(t, conn, in, get)
		require.Equal(t, http.StatusOK, response.StatusCode)
		for _, denied := range []string{get, head, get, head + head} { // the second one's answer is read as the first of the next
			response, body := exchangeRaw(t, conn, in, denied)
			require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
			require.Equal(t, "3600", response.Header.Get("Retry-After"))
			require.Equal(t, strings.HasPrefix(denied, "GET"), body != "")
		}
		response, err := http.ReadResponse(in, &http.Request{Method: "HEAD"})
		require.NoError(t, err)
		require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
		clock.Advance(time.Hour)
	}
}

func TestHEADIsDeniedAsGETWithoutTheBody(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		s := start(httplimit.Limit(httplimit.Global(still(hourly(0, "a"))))(sayOK))
		var headers []http.Header
		for _, method := range []string{"GET", "HEAD"} {
			r, err := http.NewRequestWithContext(t.Context(), method, s.URL, nil)
			require.NoError(t, err)
			response, err := s.Client().Do(r)
			require.NoError(t, err)
			require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
			require.Equal(t, method == "HEAD", isEmpty(t, response))
			response.Header.Del("Date")
			response.Header.Del("Content-Length") // which net/http does not count for HEAD
			headers = append(headers, response.Header)
		}
		require.Equal(t, headers[0], headers[1])
	})
}

func isEmpty(t *testing.T, response *http.Response) bool {
	body, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	return len(body) == 0
}

// unread is a body of which nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body is read")
	return 0, io.EOF
}

func TestADenialDoesNotWaitForTheBody(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		s := start(httplimit.Limit(httplimit.Global(still(hourly(0, "a"))))(sayOK))
		never, upload := io.Pipe()
		t.Cleanup(func() { upload.Close() })
		post := func(body io.Reader, expect string) {
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL, body)
			require.NoError(t, err)
			r.Header.Set("Expect", expect)
			r.ContentLength = 1 << 20
			client := connection(t, s)
			client.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
			response, err := client.Do(r)
			require.NoError(t, err)
			require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
			require.NoError(t, drain(response))
		}
		post(never, "")
		post(unread{t}, "100-continue") // the client never hears that it may send it
	})
}

func TestASlowUploadHoldsNobodyUp(t *testing.T) {
	l, reading := still(hourly(2, "a")), make(chan struct{}, 1)
	s := httptest.NewServer(httplimit.Limit(httplimit.Global(l))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			reading <- struct{}{}
		}
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})))
	t.Cleanup(s.Close)

	slow, in := rawConn(t, s)
	_, err := io.WriteString(slow, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
	require.NoError(t, err)
	<-reading
	for _, want := range []int{200, 429, 429} {
		code, _, err := statusOf(connection(t, s), s.URL)
		require.NoError(t, err)
		require.Equal(t, want, code)
	}
	response, body := exchangeRaw(t, slow, in, "def")
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "6 <nil>", body)
	require.Zero(t, l.Tokens())
}

func TestAStreamArrivesPieceByPiece(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		heard, settled := make(chan struct{}), make(chan int, 1)
		m := httplimit.Middleware{Layers: layersOf(still(hourly(1, "a"))), Settle: func(_ *http.Request, status int) int {
			settled <- status
			return 1
		}}
		s := start(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for i := range 3 {
				fmt.Fprintln(w, i)
				w.(http.Flusher).Flush()
				<-heard // it is not sent at the end
			}
		})))
		response, err := s.Client().Get(s.URL)
		require.NoError(t, err)
		in := bufio.NewReader(response.Body)
		for i := range 3 {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintln(i), line)
			require.Empty(t, settled, "a stream is settled when it ends")
			heard <- struct{}{}
		}
		require.NoError(t, drain(response))
		require.Equal(t, http.StatusOK, <-settled)
	})
}

func TestAClientThatLeavesIsSettledAllTheSame(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		l := still(hourly(5, "near"))
		refunds := make(chan error, 1)
		take := func(context.Context, netip.Prefix, int) (weir.Decision, error) {
			return weir.Decision{Allowed: true, Remaining: 1}, nil
		}
		far := weir.Remote[netip.Prefix]{
			Take: take, Peek: take,
			Refund: func(ctx context.Context, _ netip.Prefix, n int) error {
				refunds <- ctx.Err()
				return nil
			},
		}
		m := httplimit.Middleware{
			Layers: weir.NewLayers(httplimit.Global(l), weir.ByRemote(far, httplimit.RemoteIP)),
			Settle: func(r *http.Request, status int) int {
				if status != http.StatusTeapot || r.Context().Err() == nil {
					t.Error("settled too soon, with", status)
				}
				return 0
			},
		}
		limited := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))
		done := make(chan struct{})
		s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			limited.ServeHTTP(w, r)
		}))

		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
		require.NoError(t, err)
		response, err := s.Client().Do(r)
		require.NoError(t, err)
		require.Equal(t, 4, l.Tokens())
		leave()
		<-done
		require.NoError(t, <-refunds, "its context is not done with the client's")
		require.Equal(t, 5, l.Tokens())
		response.Body.Close()
	})
}
