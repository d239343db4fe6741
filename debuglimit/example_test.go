package debuglimit_test

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/goweir/weir"
	"github.com/goweir/weir/debuglimit"
	"github.com/goweir/weir/httplimit"
)

// A service with a page about its limits, at /debug/weir.
func Example() {
	everybody := weir.New(weir.TokenBucket(weir.PerSecond(1000)))
	addresses := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(10)), weir.WithTopDenied(100))
	layers := weir.NewLayers(httplimit.Global(everybody), weir.By(addresses, httplimit.RemoteIP))

	page := new(debuglimit.Page)
	page.Add("everybody", debuglimit.Limiter(everybody))
	page.Add("addresses", debuglimit.PerClient(addresses, debuglimit.Prefixes().Hashed()))
	page.AddLayers("search", layers)

	mux := http.NewServeMux()
	mux.Handle("/debug/weir", page)
	server := &http.Server{Handler: mux}
	server.RegisterOnShutdown(page.Close)
	fmt.Println(page.Remove("search"), page.Remove("everybody"))
	// Output: false true
}
