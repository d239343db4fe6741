package httplimit

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/goweir/weir"
)

// Middleware limits the requests to a handler. Zero fields are the defaults;
// Layers is required. A Middleware may be copied, and changed after its Handler
// was made: that keeps the fields as they were.
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
	// returned, panicked, or finished with a connection that it hijacked. What is too
	// much is given back and what is too little is charged, as weir.Hold.Settle
	// does: with 0 for all but 401, only failed logins count, while those that are
	// under way count as if they were to fail.
	//
	// The request is the one that the handler had. The status is what it wrote; 200
	// if it wrote nothing, 500 if it panicked before, and 101 if it hijacked.
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
	// path and retry_after, and shadowed if a layer in shadow would have denied. Of
	// those that come faster than one a second, after the first ten, only the
	// number is told: left_out. By default nothing is logged.
	Logger *slog.Logger

	// Client is whom the Logger names; by default the address that a layer is keyed
	// by, or else that of RemoteIP. No other key is logged unless it is returned here:
	// it may be a secret.
	Client func(*http.Request) string
}

// Limit returns a middleware of layers with the default fields, for chi's Use and
// all others that take one.
func Limit(layers ...weir.Layer[*http.Request]) func(http.Handler) http.Handler {
	limits := (&Middleware{Layers: weir.NewLayers(layers...)}).limits()
	return limits.handler
}

// Handler returns the handler that calls next for the requests that are allowed.
// It panics if Layers is nil or Headers is none of the formats.
//
// next gets a copy of the request, with its Decision in the context; see
// [FromContext].
//
// Call Handler once for each handler: what paces the Logger belongs to it. Routers
// with handlers of another type need an adaptor that does, and that has them
// write to the ResponseWriter that next gets, if there is Settle or Bandwidth;
// echo.WrapMiddleware, which calls Handler for each request and answers the
// handlers' errors after Settle, is not enough then. Adaptors for gin and echo
// are in the tests of [github.com/goweir/weir/httplimit/interop].
func (m *Middleware) Handler(next http.Handler) http.Handler { return m.limits().handler(next) }

// limits returns what the handlers of a Middleware have in common.
func (m *Middleware) limits() *limits {
	switch {
	case m.Layers == nil:
		panic("httplimit: Middleware.Layers is nil: make them with weir.NewLayers")
	case m.Headers > HeadersRetryAfterOnly:
		panic(fmt.Sprintf("httplimit: Middleware.Headers is %d: it must be one of the HeaderFormats", m.Headers))
	}
	l := &limits{Middleware: *m}
	if l.Denied == nil {
		l.Denied = WriteDenied
	}
	if l.Error == nil {
		l.Error = writeUnavailable
	}
	if l.Logger != nil {
		l.denials = newDenialLog(l.Logger)
	}
	return l
}

type limits struct {
	Middleware
	policies policyFields
	requests requests
	denials  *denialLog // nil without Logger
}

func (l *limits) handler(next http.Handler) http.Handler {
	if next == nil {
		panic("httplimit: Middleware.Handler of nil: it needs a handler")
	}
	return &handler{l, next}
}

// A handler is one behind its limits.
type handler struct {
	*limits
	next http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := 1
	if h.Cost != nil {
		n = h.Cost(r)
	}
	var v weir.Verdict
	var hold weir.Hold[*http.Request]
	var err error
	if h.Settle == nil {
		v, err = h.Layers.Decide(r.Context(), r, n)
	} else {
		hold, err = h.Layers.Hold(r.Context(), r, n)
		v = hold.Verdict
	}
	if err != nil {
		h.Error(w, r, err)
		return
	}
	h.tell(w.Header(), &v)
	if h.denials != nil && (!v.Allowed || v.Shadowed) {
		h.log(r, v.Decision)
	}
	if !v.Allowed {
		h.Denied(w, r, v.Decision)
		return
	}
	within := h.requests.with(r, &v.Decision)
	if h.Settle == nil && h.Bandwidth == nil {
		h.next.ServeHTTP(w, within)
	} else {
		h.serve(w, within, hold)
	}
	bringBack(r, within)
}

// tell writes the fields for clients. Of a layer in shadow there are none.
func (l *limits) tell(header http.Header, v *weir.Verdict) {
	if l.Headers == HeadersRetryAfterOnly {
		if !v.Allowed {
			setRetryAfter(header, v.Decision)
		}
		return
	}
	field := l.policies.of(v)
	if v.Shadowed || len(field.policies) == 0 {
		l.Headers.set(header, field.policyField, &weir.Decision{Allowed: v.Allowed, RetryAfter: v.RetryAfter})
		return
	}
	l.Headers.set(header, field.policyField, &v.Decision)
}

// serve calls the next handler with a ResponseWriter that is watched, and settles
// what the request has cost whatever becomes of it.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, hold weir.Hold[*http.Request]) {
	watched := &response{ResponseWriter: w}
	if h.Bandwidth != nil {
		watched.paced = newPaced(r, h.Bandwidth)
	}
	returned := false
	if h.Settle != nil {
		defer func() {
			actual := h.Settle(r, watched.final(returned))
			// The client may have gone: that must not keep what is given back.
			if err := hold.Settle(context.WithoutCancel(r.Context()), actual); err != nil && h.denials != nil {
				h.denials.failed(err)
			}
		}()
	}
	h.next.ServeHTTP(watched.writer(), r)
	returned = true
}

func writeUnavailable(w http.ResponseWriter, _ *http.Request, _ error) {
	w.Header()["Cache-Control"] = []string{"no-store"}
	http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
}
