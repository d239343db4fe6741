package httplimit

import (
	"net/http"
	"net/netip"

	"github.com/goweir/weir"
)

// Each of these makes a PerClient of its own. Where you need that, for its Stats or
// SetPolicy, make it yourself: weir.By(clients, httplimit.RemoteIP).

// PerRemoteIP returns a layer for each address that connects; see [RemoteIP].
// Behind a load balancer that is the balancer's, which all requests then share:
// there, use [PerClientIP].
func PerRemoteIP(p weir.Policy, opts ...weir.Option) weir.Layer[*http.Request] {
	return weir.By(weir.NewPerClient[netip.Prefix](p, opts...), RemoteIP)
}

// PerClientIP returns a layer for each client's address behind proxies that are
// trusted; see [ClientIP], also for whom not to trust. If you know which header
// your proxies write, weir.By with an [AddressKey] that names it is stricter.
func PerClientIP(p weir.Policy, trusted []netip.Prefix, opts ...weir.Option) weir.Layer[*http.Request] {
	return weir.By(weir.NewPerClient[netip.Prefix](p, opts...), ClientIP(trusted...))
}

// PerHeader returns a layer for each value of a header, such as an API key; see
// [HeaderKey]. It does not apply to a request without the header, so whoever
// leaves that out, or invents another value for each request, walks around it. Put
// it behind a handler that accepts known values only, and beside [PerRemoteIP] or
// [PerClientIP] for all others.
func PerHeader(name string, p weir.Policy, opts ...weir.Option) weir.Layer[*http.Request] {
	return weir.By(weir.NewPerClient[string](p, opts...), HeaderKey(name))
}

// PerRoute returns a layer for each route, which all clients share. It does not
// apply to a request whose route is empty.
//
// If route is nil it is Request.Pattern, which http.ServeMux sets when it has found
// the handler: put the middleware around the handlers that the mux calls, not
// around the mux, where every Pattern is still empty.
//
//	mux.Handle("GET /search", limit(search)) // not: limit(mux)
//
// Chi sets it as well, for middleware in With or Group, and echo for that in Use.
// For gorilla/mux, in Use, return mux.CurrentRoute(r).GetPathTemplate(); gin's is
// FullPath of its own Context. Do not return Request.URL.Path: then every
// path that a client invents is a route.
func PerRoute(route func(*http.Request) string, p weir.Policy, opts ...weir.Option) weir.Layer[*http.Request] {
	if route == nil {
		route = func(r *http.Request) string { return r.Pattern }
	}
	return weir.By(weir.NewPerClient[string](p, opts...), func(r *http.Request) (string, bool) {
		key := route(r)
		return key, key != ""
	})
}

// Global returns the layer of a limiter that all requests share.
func Global(l *weir.Limiter) weir.Layer[*http.Request] { return weir.Global[*http.Request](l) }
