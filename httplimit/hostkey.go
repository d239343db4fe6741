package httplimit

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// HostKey returns the key of a [Transport] for the host of a URL: its name in
// lower case without a trailing dot, or its IP address in its shortest form, as
// IPv4 if it is that, and the port without leading zeros, also where the URL leaves
// it to http or https: "example.com:443", "[::1]:8080". A name that is not ASCII
// is another key than its xn-- form, though both reach the same host.
func HostKey(u *url.URL) string {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.Unmap().String()
	}
	port := u.Port()
	if zeroless := strings.TrimLeft(port, "0"); zeroless != "" {
		port = zeroless
	}
	if port == "" {
		switch u.Scheme {
		case "http":
			port = "80"
		case "https":
			port = "443"
		}
	}
	return strings.TrimSuffix(net.JoinHostPort(host, port), ":") // a scheme of a Base's own may have no port
}
