package httplimit_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// settling is a middleware that notes the statuses that it settles by, and gives everything back.
func settling(t *testing.T, l *weir.Limiter, statuses *[]int) *httplimit.Middleware {
	return &httplimit.Middleware{Layers: layersOf(l), Settle: func(r *http.Request, status int) int {
		if _, found := httplimit.FromContext(r.Context()); !found || l.Tokens() == l.Policy().MaxWithin(1) {
			t.Error("the request is not the handler's, or is settled already")
		}
		*statuses = append(*statuses, status)
		return 0
	}}
}

// end returns how a handler ended: what it panicked with, or what else.
func end(h http.Handler, w http.ResponseWriter) (how any) {
	done := make(chan any, 1)
	go func() {
		how := any("gone") // by runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				how = p
			}
			done <- how
		}()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		how = "returned"
	}()
	return <-done
}

func TestSettleIsToldTheStatusHoweverTheHandlerEnds(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		want   int
		end    any
		handle func(http.ResponseWriter)
	}{
		"nothing is written":    {200, "returned", func(http.ResponseWriter) {}},
		"a body":                {200, "returned", func(w http.ResponseWriter) { _, _ = w.Write([]byte("a")) }},
		"an empty body":         {200, "returned", func(w http.ResponseWriter) { _, _ = w.Write(nil); w.WriteHeader(500) }},
		"a string":              {200, "returned", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "a"); w.WriteHeader(500) }},
		"a copy":                {200, "returned", func(w http.ResponseWriter) { _, _ = io.Copy(w, onlyReader{strings.NewReader("a")}); w.WriteHeader(500) }},
		"a status":              {404, "returned", func(w http.ResponseWriter) { w.WriteHeader(404) }},
		"a status before":       {404, "returned", func(w http.ResponseWriter) { w.WriteHeader(404); _, _ = w.Write([]byte("a")) }},
		"two":                   {201, "returned", func(w http.ResponseWriter) { w.WriteHeader(201); w.WriteHeader(500) }},
		"no body may follow":    {304, "returned", func(w http.ResponseWriter) { w.WriteHeader(304) }},
		"early hints":           {401, "returned", func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(103); w.WriteHeader(401) }},
		"only early hints":      {200, "returned", func(w http.ResponseWriter) { w.WriteHeader(103) }},
		"another protocol":      {101, "returned", func(w http.ResponseWriter) { w.WriteHeader(101); w.WriteHeader(500) }},
		"a flush":               {200, "returned", func(w http.ResponseWriter) { w.(http.Flusher).Flush(); w.WriteHeader(500) }},
		"a controller's flush":  {200, "returned", func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush(); w.WriteHeader(500) }},
		"a panic":               {500, boom, func(http.ResponseWriter) { panic(boom) }},
		"a panic after hints":   {500, boom, func(w http.ResponseWriter) { w.WriteHeader(103); panic(boom) }},
		"a panic after a write": {403, boom, func(w http.ResponseWriter) { w.WriteHeader(403); panic(boom) }},
		"an abort":              {500, http.ErrAbortHandler, func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
		"an abort in a stream":  {200, http.ErrAbortHandler, func(w http.ResponseWriter) { w.(http.Flusher).Flush(); panic(http.ErrAbortHandler) }},
		"an end of goroutine":   {500, "gone", func(http.ResponseWriter) { runtime.Goexit() }},
	} {
		t.Run(name, func(t *testing.T) {
			inner, outer := still(hourly(3, "inner")), still(hourly(3, "outer"))
			var innerTold, outerTold []int
			h := settling(t, inner, &innerTold).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if inner.Tokens() != 2 || outer.Tokens() != 2 {
					t.Error("while it runs, it counts")
				}
				test.handle(w)
			}))
			require.Equal(t, test.end, end(settling(t, outer, &outerTold).Handler(h), httptest.NewRecorder()))
			require.Equal(t, [][]int{{test.want}, {test.want}}, [][]int{innerTold, outerTold})
			require.Equal(t, []int{3, 3}, []int{inner.Tokens(), outer.Tokens()}, "it is given back")
		})
	}
}

// around is a writer whose handlers write to it, and not to what a middleware puts around it, as Gin's do.
type around struct {
	*httptest.ResponseRecorder
	status int
}

func (w *around) Status() int { return w.status }

func TestSettleIsToldTheStatusThatIsWrittenAround(t *testing.T) {
	for status, want := range map[int]int{401: 401, 0: 200} {
		var told []int
		w := &around{ResponseRecorder: httptest.NewRecorder()}
		h := settling(t, still(hourly(1, "a")), &told).Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.status = status }))
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		require.Equal(t, []int{want}, told)
	}
}

// onlyReader is one without what io.Copy would rather use.
type onlyReader struct{ io.Reader }

func TestWhatHasBeenDeniedIsNotSettled(t *testing.T) {
	var told []int
	h := settling(t, still(hourly(0, "closed")), &told).Handler(sayOK)
	require.Equal(t, http.StatusTooManyRequests, respond(h).Code)
	require.Empty(t, told)
}

func TestOnlyFailedLoginsCount(t *testing.T) {
	passwords := make(chan string)
	m := httplimit.Middleware{
		Layers: layersOf(still(hourly(3, "logins"))),
		Settle: func(_ *http.Request, status int) int {
			if status == http.StatusUnauthorized {
				return 1
			}
			return 0
		},
	}
	h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if <-passwords != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	// together returns what so many logins at once are answered; those that are not denied wait for a password.
	together := func(n int, tried ...string) map[int]int {
		answers, codes := make(chan int, n), map[int]int{}
		for range n {
			go func() { answers <- respond(h).Code }()
		}
		for range n - len(tried) {
			codes[<-answers]++
		}
		for _, password := range tried {
			passwords <- password
			codes[<-answers]++
		}
		return codes
	}
	require.Equal(t, map[int]int{429: 5, 200: 3}, together(8, "right", "right", "right"), "under way, they count as failed")
	for range 20 {
		require.Equal(t, map[int]int{200: 1}, together(1, "right"))
	}
	require.Equal(t, map[int]int{429: 5, 200: 1, 401: 2}, together(8, "right", "wrong", "wrong"))
	require.Equal(t, map[int]int{200: 1}, together(1, "right"))
	require.Equal(t, map[int]int{429: 7, 401: 1}, together(8, "wrong"))
	require.Equal(t, map[int]int{429: 8}, together(8))
}

func TestSettleChargesWhatItSays(t *testing.T) {
	l, rows := still(hourly(10, "all")), still(hourly(10, "rows"))
	actual := 0
	m := httplimit.Middleware{
		Layers: weir.NewLayers(httplimit.Global(l), httplimit.Global(rows).WithCost(func(*http.Request) int { return 3 })),
		Cost:   func(*http.Request) int { return 2 },
		Settle: func(*http.Request, int) int { return actual },
	}
	h := m.Handler(sayOK)
	for _, step := range []struct{ actual, code, all, rows int }{
		{2, 200, 8, 7}, {0, 200, 8, 7}, {-1, 200, 8, 7}, {1, 200, 7, 4}, {6, 200, 1, 1}, {1, 429, 1, 1},
	} {
		actual = step.actual
		require.Equal(t, []int{step.code, step.all, step.rows}, []int{respond(h).Code, l.Tokens(), rows.Tokens()}, "%v", step)
	}
	l.Reset()
	rows.Reset()
	actual = 25
	require.Equal(t, http.StatusOK, respond(h).Code)
	w := respond(h)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, strconv.Itoa((25-10+2)*360), w.Header().Get("Retry-After"), "those who come later pay for it")
}

func TestSettleKnowsWhatTheHandlerLearnt(t *testing.T) {
	m := httplimit.Middleware{Layers: layersOf(still(hourly(9, "a"))), Settle: func(r *http.Request, _ int) int {
		require.Equal(t, "GET /{name}", r.Pattern)
		require.Equal(t, "path", r.PathValue("name"))
		require.Equal(t, "", r.Form.Get("query"))
		require.True(t, r.Form.Has("query"))
		return 1
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{name}", func(_ http.ResponseWriter, r *http.Request) { require.NoError(t, r.ParseForm()) })
	require.Equal(t, http.StatusOK, respond(m.Handler(mux)).Code)
}

func TestSettleWithTimeoutHandler(t *testing.T) {
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(2 * time.Second)
		w.WriteHeader(http.StatusTeapot)
	})
	for name, test := range map[string]struct {
		wrap  func(*httplimit.Middleware) http.Handler
		told  int
		after time.Duration
	}{
		"inside": {func(m *httplimit.Middleware) http.Handler {
			return m.Handler(http.TimeoutHandler(slow, time.Second, "late"))
		}, http.StatusServiceUnavailable, time.Second},
		"outside": {func(m *httplimit.Middleware) http.Handler {
			return http.TimeoutHandler(m.Handler(slow), time.Second, "late")
		}, http.StatusTeapot, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, l := time.Now(), still(hourly(5, "a"))
				var told []int
				m := settling(t, l, &told)
				settle := m.Settle
				m.Settle = func(r *http.Request, status int) int {
					if after := time.Since(began); after != test.after {
						t.Error("settled after", after)
					}
					return settle(r, status)
				}
				w := respond(test.wrap(m))
				require.Equal(t, time.Second, time.Since(began))
				require.Equal(t, http.StatusServiceUnavailable, w.Code)
				require.Equal(t, "late", w.Body.String())
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, []int{test.told}, told)
				require.Equal(t, 5, l.Tokens())
			})
		})
	}
}

func TestSettleWithMaxBytesHandler(t *testing.T) {
	reads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); errors.As(err, new(*http.MaxBytesError)) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	for name, wrap := range map[string]func(*httplimit.Middleware) http.Handler{
		"inside":  func(m *httplimit.Middleware) http.Handler { return m.Handler(http.MaxBytesHandler(reads, 10)) },
		"outside": func(m *httplimit.Middleware) http.Handler { return http.MaxBytesHandler(m.Handler(reads), 10) },
	} {
		t.Run(name, func(t *testing.T) {
			overTLS(t, func(t *testing.T, start starter) {
				told, l := make(chan int, 1), still(hourly(2, "a"))
				m := httplimit.Middleware{Layers: layersOf(l), Settle: func(_ *http.Request, status int) int {
					told <- status
					return 1
				}}
				s := start(wrap(&m))
				for _, want := range []struct{ length, status int }{{10, 200}, {11, 413}} {
					response, err := s.Client().Post(s.URL, "text/plain", strings.NewReader(strings.Repeat("a", want.length)))
					require.NoError(t, err)
					require.Equal(t, want.status, response.StatusCode)
					require.NoError(t, drain(response))
					require.Equal(t, want.status, <-told)
				}
			})
		})
	}
}
