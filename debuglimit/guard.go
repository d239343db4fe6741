package debuglimit

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// fromHere reports whether a request comes from the machine itself. That the peer is
// a loopback address is not enough: it may be a proxy there that all the world
// talks to, or a browser in which a foreign page has had its own name resolve to
// 127.0.0.1.
func fromHere(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback() && isHere(r.Host) && !forwarded(r)
}

// isHere reports whether a Host field names the machine itself.
func isHere(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") // RFC 6761
}

// forwarded reports whether a proxy shows. HTTP/1.0 is what nginx long spoke to what is behind it, unless
// told otherwise, and then in the name of that, without a header; browsers do not.
func forwarded(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return true
	}
	for _, field := range [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if _, ok := r.Header[field]; ok {
			return true
		}
	}
	return false
}

// setHeader sets what keeps a page from being kept, framed, sniffed, or from running or
// fetching anything but its own.
func setHeader(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}
