package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

func ExampleWriteDenied() {
	// Each export takes as many tokens as it has rows, which only the handler knows.
	rows := weir.New(weir.TokenBucket(weir.PerMinute(600)).Named("rows"), weir.WithClock(weir.NewManualClock()))
	export := func(w http.ResponseWriter, r *http.Request) {
		n := 450
		if d := rows.Take(n); !d.Allowed {
			httplimit.WriteDenied(w, r, d)
			return
		}
		fmt.Fprintln(w, n, "rows")
	}

	for range 2 {
		w := httptest.NewRecorder()
		export(w, httptest.NewRequest("GET", "/export", nil))
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Retry-After"))
		fmt.Print(w.Body)
	}
	// Output:
	// 200 ""
	// 450 rows
	// 429 "30"
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"The quota is used up. Retry after 30 seconds.","violated-policies":["rows"],"retry-after":30}
}

func ExampleHeaderFormat_Set() {
	clients := weir.NewPerClient[netip.Prefix](weir.All(
		weir.TokenBucket(weir.PerMinute(100)).Named("burst"),
		weir.FixedWindow(weir.PerDay(1000)).Named("daily"),
	), weir.WithClock(weir.NewManualClock()))
	hello := func(w http.ResponseWriter, r *http.Request) {
		key, _ := httplimit.RemoteIP(r)
		d := clients.Take(key, 1)
		httplimit.HeadersStandard.Set(w.Header(), d, clients.Policy())
		if !d.Allowed {
			httplimit.WriteDenied(w, r, d)
			return
		}
		fmt.Fprintln(w, "hello")
	}

	w := httptest.NewRecorder()
	hello(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Header().Get("RateLimit-Policy"))
	fmt.Println(w.Header().Get("RateLimit"))
	// Output:
	// "burst";q=100;w=60,"daily";q=1000;w=86400
	// "burst";r=99;t=1
}
