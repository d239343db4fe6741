package grpclimit

import (
	"net/netip"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
)

// Each of these makes a PerClient of its own. Where you need that, for its Stats or
// SetPolicy, make it yourself: weir.By(clients, grpclimit.Peer).

// PerPeer returns a layer for each address that connects; see [Peer]. Behind a proxy
// that is the proxy's, which all RPCs then share: there, use [PerClientIP].
func PerPeer(p weir.Policy, opts ...weir.Option) weir.Layer[*Call] {
	return weir.By(weir.NewPerClient[netip.Prefix](p, opts...), Peer)
}

// PerClientIP returns a layer for each client's address behind proxies that are
// trusted, by x-forwarded-for or forwarded in the metadata; see [Address], and
// [httplimit.ClientIP] for whom not to trust. If you know which of the two your
// proxies write, weir.By with an Address that names it is stricter.
func PerClientIP(p weir.Policy, trusted []netip.Prefix, opts ...weir.Option) weir.Layer[*Call] {
	return weir.By(weir.NewPerClient[netip.Prefix](p, opts...), Address(httplimit.AddressKey{Trusted: trusted}))
}

// PerMetadata returns a layer for each value of a name in the metadata, such as an
// API key; see [Metadata]. It does not apply to an RPC without the name, so whoever
// leaves that out, or invents another value for each RPC, walks around it. Put it
// behind an interceptor that accepts known values only, and beside [PerPeer] or
// [PerClientIP] for all others.
func PerMetadata(name string, p weir.Policy, opts ...weir.Option) weir.Layer[*Call] {
	return weir.By(weir.NewPerClient[string](p, opts...), Metadata(name))
}

// PerMethod returns a layer for each method, which all clients share; see [Method].
func PerMethod(p weir.Policy, opts ...weir.Option) weir.Layer[*Call] {
	return weir.By(weir.NewPerClient[string](p, opts...), Method)
}

// Global returns the layer of a limiter that all RPCs share.
func Global(l *weir.Limiter) weir.Layer[*Call] { return weir.Global[*Call](l) }
