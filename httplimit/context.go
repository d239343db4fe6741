package httplimit

import (
	"context"
	"fmt"
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

// String is for contexts that are printed: not the whole request, which may have
// secrets.
func (r *request) String() string { return fmt.Sprintf("%v.WithDecision", r.Context) }

// with makes it a copy of another with a Decision in its context.
func (r *request) with(other *http.Request, d *weir.Decision) *http.Request {
	r.Context, r.decision = other.Context(), *d
	r.http = *other.WithContext(r)
	return &r.http
}

// requests makes some in one allocation. None is used again: a handler may have
// left it or its context with somebody who goes on.
type requests struct{ pool sync.Pool }

type fewRequests struct {
	used int
	all  [5]request // 2 KiB
}

func (p *requests) with(r *http.Request, d *weir.Decision) *http.Request {
	few, _ := p.pool.Get().(*fewRequests)
	if few == nil {
		few = new(fewRequests)
	}
	next := &few.all[few.used]
	if few.used++; few.used < len(few.all) {
		p.pool.Put(few)
	}
	return next.with(r, d)
}

// bringBack has a request show what a handler's copy of it came to, as it would
// without the copy: its pattern, and its form, of which the server deletes the
// files.
func bringBack(r, copied *http.Request) {
	if copied.Pattern != "" {
		r.Pattern = copied.Pattern
	}
	if r.MultipartForm == nil {
		r.MultipartForm = copied.MultipartForm
	}
}
