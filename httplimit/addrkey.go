package httplimit

import (
	"net"
	"net/netip"
	"strings"
)

// AddrIP keys a connection by the address at its other end as [RemoteIP] keys
// its requests: an IPv4 address by itself and an IPv6 address by its /64, without
// port and zone. It is a key for the layers of a [Listener].
//
// What is not an address, as on a Unix socket, and nil have the zero Prefix for
// their key, which all such connections share. The result is always true.
func AddrIP(a net.Addr) (netip.Prefix, bool) { return remote.addrKey(a) }

// AddrFunc returns the key function for connections, for [weir.By] and a
// [Listener]. Its result is false for a connection from a proxy that is trusted:
// many clients come through it, and whose its requests are is not known before
// they are read, so that a layer keyed by this applies to direct connections
// only. Header is not used. AddrFunc panics if a field is invalid.
func (k AddressKey) AddrFunc() func(net.Addr) (netip.Prefix, bool) { return k.resolver().addrKey }

func (a *resolver) addrKey(addr net.Addr) (netip.Prefix, bool) {
	peer, ok := addressOf(addr)
	switch {
	case ok && a.trusted.contains(peer):
		return netip.Prefix{}, false
	case !ok:
		return netip.Prefix{}, !a.unix || !isUnixAddr(addr)
	}
	return a.prefix(peer), true
}

// addressOf returns the address of a, an IPv4 address as such.
func addressOf(a net.Addr) (netip.Addr, bool) {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp != nil { // most are; this allocates nothing
		addr, ok := netip.AddrFromSlice(tcp.IP)
		return addr.Unmap(), ok
	}
	if a == nil || isUnixAddr(a) { // a client may name its socket like somebody's address
		return netip.Addr{}, false
	}
	return parseAddress(a.String())
}

func isUnixAddr(a net.Addr) bool {
	if _, ok := a.(*net.UnixAddr); ok {
		return true // nil too, which has no Network
	}
	return a != nil && strings.HasPrefix(a.Network(), "unix")
}
