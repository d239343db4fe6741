package httplimit

import (
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strings"
)

// parseAddress reads an address in all forms that Request.RemoteAddr,
// X-Forwarded-For and the nodes of Forwarded have: with a port or an obfuscated
// one, in brackets, with a zone, mapped. Only the address is returned, an IPv4
// address as such.
func parseAddress(s string) (netip.Addr, bool) {
	if addr, ok := parseIPv4(s); ok {
		return addr, true
	}
	host := s
	if s != "" && s[0] == '[' {
		end := strings.IndexByte(s, ']')
		if end < 0 || !isPort(s[end+1:]) {
			return netip.Addr{}, false
		}
		host = s[1:end]
	} else if colon := strings.IndexByte(s, ':'); colon >= 0 && strings.IndexByte(s[colon+1:], ':') < 0 {
		if !isPort(s[colon:]) { // an IPv6 address has at least two colons
			return netip.Addr{}, false
		}
		host = s[:colon]
	}

	// The zone is taken off here: netip would keep it for ever, as a unique.Handle.
	zone := strings.IndexByte(host, '%')
	if zone == len(host)-1 && zone >= 0 {
		return netip.Addr{}, false
	}
	if zone >= 0 {
		host = host[:zone]
	}
	if !mayBeAddress(host) {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || zone >= 0 && addr.Is4() {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// parseIPv4 reads in one pass what almost every RemoteAddr is: an IPv4 address
// with a port, or without. What it cannot read may be an address all the same.
func parseIPv4(s string) (netip.Addr, bool) {
	var quad [4]byte
	field, digits, value := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			if value = 10*value + int(c-'0'); value > 255 || value < 10 && digits > 0 { // a leading zero
				return netip.Addr{}, false
			}
			digits++
		case c == '.' && digits > 0 && field < 3:
			quad[field] = byte(value)
			field, digits, value = field+1, 0, 0
		case c == ':' && digits > 0 && field == 3:
			quad[3] = byte(value)
			return netip.AddrFrom4(quad), isPort(s[i:])
		default:
			return netip.Addr{}, false
		}
	}
	quad[3] = byte(value)
	return netip.AddrFrom4(quad), digits > 0 && field == 3
}

// mayBeAddress sorts out most of what is none without the error that netip would
// allocate.
func mayBeAddress(s string) bool {
	if s == "" || len(s) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255") {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', c == '.', c == ':', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// isPort reports whether s is empty, or a colon and a port: up to five digits, as
// there may be none after the colon of an address, or an obfuscated one of RFC 7239.
func isPort(s string) bool {
	switch {
	case s == "" || s == ":":
		return true
	case s[0] != ':':
		return false
	}
	s = s[1:]
	obfuscated := s[0] == '_' && len(s) > 1
	if !obfuscated && len(s) > 5 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if '0' <= c && c <= '9' {
			continue
		}
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '_' || c == '-'
		if !obfuscated || !letter {
			return false
		}
	}
	return true
}

// addressSet holds prefixes that do not overlap, in order of their first address,
// so that of all that begin at or before an address only the last can contain it.
type addressSet []netip.Prefix

func newAddressSet(prefixes []netip.Prefix) addressSet {
	all := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		all[i] = normal(p, i, len(prefixes))
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	// Two prefixes are apart, or one contains the other, which then comes later.
	var set addressSet
	for _, p := range all {
		if len(set) == 0 || !set[len(set)-1].Overlaps(p) {
			set = append(set, p)
		}
	}
	return set
}

// normal returns p without bits beyond its length, and as IPv4 if it is that.
func normal(p netip.Prefix, i, of int) netip.Prefix {
	switch {
	case !p.IsValid() && !p.Addr().IsValid():
		panic(fmt.Sprintf("httplimit: trusted prefix %d of %d is the zero Prefix", i+1, of))
	case !p.IsValid():
		panic(fmt.Sprintf("httplimit: trusted prefix %d of %d is invalid: %s with a length that it cannot have", i+1, of, p.Addr()))
	case p.Addr().Is4In6() && p.Bits() < 96:
		panic(fmt.Sprintf("httplimit: trusted prefix %d of %d, %s, is wider than all of IPv4: write %s/n, or ::/%d",
			i+1, of, p, p.Addr().Unmap(), p.Bits()))
	case p.Addr().Is4In6():
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

func (s addressSet) contains(addr netip.Addr) bool {
	after := sort.Search(len(s), func(i int) bool { return addr.Less(s[i].Addr()) })
	return after > 0 && s[after-1].Contains(addr)
}
