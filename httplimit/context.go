package httplimit

import (
	"context"
	"net/http"
	"sync"

	"github.com/goweir/weir"
)

// FromContext returns the Decision on the request that a handler serves, given
// its context or one derived from that: of several middlewares around it, that of
// the innermost. It is false outside of a middleware.
func FromContext(ctx context.Context) (d weir.Decision, ok bool) {
	if found, _ := ctx.Value(decisionKey{}).(*weir.Decision); found != nil {
		return *found, true
	}
	return weir.Decision{}, false
}

type decisionKey struct{}

// A request is an HTTP request with its Decision in its context.
type request struct {
	context.Context
	decision weir.Decision
	http     http.Request
}

func (r *request) Value(key any) any {
	if key == (decisionKey{}) {
		return &r.decision
	}
	return r.Context.Value(key)
}

// requests makes them, a few in one allocation. None is used again: a handler may
// have left a request or its context with somebody who goes on. A few, because
// whoever keeps one keeps those that were made with it.
type requests struct{ pool sync.Pool }

type fewRequests struct {
	used int
	all  [5]request // 2 KiB
}

// with returns a copy of a request with a Decision in its context.
func (p *requests) with(r *http.Request, d *weir.Decision) *http.Request {
	few, _ := p.pool.Get().(*fewRequests)
	if few == nil {
		few = new(fewRequests)
	}
	next := &few.all[few.used]
	if few.used++; few.used < len(few.all) {
		p.pool.Put(few)
	}
	next.Context, next.decision = r.Context(), *d
	next.http = *r.WithContext(next)
	return &next.http
}

// bringBack has a request show what a handler's copy of it came to: its pattern,
// as it would without the copy, and its form, of which the server deletes the
// files.
func bringBack(r, copied *http.Request) {
	if r.Pattern == "" {
		r.Pattern = copied.Pattern
	}
	if r.MultipartForm == nil {
		r.MultipartForm = copied.MultipartForm
	}
}
