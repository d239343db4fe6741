package otellimit

import (
	"context"
	"net/http"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Annotate puts a Decision of a limiter, under its name, on the span of ctx. Where there is none,
// or it does not record, it does nothing and allocates nothing. The attributes are
//
//	weir.limiter      the name
//	weir.allowed      whether the caller may go on
//	weir.shadowed     whether it was denied, and let through by WithShadow
//	weir.remaining    the largest n that would be admitted next
//	weir.policy       the name of the policy that binds
//	weir.retry_after  seconds until it would be allowed, 0 if it is; 292 years where weir says Never
//
// A span has one Decision: another one replaces it.
func Annotate(ctx context.Context, name string, d weir.Decision) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	// A string that is no UTF-8 would cost an exporter the whole batch.
	span.SetAttributes(
		limiterKey.String(strings.ToValidUTF8(name, "\uFFFD")),
		attribute.Bool("weir.allowed", d.Allowed),
		attribute.Bool("weir.shadowed", d.Shadowed),
		attribute.Int("weir.remaining", d.Remaining),
		attribute.String("weir.policy", strings.ToValidUTF8(d.Policy, "\uFFFD")),
		attribute.Float64("weir.retry_after", d.RetryAfter.Seconds()),
	)
}

// Middleware returns a function like m.Handler whose handlers also annotate the span of each
// request with the Decision, under a name: of those that are allowed before next is called, of
// the others before m.Denied is. Put it inside of what begins the span, as otelhttp does. m is as it is now.
func Middleware(name string, m *httplimit.Middleware) func(next http.Handler) http.Handler {
	annotating := *m
	deny := m.Denied
	if deny == nil {
		deny = httplimit.WriteDenied
	}
	annotating.Denied = func(w http.ResponseWriter, r *http.Request, d weir.Decision) {
		Annotate(r.Context(), name, d)
		deny(w, r, d)
	}
	return func(next http.Handler) http.Handler {
		if next == nil {
			return annotating.Handler(nil) // which says so
		}
		return annotating.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d, _ := httplimit.FromContext(r.Context())
			Annotate(r.Context(), name, d)
			next.ServeHTTP(w, r)
		}))
	}
}
