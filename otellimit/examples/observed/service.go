package main

import (
	"io"
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/otellimit"
	"go.opentelemetry.io/otel/trace"
)

// newHandler limits each API key, and puts what was decided on the request's span.
func newHandler(keys *weir.PerClient[string], tracers trace.TracerProvider) http.Handler {
	limit := otellimit.Middleware("keys", &httplimit.Middleware{
		Layers: weir.NewLayers(weir.By(keys, httplimit.HeaderKey("X-Api-Key"))),
	})
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello\n")
	})
	return traced(tracers.Tracer("observed"), limit(hello))
}

// traced begins a span for each request. A program has otelhttp for that.
func traced(tracer trace.Tracer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := tracer.Start(r.Context(), r.Method, trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
