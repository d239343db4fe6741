package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

func ExampleLimit() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") })
	limit := httplimit.Limit(
		httplimit.PerRemoteIP(weir.TokenBucket(weir.PerMinute(2)).Named("client"), clock),
		httplimit.Global(weir.New(weir.TokenBucket(weir.PerSecond(100)).Named("server"), clock)),
	)
	server := limit(hello)

	for range 3 {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit"))
		fmt.Print(w.Body)
	}
	// Output:
	// 200 "client";r=1;t=30
	// hello
	// 200 "client";r=0;t=60
	// hello
	// 429 "client";r=0;t=30
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"The quota is used up. Retry after 30 seconds.","violated-policies":["client"],"retry-after":30}
}

// Only failed logins count: three in ten minutes for each address.
func ExampleMiddleware() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	attempts := weir.SlidingWindow(weir.Per(3, 10*time.Minute)).Named("failed logins")
	limit := httplimit.Middleware{
		Layers: weir.NewLayers(httplimit.PerRemoteIP(attempts, clock)),
		Settle: func(r *http.Request, status int) int {
			if status == http.StatusUnauthorized {
				return 1
			}
			return 0
		},
	}
	login := limit.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("password") != "right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))

	for _, password := range strings.Fields("right right right right wrong wrong right wrong right") {
		w := httptest.NewRecorder()
		login.ServeHTTP(w, httptest.NewRequest("POST", "/login?password="+password, nil))
		fmt.Println(password, w.Code)
	}
	// Output:
	// right 200
	// right 200
	// right 200
	// right 200
	// wrong 401
	// wrong 401
	// right 200
	// wrong 401
	// right 429
}

// A limit by route is around the handlers that the mux calls: there, the pattern
// is known.
func ExamplePerRoute() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	limit := httplimit.Limit(httplimit.PerRoute(nil, weir.TokenBucket(weir.PerMinute(2)), clock))
	user := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.PathValue("id")) })
	search := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "found") })

	mux := http.NewServeMux()
	mux.Handle("GET /users/{id}", limit(user))
	mux.Handle("GET /search", limit(search))

	for _, path := range []string{"/users/1", "/users/2", "/users/3", "/search"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /users/1 200
	// /users/2 200
	// /users/3 429
	// /search 200
}

// A handler may do less for those who have little left.
func ExampleFromContext() {
	clock := weir.WithClock(weir.NewManualClock()) // a program leaves it out
	limit := httplimit.Limit(httplimit.PerHeader("X-Api-Key", weir.TokenBucket(weir.PerMinute(3)).Named("plan"), clock))
	handler := limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d, ok := httplimit.FromContext(r.Context()); ok && d.Remaining < 2 {
			fmt.Fprintf(w, "a short answer: %d of %d left under %s\n", d.Remaining, d.Limit, d.Policy)
			return
		}
		fmt.Fprintln(w, "a long answer")
	}))

	for range 3 {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		r.Header.Set("X-Api-Key", "ann")
		handler.ServeHTTP(w, r)
		fmt.Print(w.Body)
	}
	// Output:
	// a long answer
	// a short answer: 1 of 3 left under plan
	// a short answer: 0 of 3 left under plan
}
