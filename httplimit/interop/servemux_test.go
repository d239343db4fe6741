package interop_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// Around the mux, a limit holds for whatever is asked. A limit of a route goes
// around the handler that the mux calls: only there is Request.Pattern known.
func Example_serveMux() {
	limit := httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerHour(4))))
	limitRoute := httplimit.Limit(httplimit.PerRoute(nil, weir.TokenBucket(weir.PerHour(2))))

	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Hello.")
	})
	mux.Handle("GET /search/{term}", limitRoute(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Nothing found.")
	})))
	handler := limit(mux) // for ListenAndServe

	show(handler, "GET", "/search/weir")
	show(handler, "GET", "/search/dam")
	show(handler, "GET", "/search/sluice")
	show(handler, "GET", "/")
	show(handler, "GET", "/")
	// Output:
	// GET /search/weir 200
	// GET /search/dam 200
	// GET /search/sluice 429
	// GET / 200
	// GET / 429
}

func TestServeMux(t *testing.T) {
	t.Parallel()
	router{
		build: func(s *site) http.Handler {
			mux := http.NewServeMux()
			for pattern, page := range map[string]http.HandlerFunc{
				"GET /hello": s.hello, "POST /login": s.login, "GET /users/{id}": s.user,
				"GET /panic": s.panic, "GET /stream": s.stream, "GET /upgrade": s.upgrade,
			} {
				mux.Handle(pattern, s.limit(page))
			}
			return mux
		},
		users:       "GET /users/{id}",
		noRecoverer: true,
	}.test(t)
}
