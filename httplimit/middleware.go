package httplimit

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/goweir/weir"
)

// Middleware limits the requests to a handler. Zero fields are the defaults;
// Layers is required. It may be copied, and changed after a Handler was made: that
// keeps the fields as they were. All Handlers of a Middleware write its Logger's
// records at one rate together.
//
// Layers are asked before a request's body is read. One that is denied takes
// nothing from any of them, and does not reach the handler. Layers in shadow deny
// nobody, and clients are not told about them.
type Middleware struct {
	// Layers are the limits that a request has to pass, all or nothing.
	Layers *weir.Layers[*http.Request]

	// Cost is what a request takes of each layer that has no cost of its own; by
	// default 1. One of 0 is free, a negative one is denied for ever.
	Cost func(*http.Request) int

	// Settle returns what a request has cost after all, once the handler has
	// returned or panicked, also if it hijacked the connection. What is too
	// much is given back and what is too little is charged, as weir.Hold.Settle
	// does: with 0 for all but 401, only failed logins count, while those that are
	// under way count as if they were to fail.
	//
	// The request is the one that the handler had. The status is what it wrote; 200
	// if it wrote nothing, 500 if it panicked before, and 101 if it hijacked. If
	// Settle panics, what was charged stays charged.
	Settle func(r *http.Request, status int) int

	// Headers says which fields tell the client. They are written before the handler
	// is called, so what Settle gives back is not in them.
	Headers HeaderFormat

	// Denied answers a request that was denied, after the fields were set; by default
	// WriteDenied.
	Denied func(http.ResponseWriter, *http.Request, weir.Decision)

	// Error answers a request that could not be decided about, because a remote
	// layer failed or the request's context was done; by default with 503 Service
	// Unavailable. To let such requests pass, call the handler here.
	Error func(http.ResponseWriter, *http.Request, error)

	// Bandwidth waits until n bytes of a response's body may be sent; by default
	// nobody waits. It is called for pieces of at most 16 KiB, with the request's
	// context, and WaitN of a limiter is all that it has to do:
	//
	//	func(ctx context.Context, r *http.Request, n int) error {
	//		client, _ := httplimit.RemoteIP(r)
	//		return clients.WaitN(ctx, client, n)
	//	}
	//
	// With an error, the handler's Write returns that.
	Bandwidth func(ctx context.Context, r *http.Request, n int) error

	// Logger gets a record at LevelWarn for each denial, with client, policy, method,
	// path and retry_after, which is absent if no wait would help; and with shadowed
	// where a layer in shadow would have denied. Of those that come faster than one a
	// second, after the first ten, only the number is told, in left_out of the next
	// record, or of one of its own ten seconds later. What a remote layer fails to
	// settle is a record at LevelError. By default nothing is logged.
	Logger *slog.Logger

	// Client is whom the Logger names; by default the address that a layer is keyed
	// by, or else that of RemoteIP. No other key is logged unless it is returned here:
	// it may be a secret.
	Client func(*http.Request) string

	shared *shared // by all handlers; nil before the first
}

// shared is what handlers of one Middleware have in common.
type shared struct {
	policies policyFields
	requests requests
	denials  *denialLog
}

// sharing guards the field of all Middlewares.
var sharing sync.Mutex

// Limit returns a middleware of layers with the default fields, for chi's Use and
// all others that take one.
func Limit(layers ...weir.Layer[*http.Request]) func(http.Handler) http.Handler {
	m := &Middleware{Layers: weir.NewLayers(layers...)}
	return m.Handler
}

// Handler returns the handler that calls next for the requests that are allowed.
// It panics if Layers or next is nil, or Headers is none of the formats.
//
// next gets a copy of the request, with its Decision in the context; see
// [FromContext]. As with any copy, trailers that the client did not announce do
// not reach it.
//
// Routers with handlers of another type need an adaptor that has them write to
// the ResponseWriter that next gets, if there is Settle or Bandwidth, and answers
// their errors before next returns. Adaptors for gin and echo are in the tests of
// [github.com/goweir/weir/httplimit/interop].
func (m *Middleware) Handler(next http.Handler) http.Handler {
	switch {
	case m.Layers == nil:
		panic("httplimit: Middleware.Layers is nil: make them with weir.NewLayers")
	case m.Headers > HeadersRetryAfterOnly:
		panic(fmt.Sprintf("httplimit: Middleware.Headers is %d: it must be one of the HeaderFormats", m.Headers))
	case next == nil:
		panic("httplimit: Middleware.Handler of nil: it needs a handler")
	}
	sharing.Lock()
	defer sharing.Unlock()
	if m.shared == nil {
		m.shared = &shared{denials: newDenialLog()}
	}
	return &handler{m: *m, shared: m.shared, next: next}
}

// A handler is one behind a Middleware.
type handler struct {
	m      Middleware // as it was
	shared *shared
	next   http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 1
	if h.m.Cost != nil {
		n = h.m.Cost(r)
	}
	var v weir.Verdict
	var hold weir.Hold
	var err error
	switch {
	case h.m.Settle != nil:
		hold, err = h.m.Layers.Hold(r.Context(), r, n)
		v = hold.Verdict
	case h.m.Headers == HeadersRetryAfterOnly: // which has no use for more
		v.Decision, err = h.m.Layers.TakeContext(r.Context(), r, n)
	default:
		v, err = h.m.Layers.Decide(r.Context(), r, n)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.tell(w.Header(), &v)
	if !v.Allowed {
		h.log(r, &v.Decision)
		h.deny(w, r, v.Decision)
		return
	}
	var within *http.Request
	if h.m.Headers == HeadersRetryAfterOnly {
		within = h.shared.requests.with(r, &v.Decision)
	} else {
		within = new(request).with(r, &v.Decision)
	}
	defer bringBack(r, within)
	if h.m.Settle == nil && h.m.Bandwidth == nil {
		h.log(r, &v.Decision)
		h.next.ServeHTTP(w, within)
	} else {
		h.serve(w, within, hold, &v.Decision)
	}
}

func (h *handler) log(r *http.Request, d *weir.Decision) {
	if h.m.Logger != nil && (!d.Allowed || d.Shadowed) {
		h.shared.denials.log(&h.m, r, d)
	}
}

// tell writes the fields for clients. Layers in shadow are none of their business.
func (h *handler) tell(header http.Header, v *weir.Verdict) {
	if h.m.Headers == HeadersRetryAfterOnly {
		setRetryAfter(header, v.Decision)
		return
	}
	told := v.Enforced()
	h.m.Headers.set(header, h.shared.policies.of(v), &told)
}

func (h *handler) deny(w http.ResponseWriter, r *http.Request, d weir.Decision) {
	if h.m.Denied != nil {
		h.m.Denied(w, r, d)
		return
	}
	WriteDenied(w, r, d)
}

func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	if h.m.Error != nil {
		h.m.Error(w, r, err)
		return
	}
	header := w.Header()
	header["Cache-Control"] = []string{"no-store"}
	if uploads(r) {
		header["Connection"] = []string{"close"}
	}
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
}

// serve calls the next handler with a ResponseWriter that is watched, and settles
// what the request has cost whatever becomes of it.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, hold weir.Hold, d *weir.Decision) {
	watched := &response{ResponseWriter: w}
	if h.m.Bandwidth != nil {
		watched.paced = newPaced(r, h.m.Bandwidth)
	}
	returned := false
	if h.m.Settle != nil {
		defer func() {
			actual := h.m.Settle(r, watched.final(returned))
			// The client may have gone: that must not keep what is given back.
			err := hold.Settle(context.WithoutCancel(r.Context()), actual)
			if err != nil && h.m.Logger != nil {
				h.shared.denials.failed(&h.m, err)
			}
		}()
	}
	h.log(r, d)
	h.next.ServeHTTP(watched.writer(), r)
	returned = true
}
