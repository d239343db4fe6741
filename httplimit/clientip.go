package httplimit

import (
	"fmt"
	"net/http"
	"net/netip"
)

// RemoteIP keys a request by the address at the other end of its connection:
// Request.RemoteAddr, an IPv4 address by itself and an IPv6 address by its /64.
// No header is read, so behind a load balancer everybody has the balancer's key;
// see [ClientIP].
//
// Port, brackets and zone are taken off, and ::ffff:192.0.2.1 is 192.0.2.1. What
// is not an address, as on a Unix socket or where RemoteAddr is empty, has the
// zero Prefix for its key, which all such requests share. The result is always
// true: nobody gets around the limit by having no address.
//
// For other prefix lengths see [AddressKey].
func RemoteIP(r *http.Request) (netip.Prefix, bool) { return remote.key(r) }

var remote = AddressKey{}.resolver()

// ClientIP keys a request by its client's address behind the proxies whose
// addresses are trusted, an IPv4 address by itself and an IPv6 address by its
// /64. It panics if one of the prefixes is invalid. It is AddressKey{Trusted:
// trusted}.Func().
//
// The client is RemoteAddr, as with [RemoteIP], unless that is trusted. Then
// X-Forwarded-For or Forwarded (RFC 7239) is read from the right, where the
// nearest proxy wrote, past addresses that are trusted to the first one that is
// not: that is the client. What stands further left is the client's own word and
// is never read, nor is a header from a peer that is not trusted. If all are
// trusted, the client is the leftmost.
//
// Where an address should be and is none, reading ends, and the last good address
// is the client's: its right neighbour's, or RemoteAddr's. So it is with
// an empty element, "unknown", an obfuscated _name, a zone or port that is
// malformed, an element of Forwarded that has no for= or more than one or is
// malformed elsewhere, and a quoted string that spans two lines. Other parameters
// (by=, host=, proto=) are skipped. No more than the last 4096 bytes of a header
// are read, so that a long one costs no more than a short one.
//
// A proxy that adds to one of the two headers often passes the other one on as
// the client sent it. So where both are there, neither is preferred. If they name
// the same client it is that one; one that names none, since all of its
// addresses are trusted, gives way to the other; and if they contradict each
// other, the client is RemoteAddr. Whoever forges the one that the proxies do not
// write can thereby move to the key of the proxy itself, and to no other. If you
// know which header your proxies write, name it in [AddressKey].
//
// Trust only proxies that write one of the headers themselves: one that passes
// on what clients send, as nginx does without proxy_set_header, lets them write
// what they like. So do the ranges of a content network from which its customers
// can send requests too, and a cloud's private network: trust only addresses from
// which nobody but your proxies connects.
func ClientIP(trusted ...netip.Prefix) func(*http.Request) (netip.Prefix, bool) {
	return AddressKey{Trusted: trusted}.Func()
}

// AddressKey says how requests are keyed by address, where [RemoteIP] and
// [ClientIP] do not fit. Zero fields are their defaults.
//
// With several lengths of prefix, each with a policy of its own, a limit holds
// for those who own many addresses. One customer has a /64, or a /56, and anyone
// can get a /48, which is 65,536 of those that a limit by /64 counts one by one:
//
//	layers := weir.NewLayers(
//		weir.By(homes, httplimit.AddressKey{IPv6Bits: 64}.Func()),
//		weir.By(sites, httplimit.AddressKey{IPv6Bits: 56}.Func()),
//		weir.By(networks, httplimit.AddressKey{IPv6Bits: 48, IPv4Bits: 24}.Func()),
//	)
type AddressKey struct {
	// Trusted are the addresses of proxies; see ClientIP. A prefix may have bits
	// set beyond its length, and may be written as IPv4 mapped to IPv6. ::/0
	// contains no IPv4 address.
	Trusted []netip.Prefix

	// TrustUnix says that what connects by a Unix socket is a proxy to be trusted.
	// Where no header then names a client, the key is the zero Prefix.
	TrustUnix bool

	// Header is the only one that is read: Forwarded, or X-Forwarded-For or
	// another that is a list of addresses or one address, such as X-Real-Ip. It
	// has to be one that your proxies write themselves. Without it, both
	// X-Forwarded-For and Forwarded are read; see ClientIP.
	Header string

	// IPv4Bits and IPv6Bits are how much of an address is the key: 1 to 32 and 1 to
	// 128. The defaults are 32 and 64.
	IPv4Bits, IPv6Bits int
}

// Func returns the key function, for [weir.By]. Its result is always true. It
// panics if a field is invalid.
func (k AddressKey) Func() func(*http.Request) (netip.Prefix, bool) { return k.resolver().key }

// resolver is an AddressKey that was validated.
type resolver struct {
	trusted  addressSet
	unix     bool
	header   string // canonical; empty for both
	ip4, ip6 int    // bits
}

func (k AddressKey) resolver() *resolver {
	a := &resolver{trusted: newAddressSet(k.Trusted), unix: k.TrustUnix}
	if k.Header != "" {
		a.header = canonical("AddressKey.Header", k.Header)
	}
	a.ip4 = bits("IPv4Bits", k.IPv4Bits, 32, 32)
	a.ip6 = bits("IPv6Bits", k.IPv6Bits, 64, 128)
	return a
}

func bits(name string, n, standard, most int) int {
	if n < 0 || n > most {
		panic(fmt.Sprintf("httplimit: AddressKey.%s is %d: it must be 1 to %d, or 0 for %d", name, n, most, standard))
	}
	if n == 0 {
		return standard
	}
	return n
}

func (a *resolver) key(r *http.Request) (netip.Prefix, bool) {
	peer, ok := parseAddress(r.RemoteAddr)
	trusted := a.unix && isUnix(r.RemoteAddr)
	if ok {
		trusted = a.trusted.contains(peer)
	}
	client := peer
	if trusted {
		client = a.client(r.Header, peer)
	}
	return a.prefix(client), true
}

// prefix returns what of an address is the key: the zero Prefix of the zero Addr.
func (a *resolver) prefix(addr netip.Addr) netip.Prefix {
	n := a.ip6
	if addr.Is4() {
		n = a.ip4
	}
	prefix, _ := addr.Prefix(n)
	return prefix
}

// client is for a peer that is trusted.
func (a *resolver) client(header http.Header, peer netip.Addr) netip.Addr {
	if a.header != "" {
		client, _ := a.walk(header[a.header], peer, a.header == "Forwarded")
		return client
	}
	plain, forwarded := header["X-Forwarded-For"], header["Forwarded"]

	// One of the two is written by all proxies: its walk ends at the client, or where
	// a proxy wrote no address. The other one may be anything. Each case yields the
	// result of the former or the peer, and which is the former need not be known.
	p, plainNamesNone := a.walk(plain, peer, false)
	f, forwardedNamesNone := a.walk(forwarded, peer, true)
	switch {
	case p == f, forwardedNamesNone && len(plain) > 0:
		return p
	case plainNamesNone:
		return f
	}
	return peer
}

// walk returns the first address from the right that is not trusted, or the last
// one before something that is no address. namesNone: all are trusted.
func (a *resolver) walk(lines []string, peer netip.Addr, forwarded bool) (client netip.Addr, namesNone bool) {
	elements := elements{lines: lines, quotes: forwarded, budget: maxRead}
	client = peer
	for {
		element, ok := elements.previous()
		if !ok {
			return client, true
		}
		if forwarded {
			element = forParameter(element)
		}
		addr, ok := parseAddress(element)
		if !ok {
			return client, false
		}
		client = addr
		if !a.trusted.contains(addr) {
			return client, false
		}
	}
}

// isUnix reports whether s is what net/http writes for the other end of a Unix
// socket: one without a name ("@" on Linux, else ""), of a path, or an abstract one.
func isUnix(s string) bool { return s == "" || s[0] == '@' || s[0] == '/' }
