package grpclimit

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/goweir/weir/httplimit"
)

// Peer keys an RPC by the address at the other end of its connection: an IPv4
// address by itself and an IPv6 address by its /64, without port and zone. No
// metadata is read, so behind a proxy everybody has the proxy's key; see [Address].
//
// What is not an address, as on a Unix socket, in bufconn, or where there is no
// peer, has the zero Prefix for its key, which all such RPCs share. The result is
// always true: nobody gets around the limit by having no address.
func Peer(c *Call) (netip.Prefix, bool) { return httplimit.AddrIP(c.Peer()) }

// Address keys an RPC by its client's address behind proxies that are trusted, or
// with other lengths of prefix than Peer. It does for the peer and the metadata of
// an RPC what [httplimit.AddressKey] does for a request, and all that is said there
// holds: metadata of a peer that is not trusted is never read. The result is always
// true. Address panics if a field of the key is invalid.
func Address(k httplimit.AddressKey) func(*Call) (netip.Prefix, bool) {
	direct, proxied := k.AddrFunc(), k.Func()
	names := []string{"X-Forwarded-For", "Forwarded"}
	if k.Header != "" {
		names = []string{http.CanonicalHeaderKey(k.Header)}
	}
	return func(c *Call) (netip.Prefix, bool) {
		addr := c.Peer()
		if key, ok := direct(addr); ok {
			return key, true
		}
		r := &http.Request{RemoteAddr: remoteAddr(addr), Header: make(http.Header, len(names))}
		for _, name := range names {
			r.Header[name] = c.Metadata(name)
		}
		return proxied(r)
	}
}

// remoteAddr returns what net/http would write for an address. A client may name its
// socket like somebody's.
func remoteAddr(a net.Addr) string {
	if strings.HasPrefix(a.Network(), "unix") {
		return "@"
	}
	return a.String()
}

// Metadata keys an RPC by a name in its metadata, an API key for example: by the
// first value, so that a client cannot send the one that the handler acts on and a
// second one to be counted under. The value is used as it is. One that is empty is a
// key too, and all who send it share it.
//
// Without the name the result is false: the layer does not apply to the RPC. So a
// limit by metadata is walked around by leaving it out, or by inventing a value for
// each RPC. Use it behind an interceptor that accepts known values only, or beside a
// layer by address that is wide enough for a client's honest use.
//
// The name is written in lower case, as metadata is sent. Metadata panics if it is
// not one that metadata can have.
func Metadata(name string) func(*Call) (string, bool) {
	name = strings.ToLower(name)
	if !isName(strings.TrimPrefix(name, ":")) {
		panic(fmt.Sprintf("grpclimit: Metadata: %q is not a name of metadata: letters, digits, '-', '_' and '.'", name))
	}
	return func(c *Call) (string, bool) {
		values := c.Metadata(name)
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
}

func isName(s string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}
	return s != "" && strings.IndexFunc(s, other) < 0
}

// Method keys an RPC by its FullMethod. The result is false if that is empty. With
// grpc.UnknownServiceHandler every method that a client invents is one.
func Method(c *Call) (string, bool) { return c.FullMethod, c.FullMethod != "" }
