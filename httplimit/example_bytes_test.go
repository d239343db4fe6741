package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// Downloads at 1 MB/s for each client, however many it has at once.
func ExampleNewWriter() {
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(1_000_000)))
	defer clients.Close()
	download := func(w http.ResponseWriter, r *http.Request) {
		client, _ := httplimit.RemoteIP(r)
		limited := httplimit.NewWriter(r.Context(), w, func(ctx context.Context, n int) error {
			return clients.WaitN(ctx, client, n)
		})
		_, _ = io.Copy(limited, strings.NewReader("a film")) // ends once the client has gone
	}

	w := httptest.NewRecorder()
	download(w, httptest.NewRequest("GET", "/film", nil))
	fmt.Println(w.Body)
	// Output:
	// a film
}

// All backups together are read at no more than 10 MB/s.
func ExampleNewReader() {
	disk := weir.New(weir.TokenBucket(weir.PerSecond(10_000_000)), weir.WithClock(weir.NewManualClock()))
	backup := func(ctx context.Context, to io.Writer, from io.Reader) error {
		_, err := io.Copy(to, httplimit.NewReader(ctx, from, disk.WaitN))
		return err
	}

	var to strings.Builder
	fmt.Println(backup(context.Background(), &to, strings.NewReader("all that we have")))
	fmt.Println(to.String(), disk.Tokens())
	// Output:
	// <nil>
	// all that we have 9999984
}

// Uploads at 1 MB/s in all, for handlers that know nothing of it.
func ExampleNewBody() {
	uploads := weir.New(weir.TokenBucket(weir.PerSecond(1_000_000)), weir.WithClock(weir.NewManualClock()))
	limited := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r = r.WithContext(r.Context()) // a copy: the caller's own stays as it is
			r.Body = httplimit.NewBody(r.Context(), r.Body, uploads.WaitN)
			next.ServeHTTP(w, r)
		})
	}
	count := limited(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintln(w, n, err)
	}))

	w := httptest.NewRecorder()
	count.ServeHTTP(w, httptest.NewRequest("PUT", "/film", strings.NewReader("a film")))
	fmt.Print(w.Body)
	fmt.Println(uploads.Tokens())
	// Output:
	// 6 <nil>
	// 999994
}
