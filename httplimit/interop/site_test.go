package interop_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/httplimit"
)

// A site has the same pages whatever the router, of whose kind its handlers are:
//
//	GET  /hello      what is left, according to FromContext
//	POST /login      401 unless the form's password is "right"
//	GET  /users/{id}
//	GET  /panic
//	GET  /stream     a line, and the next one once the test lets it go on
//	GET  /upgrade    takes the connection, and sends back the lines that come
type site struct {
	limit  func(http.Handler) http.Handler
	called atomic.Int32 // handlers
	goOn   chan struct{}

	recoverInside bool // panics are recovered inside of the middleware, not around it
}

// inOrder returns both middlewares, the outer one first.
func inOrder[M any](s *site, recoverer, limit M) []M {
	if s.recoverInside {
		return []M{limit, recoverer}
	}
	return []M{recoverer, limit}
}

func hello(ctx context.Context) string {
	d, ok := httplimit.FromContext(ctx)
	return fmt.Sprint("hello ", d.Remaining, " ", ok)
}

// echoLines is what becomes of a connection that was taken over.
func echoLines(conn net.Conn, rw *bufio.ReadWriter) {
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
	for err := rw.Flush(); err == nil; err = rw.Flush() {
		line, err := rw.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = rw.WriteString(line)
	}
}

// The pages of routers that take an http.Handler.

func (s *site) hello(w http.ResponseWriter, r *http.Request) {
	s.called.Add(1)
	fmt.Fprint(w, hello(r.Context()))
}

func (s *site) login(w http.ResponseWriter, r *http.Request) {
	s.called.Add(1)
	if r.FormValue("password") != "right" {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (s *site) user(http.ResponseWriter, *http.Request) { s.called.Add(1) }

func (s *site) panic(http.ResponseWriter, *http.Request) { panic("as it does in the best of families") }

func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintln(w, "one")
	w.(http.Flusher).Flush()
	s.pause(w, r)
	fmt.Fprintln(w, "two")
}

// pause asks something of the connection that only a ResponseController can, and
// waits. It ends as well if the test failed and its server goes down.
func (s *site) pause(w http.ResponseWriter, r *http.Request) {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
		panic(err)
	}
	select {
	case <-s.goOn:
	case <-r.Context().Done():
	}
}

func (s *site) upgrade(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err == nil {
		echoLines(conn, rw)
	}
}

// serve answers on loopback.
func serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of panics
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// ask sends a request with pairs of header fields, and returns the whole response.
func ask(t *testing.T, client *http.Client, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := client.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	return resp, string(body)
}

// show prints what a handler answers to a request.
func show(h http.Handler, method, target string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	fmt.Println(method, target, w.Code)
}
