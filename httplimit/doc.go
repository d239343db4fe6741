// Package httplimit limits HTTP requests with weir: it finds out whose a request
// is, and tells clients what they may still do and why they were denied.
//
//	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerSecond(10).WithBurst(20)))
//	client := httplimit.ClientIP(netip.MustParsePrefix("10.0.0.0/8")) // behind these proxies
//	...
//	key, _ := client(r)
//	d := clients.Take(key, 1)
//	httplimit.HeadersStandard.Set(w.Header(), d, clients.Policy())
//	if !d.Allowed {
//		httplimit.WriteDenied(w, r, d)
//		return
//	}
//
// # Whose a request is
//
// [RemoteIP], [ClientIP], [AddressKey] and [HeaderKey] are keys for weir.By and
// weir.PerClient. No header is believed that somebody could have forged: what
// proxies write is read from the right, and only from proxies that are trusted. A
// layer keyed by a header is walked around by leaving the header out, or by
// inventing another value each time; put one by address beside it.
//
// # What clients are told
//
// A [HeaderFormat] writes RateLimit and RateLimit-Policy, X-RateLimit fields, or
// Retry-After alone. [WriteDenied] answers with 429 and a problem (RFC 9457), or
// with a line of text for whoever prefers that.
package httplimit
