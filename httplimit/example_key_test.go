package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

func ExampleRemoteIP() {
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerHour(10).WithBurst(1)))
	defer clients.Close()

	for _, remote := range []string{"192.0.2.1:4711", "192.0.2.1:4712", "[2001:db8::1]:4711", "[2001:db8::2]:4711"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		client, _ := httplimit.RemoteIP(r)
		fmt.Println(client, clients.Allow(client))
	}
	// Output:
	// 192.0.2.1/32 true
	// 192.0.2.1/32 false
	// 2001:db8::/64 true
	// 2001:db8::/64 false
}

// A server whose load balancers are in 10.0.0.0/8.
func ExampleClientIP() {
	key := httplimit.ClientIP(netip.MustParsePrefix("10.0.0.0/8"))

	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.0.0.1:4711"
	r.Header.Set("X-Forwarded-For", "203.0.113.9, 198.51.100.7, 10.0.0.2") // the first one is forged
	fmt.Println(key(r))

	r.RemoteAddr = "198.51.100.7:4711" // a client that is not behind a balancer
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	fmt.Println(key(r))
	// Output:
	// 198.51.100.7/32 true
	// 198.51.100.7/32 true
}

// Who owns a whole /48 of addresses takes a new /64 for every request, and is held back as one all the same.
func ExampleAddressKey() {
	var layers []weir.Layer[*http.Request]
	for _, l := range []struct{ bits, perMinute int }{{64, 2}, {56, 4}, {48, 8}} {
		clients := weir.NewPerClient[netip.Prefix](weir.SlidingWindow(weir.PerMinute(l.perMinute)))
		defer clients.Close()
		layers = append(layers, weir.By(clients, httplimit.AddressKey{IPv6Bits: l.bits}.Func()))
	}
	limit := weir.NewLayers(layers...)

	admitted := 0
	for subnet := range 100 {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = fmt.Sprintf("[2001:db8:1:%x00::1]:4711", subnet)
		if limit.Allow(r) {
			admitted++
		}
	}
	fmt.Println(admitted, "of 100")
	// Output:
	// 8 of 100
}

func ExampleHeaderKey() {
	key := httplimit.HeaderKey("X-API-Key")

	r := httptest.NewRequest("GET", "/", nil)
	fmt.Println(key(r)) // a layer keyed so does not apply: add one that does

	r.Header.Set("X-Api-Key", "4f2a")
	fmt.Println(key(r))
	// Output:
	//  false
	// 4f2a true
}
