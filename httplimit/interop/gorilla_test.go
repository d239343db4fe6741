package interop_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"testing"

	"github.com/gorilla/handlers"
	"github.com/gorilla/mux"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// Around the router, a limit holds for whatever is asked. With Use it holds for
// what there is a route for, which is known then.
func Example_gorillaMux() {
	limit := httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerHour(4))))
	limitRoute := httplimit.Limit(httplimit.PerRoute(gorillaRoute, weir.TokenBucket(weir.PerHour(2))))

	r := mux.NewRouter()
	r.Use(limitRoute)
	r.HandleFunc("/search/{term}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Nothing found.")
	})
	handler := limit(r) // for ListenAndServe

	show(handler, "GET", "/search/weir")
	show(handler, "GET", "/search/dam")
	show(handler, "GET", "/search/sluice")
	show(handler, "GET", "/favicon.ico")
	show(handler, "GET", "/favicon.ico")
	// Output:
	// GET /search/weir 200
	// GET /search/dam 200
	// GET /search/sluice 429
	// GET /favicon.ico 404
	// GET /favicon.ico 429
}

// gorillaRoute returns the path of a route as it was written. What differs in
// the method alone shares it.
func gorillaRoute(r *http.Request) string {
	path, _ := mux.CurrentRoute(r).GetPathTemplate()
	return path
}

func TestGorillaMux(t *testing.T) {
	t.Parallel()
	router{
		build: func(s *site) http.Handler {
			r := mux.NewRouter()
			r.Use(inOrder[mux.MiddlewareFunc](s, handlers.RecoveryHandler(handlers.RecoveryLogger(log.New(io.Discard, "", 0))), s.limit)...)
			r.HandleFunc("/hello", s.hello).Methods("GET")
			r.HandleFunc("/login", s.login).Methods("POST")
			r.PathPrefix("/users").Subrouter().HandleFunc("/{id:[0-9]+}", s.user).Methods("GET")
			r.HandleFunc("/panic", s.panic)
			r.HandleFunc("/stream", s.stream)
			r.HandleFunc("/upgrade", s.upgrade)
			return r
		},
		route: gorillaRoute,
		users: "/users/{id:[0-9]+}",
	}.test(t)
}
