package httplimit_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// bare is a ResponseWriter and nothing else.
type bare struct{ header http.Header }

func (w *bare) Header() http.Header         { return w.header }
func (w *bare) Write(p []byte) (int, error) { return len(p), nil }
func (w *bare) WriteHeader(int)             {}

// What a ResponseWriter may be as well. Each notes that it was called.
type (
	flushes struct{ called *string }
	hijacks struct{ called *string }
	pushes  struct{ called *string }
	wrapped struct{ http.ResponseWriter }
)

var errTold = errors.New("told")

func (f flushes) Flush() { *f.called += "flush " }
func (h hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	*h.called += "hijack "
	return nil, nil, errTold
}
func (p pushes) Push(target string, _ *http.PushOptions) error {
	*p.called += "push " + target + " "
	return errTold
}
func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// abilities are what a ResponseWriter shows to be, which handlers ask for.
func abilities(w http.ResponseWriter) (all [3]bool) {
	_, all[0] = w.(http.Flusher)
	_, all[1] = w.(http.Hijacker)
	_, all[2] = w.(http.Pusher)
	return all
}

// seenBy returns what a handler under a middleware that settles is given.
func seenBy(w http.ResponseWriter) (seen http.ResponseWriter) {
	m := httplimit.Middleware{Layers: layersOf(still(hourly(1, "a"))), Settle: func(*http.Request, int) int { return 1 }}
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { seen = w })).
		ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return seen
}

func TestAbilitiesAreNeitherLostNorInvented(t *testing.T) {
	type writer = http.ResponseWriter
	called := ""
	w, f, h, p := &bare{http.Header{}}, flushes{&called}, hijacks{&called}, pushes{&called}
	for _, under := range []writer{
		w,
		struct {
			writer
			flushes
		}{w, f},
		struct {
			writer
			hijacks
		}{w, h},
		struct {
			writer
			pushes
		}{w, p},
		struct {
			writer
			flushes
			hijacks
		}{w, f, h},
		struct {
			writer
			flushes
			pushes
		}{w, f, p},
		struct {
			writer
			hijacks
			pushes
		}{w, h, p},
		struct {
			writer
			flushes
			hijacks
			pushes
		}{w, f, h, p},
	} {
		want := abilities(under)
		for _, over := range []writer{under, wrapped{under}, wrapped{wrapped{under}}} {
			seen := seenBy(over)
			require.Equal(t, want, abilities(seen))
			requireCalls(t, seen, want, &called)
			called = ""
		}
	}
	require.NotSame(t, w, seenBy(w), "the test is about another writer")
}

// requireCalls requires that all that w shows to be comes to those that note it.
func requireCalls(t *testing.T, w http.ResponseWriter, can [3]bool, called *string) {
	t.Helper()
	want, control := "", http.NewResponseController(w)
	if can[0] {
		want += "flush flush "
		w.(http.Flusher).Flush()
		require.NoError(t, control.Flush())
	} else {
		require.ErrorIs(t, control.Flush(), http.ErrNotSupported)
	}
	if can[1] {
		want += "hijack hijack "
		_, _, err := w.(http.Hijacker).Hijack()
		require.ErrorIs(t, err, errTold)
		_, _, err = control.Hijack()
		require.ErrorIs(t, err, errTold)
	} else {
		_, _, err := control.Hijack()
		require.ErrorIs(t, err, http.ErrNotSupported)
	}
	if can[2] {
		want += "push /a "
		require.ErrorIs(t, w.(http.Pusher).Push("/a", nil), errTold)
	}
	require.Equal(t, want, *called)
}

func TestServersWritersKeepTheirAbilities(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen := seenBy(w)
			control := http.NewResponseController(seen)
			fmt.Fprint(w, abilities(w) == abilities(seen), abilities(w)[0], control.SetReadDeadline(time.Now().Add(time.Hour)),
				control.SetWriteDeadline(time.Time{}), control.Flush())
		}))
		_, body := get(t, s.Client(), s.URL)
		require.Equal(t, "true true <nil> <nil> <nil>", body)
	})
	require.Equal(t, [3]bool{true, false, false}, abilities(seenBy(httptest.NewRecorder())))
}

func TestWithoutSettleTheWriterIsTheServersOwn(t *testing.T) {
	w, seen := httptest.NewRecorder(), http.ResponseWriter(nil)
	httplimit.Limit()(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { seen = w })).
		ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Same(t, w, seen)
}

// flushErrors is a writer that says what became of a flush.
type flushErrors struct{ *httptest.ResponseRecorder }

func (flushErrors) FlushError() error { return errTold }

func TestAFlushThatFailsIsTold(t *testing.T) {
	require.ErrorIs(t, http.NewResponseController(seenBy(flushErrors{httptest.NewRecorder()})).Flush(), errTold)
}

// copies is a writer that notes from what it is told to copy.
type copies struct {
	*bare
	from io.Reader
}

func (c *copies) ReadFrom(r io.Reader) (int64, error) {
	c.from = r
	return io.Copy(io.Discard, r)
}

func TestAFileIsSentWithoutACopyWhereTheServerCan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("0123456789", 10_000)), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	to := &copies{bare: &bare{http.Header{}}}
	n, err := seenBy(to).(io.ReaderFrom).ReadFrom(file)
	require.NoError(t, err)
	require.Equal(t, int64(100_000), n)
	require.Same(t, file, to.from)

	serveFile := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
	overTLS(t, func(t *testing.T, start starter) {
		var told []int
		s := start(settling(t, still(hourly(9, "a")), &told).Handler(serveFile))
		for _, header := range [][]string{nil, {"Range", "bytes=10-19"}} {
			_, body := get(t, s.Client(), s.URL, header...)
			require.Equal(t, strings.Repeat("0123456789", len(body)/10), body)
		}
		s.Close()
		require.Equal(t, []int{200, 206}, told)
	})
}

func TestAHijackedConnectionIsSettledWhenTheHandlerReturns(t *testing.T) {
	for name, test := range map[string]struct {
		before, want int
		hijack       func(http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error)
	}{
		"asserted": {0, 101, func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) { return w.(http.Hijacker).Hijack() }},
		"controlled": {0, 101, func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
			return http.NewResponseController(w).Hijack()
		}},
		"after a status": {202, 202, func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) { return w.(http.Hijacker).Hijack() }},
	} {
		t.Run(name, func(t *testing.T) {
			l, settled := still(hourly(3, "a")), make(chan int, 1)
			m := httplimit.Middleware{Layers: layersOf(l), Settle: func(_ *http.Request, status int) int {
				settled <- status
				return 2
			}}
			h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.before > 0 {
					w.WriteHeader(test.before)
				}
				conn, rw, err := test.hijack(w)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				line, _ := rw.ReadString('\n')
				_, _ = rw.WriteString("echo " + line)
				_ = rw.Flush()
				_, _ = rw.ReadString('\n') // until the client closes
			}))
			s := httptest.NewServer(h)
			t.Cleanup(s.Close)
			conn, in := rawConn(t, s)
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\nhello\n")
			require.NoError(t, err)
			for line := ""; line != "echo hello\n"; {
				line, err = in.ReadString('\n')
				require.NoError(t, err)
			}
			require.Equal(t, 2, l.Tokens())
			require.Empty(t, settled)
			require.NoError(t, conn.Close())
			require.Equal(t, test.want, <-settled)
		})
	}
}

func TestAnAbortReachesTheServerAndTheClient(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		l, settled := still(hourly(3, "a")), make(chan int, 1)
		m := httplimit.Middleware{Layers: layersOf(l), Settle: func(_ *http.Request, status int) int {
			settled <- status
			return 0
		}}
		s := start(m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })))
		_, _, err := statusOf(s.Client(), s.URL)
		require.Error(t, err)
		require.Equal(t, http.StatusInternalServerError, <-settled)
		s.Close()
		require.Equal(t, 3, l.Tokens())
	})
}
