// Package httplimit limits HTTP requests with weir: on the server's side, where a
// [Middleware] in front of a handler needs one line,
//
//	limit := httplimit.Limit(httplimit.PerRemoteIP(weir.TokenBucket(weir.PerSecond(10).WithBurst(20))))
//	http.ListenAndServe("localhost:8080", limit(handler))
//
// and on the client's, where a [Transport] waits its turn and does what servers
// ask for.
//
// # Whose a request is
//
// A layer limits all requests together, or those of one client each: [Global],
// [PerRemoteIP], [PerClientIP], [PerHeader], [PerRoute]. These make limiters of
// their own; with weir.By and one of the keys, [RemoteIP], [ClientIP], [AddressKey]
// or [HeaderKey], the limiter is yours, and so are its Stats and SetPolicy. All
// layers of a middleware are charged for a request, or none.
//
// No header is believed that somebody could have forged: what proxies write is
// read from the right, and only from proxies that are trusted. A layer keyed by
// something that clients may leave out or invent is walked around by doing so; put
// one by address beside it.
//
// # What clients are told
//
// A [HeaderFormat] writes RateLimit and RateLimit-Policy, X-RateLimit fields, or
// Retry-After alone. [WriteDenied] answers with 429 and a problem (RFC 9457), or
// with a line of text for whoever prefers that. Handlers have the Decision
// in [FromContext].
//
// # What is not a request
//
// A [Listener] refuses connections before a byte of them is read, keyed by [AddrIP]
// or [AddressKey.AddrFunc]. [NewReader],
// [NewWriter] and [NewBody] limit bytes, and so does Middleware.Bandwidth. Limits
// count requests, not the time that slow clients take for them: set the
// timeouts of http.Server as well. OPTIONS * is answered by http.Server before
// any handler, unless DisableGeneralOptionsHandler is set.
package httplimit
