package httplimit_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// A server that accepts two connections of an address at once, and then one a minute.
func ExampleListener() {
	connections := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerMinute(1).WithBurst(2)).Named("connections"))
	defer connections.Close()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l = httplimit.Listener(l, weir.NewLayers(weir.By(connections, httplimit.AddrIP)))
	server := &http.Server{Handler: http.NotFoundHandler()}
	go server.Serve(l)
	defer server.Close()

	for range 3 {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if resp, err := client.Get("http://" + l.Addr().String()); err != nil {
			fmt.Println("refused")
		} else {
			fmt.Println(resp.Status)
			resp.Body.Close()
		}
	}
	// Output:
	// 404 Not Found
	// 404 Not Found
	// refused
}

func ExampleWithTooManyRequests() {
	accepts := weir.New(weir.TokenBucket(weir.PerMinute(1).WithBurst(0))) // none
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l = httplimit.Listener(l, weir.NewLayers(weir.Global[net.Addr](accepts)), httplimit.WithTooManyRequests())
	defer l.Close()
	go http.Serve(l, nil)

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	answer, err := io.ReadAll(conn)
	for line := range strings.Lines(string(answer)) {
		if !strings.HasPrefix(line, "Date: ") {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	fmt.Println(err)
	// Output:
	// HTTP/1.1 429 Too Many Requests
	// Content-Length: 0
	// Connection: close
	// Cache-Control: no-store
	//
	// <nil>
}
