package httplimit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// A handler behind a middleware sees and does what it would without.

// Then the handler can still say what went wrong.
func TestACopyThatFailsBeforeItsFirstByteWritesNoStatus(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		settled := make(chan int, 1)
		m := httplimit.Middleware{Layers: layersOf(), Settle: func(_ *http.Request, status int) int { settled <- status; return 1 }}
		s := start(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if _, err := io.Copy(w, onlyReader{iotest.ErrReader(errors.New("upstream"))}); err != nil {
				w.WriteHeader(http.StatusBadGateway)
			}
		})))
		code, _, err := statusOf(s.Client(), s.URL)
		require.NoError(t, err)
		require.Equal(t, code, <-settled)
	})
}

// net/http refuses what is written after a Hijack.
func TestWhatIsWrittenAfterAHijackIsNoStatus(t *testing.T) {
	settled := make(chan int, 1)
	m := httplimit.Middleware{Layers: layersOf(), Settle: func(_ *http.Request, status int) int { settled <- status; return 1 }}
	s := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
		_, err = w.Write([]byte("late"))
		if !errors.Is(err, http.ErrHijacked) {
			t.Error(err)
		}
	})))
	t.Cleanup(s.Close)
	_, _, _ = statusOf(s.Client(), s.URL)
	require.Equal(t, http.StatusSwitchingProtocols, <-settled)
}

// Over HTTP/2, net/http deletes the files of a handler that panics; and so it does here.
func TestTheFilesOfAnUploadAreDeletedThoughTheHandlerPanics(t *testing.T) {
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	part, _ := parts.CreateFormFile("file", "name")
	_, _ = part.Write(make([]byte, 64<<10))
	_ = parts.Close()
	path := make(chan string, 1)
	upload := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseMultipartForm(1)
		file, _ := r.MultipartForm.File["file"][0].Open()
		path <- file.(*os.File).Name()
		file.Close()
		panic(http.ErrAbortHandler)
	})
	for name, h := range map[string]http.Handler{"without": upload, "with": httplimit.Limit()(upload)} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(h)
			s.EnableHTTP2 = true
			s.StartTLS()
			_, err := s.Client().Post(s.URL, parts.FormDataContentType(), bytes.NewReader(form.Bytes()))
			require.Error(t, err)
			s.Close()
			require.NoFileExists(t, <-path)
		})
	}
}

// A handler around it that recovers logs the pattern.
func TestThePatternIsBroughtBackThoughTheHandlerPanics(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/a", func(http.ResponseWriter, *http.Request) { panic("boom") })
	for _, h := range []http.Handler{mux, httplimit.Limit()(mux)} {
		r := httptest.NewRequest("GET", "/a", nil)
		require.Panics(t, func() { h.ServeHTTP(httptest.NewRecorder(), r) })
		require.Equal(t, "/a", r.Pattern)
	}
}

// Also where a mux outside has set one already.
func TestThePatternIsTheInnermosts(t *testing.T) {
	for _, limit := range []func(http.Handler) http.Handler{func(h http.Handler) http.Handler { return h }, httplimit.Limit()} {
		inner, outer := http.NewServeMux(), http.NewServeMux()
		inner.Handle("/api/{name}", sayOK)
		outer.Handle("/api/", limit(inner))
		r := httptest.NewRequest("GET", "/api/a", nil)
		outer.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, "/api/{name}", r.Pattern)
	}
}

// The request is the context, and fmt would print its headers.
func TestAContextThatIsPrintedTellsNoSecrets(t *testing.T) {
	var plain, limited string
	for to, wrap := range map[*string]func(http.Handler) http.Handler{&plain: func(h http.Handler) http.Handler { return h }, &limited: httplimit.Limit()} {
		respond(wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { *to = fmt.Sprint(r.Context()) })),
			"Authorization", "secret")
	}
	require.NotContains(t, plain, "secret")
	require.NotContains(t, limited, "secret")
}

// Whoever changes header values in place changes those of one response.
func TestAValueThatIsChangedInPlaceIsThatOfOneResponse(t *testing.T) {
	h := httplimit.Limit(httplimit.Global(still(hourly(9, "a"))))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Change") != "" {
			for _, values := range w.Header() {
				for i := range values {
					values[i] = "changed"
				}
			}
		}
	}))
	respond(h, "Change", "1")
	require.Equal(t, `"a";q=9;w=3600`, respond(h).Header().Get("RateLimit-Policy"))
}

// A stream that lasts keeps nothing of the requests beside it.
func TestARequestThatLastsKeepsNoOthers(t *testing.T) {
	kept := []*http.Request{}
	h := httplimit.Limit()(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			kept = append(kept, r)
			return
		}
		r.Form = map[string][]string{"upload": {strings.Repeat("x", 8<<20)}}
	}))
	before := heap()
	for range 4 {
		for _, path := range []string{"/stream", "/upload", "/upload", "/upload"} {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", path, nil))
		}
	}
	grown := heap() - before
	t.Logf("%d MiB for %d streams", grown>>20, len(kept))
	require.Less(t, grown, int64(1<<20))
	runtime.KeepAlive(kept)
}

func heap() int64 {
	for range 3 { // a sync.Pool forgets after two
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// http.CloseNotifier is deprecated, and Gin's Context.Stream asserts without looking.
func TestCloseNotifierIsNotLost(t *testing.T) {
	overTLS(t, func(t *testing.T, start starter) {
		s := start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, had := w.(interface{ CloseNotify() <-chan bool })
			_, has := seenBy(w).(interface{ CloseNotify() <-chan bool })
			fmt.Fprint(w, had == has)
		}))
		_, body := get(t, s.Client(), s.URL)
		require.Equal(t, "true", body)
	})
}
