package interop_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// With Use, a limit holds for whatever is asked. A limit of a route goes into With
// or Group: only there does chi know the route, which it has in Request.Pattern.
func Example_chi() {
	r := chi.NewRouter()
	r.Use(httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerHour(4)))))
	r.Get("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Hello.")
	})
	r.Group(func(r chi.Router) {
		r.Use(httplimit.Limit(httplimit.PerRoute(nil, weir.TokenBucket(weir.PerHour(2)))))
		r.Get("/search/{term}", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "Nothing found.")
		})
	})

	show(r, "GET", "/search/weir")
	show(r, "GET", "/search/dam")
	show(r, "GET", "/search/sluice")
	show(r, "GET", "/")
	show(r, "GET", "/")
	// Output:
	// GET /search/weir 200
	// GET /search/dam 200
	// GET /search/sluice 429
	// GET / 200
	// GET / 429
}

func TestChi(t *testing.T) {
	t.Parallel()
	build := func(s *site) http.Handler {
		r := chi.NewRouter()
		r.Use(middleware.RequestLogger(silent{})) // whose ResponseWriter is chi's own
		r.Group(func(r chi.Router) {
			r.Use(inOrder(s, middleware.Recoverer, s.limit)...)
			r.Get("/hello", s.hello)
			r.Post("/login", s.login)
			r.Get("/panic", s.panic)
			r.Get("/stream", s.stream)
			r.Get("/upgrade", s.upgrade)
		})
		r.Route("/users", func(r chi.Router) {
			r.With(s.limit).Get("/{id}", s.user)
		})
		return r
	}
	chis := router{build: build, users: "/users/{id}"}
	t.Run("Pattern", chis.test)
	chis.route = func(r *http.Request) string { return chi.RouteContext(r.Context()).RoutePattern() }
	t.Run("RoutePattern", chis.test)
}

// silent is a log of chi's, which would print panics otherwise.
type silent struct{}

func (silent) NewLogEntry(*http.Request) middleware.LogEntry { return silent{} }

func (silent) Write(int, int, http.Header, time.Duration, any) {}

func (silent) Panic(any, []byte) {}
