package httplimit_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

func ExampleTransport() {
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(2)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := limiter.Take(1)
		httplimit.HeadersStandard.Set(w.Header(), d, limiter.Policy())
		if !d.Allowed {
			httplimit.WriteDenied(w, r, d)
		}
	}))
	defer server.Close()

	client := &http.Client{Transport: &httplimit.Transport{
		// No more than 10 a second to any host, whatever it allows.
		Hosts: weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10))),
		// GET and such that are denied all the same are sent again in time.
		Retries: 3,
	}}
	for range 4 {
		resp, err := client.Get(server.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode)
	}
	fmt.Println(limiter.Stats().Denied, "denied")
	// Output:
	// 200
	// 200
	// 200
	// 200
	// 0 denied
}

func ExampleWaitError() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	client := &http.Client{Transport: &httplimit.Transport{}}
	for range 2 {
		resp, err := client.Get(server.URL)
		var wait *httplimit.WaitError
		switch {
		case errors.As(err, &wait): // put it back into a queue until then
			fmt.Printf("not sent, come back in %.0f minutes\n", wait.Wait.Minutes())
		case err != nil:
			fmt.Println(err)
		default:
			resp.Body.Close()
			fmt.Println(resp.Status)
		}
	}
	// Output:
	// 503 Service Unavailable
	// not sent, come back in 60 minutes
}
