package otellimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/goweir/weir/otellimit"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// record returns a tracer, and the spans of it that have ended.
func record(t *testing.T, opts ...sdk.TracerProviderOption) (trace.Tracer, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(append(opts, sdk.WithSpanProcessor(recorder))...)
	t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
	return provider.Tracer("test"), recorder
}

// attributesOf returns those of the only span that has ended.
func attributesOf(t *testing.T, recorder *tracetest.SpanRecorder) map[string]any {
	t.Helper()
	require.Len(t, recorder.Ended(), 1)
	attributes := map[string]any{}
	for _, a := range recorder.Ended()[0].Attributes() {
		attributes[string(a.Key)] = a.Value.AsInterface()
	}
	return attributes
}

func TestAnnotatePutsADecisionOnTheSpan(t *testing.T) {
	for _, test := range []struct {
		decision weir.Decision
		want     map[string]any
	}{
		{weir.Decision{Allowed: true, Remaining: 3, Policy: "hourly"}, map[string]any{
			"weir.allowed": true, "weir.shadowed": false, "weir.remaining": int64(3), "weir.policy": "hourly", "weir.retry_after": 0.,
		}},
		{weir.Decision{RetryAfter: 1500 * time.Millisecond, Policy: "hourly"}, map[string]any{
			"weir.allowed": false, "weir.shadowed": false, "weir.remaining": int64(0), "weir.policy": "hourly", "weir.retry_after": 1.5,
		}},
		{weir.Decision{Allowed: true, Shadowed: true, RetryAfter: time.Second, Policy: "a\xff\"b"}, map[string]any{
			"weir.allowed": true, "weir.shadowed": true, "weir.remaining": int64(0), "weir.policy": "a\ufffd\"b", "weir.retry_after": 1.,
		}},
		{weir.Decision{RetryAfter: weir.Never, Policy: "hourly"}, map[string]any{
			"weir.allowed": false, "weir.shadowed": false, "weir.remaining": int64(0), "weir.policy": "hourly", "weir.retry_after": weir.Never.Seconds(),
		}},
	} {
		tracer, recorder := record(t)
		ctx, span := tracer.Start(context.Background(), "request", trace.WithAttributes(attribute.String("mine", "stays")))
		// One that was there before is gone.
		otellimit.Annotate(ctx, "before", weir.Decision{RetryAfter: time.Hour, Remaining: 9, Policy: "before", Shadowed: true})
		otellimit.Annotate(ctx, "api\xff", test.decision)
		span.End()
		test.want["mine"] = "stays"
		test.want["weir.limiter"] = "api\ufffd"
		require.Equal(t, test.want, attributesOf(t, recorder))
	}
}

func TestAnnotateAllocatesNothingWithoutASpanThatRecords(t *testing.T) {
	dropped, recorder := record(t, sdk.WithSampler(sdk.NeverSample()))
	notSampled, span := dropped.Start(context.Background(), "request")
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(1)))
	for name, ctx := range map[string]context.Context{"no span": context.Background(), "not sampled": notSampled} {
		allocations := testing.AllocsPerRun(1000, func() { otellimit.Annotate(ctx, "api", limiter.Take(1)) })
		require.Zero(t, allocations, name)
	}
	span.End()
	require.Empty(t, recorder.Ended())
}

// traced begins a span for each request, as otelhttp does.
func traced(tracer trace.Tracer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := tracer.Start(r.Context(), "request")
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func ask(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	return w
}

func TestMiddlewareAnnotatesWhatIsAllowedAndWhatIsDenied(t *testing.T) {
	called := 0
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called++
		_, found := httplimit.FromContext(r.Context())
		require.True(t, found)
		w.WriteHeader(http.StatusTeapot)
	})
	limiter := weir.New(weir.TokenBucket(weir.PerMinute(1)).Named("a minute"), weir.WithClock(weir.NewManualClock()))
	for _, own := range []bool{false, true} {
		limiter.Reset()
		called = 0
		m := &httplimit.Middleware{Layers: weir.NewLayers(httplimit.Global(limiter))}
		denial := http.StatusTooManyRequests
		if own {
			denial = http.StatusPaymentRequired
			m.Denied = func(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
				require.Equal(t, time.Minute, d.RetryAfter)
				w.WriteHeader(http.StatusPaymentRequired)
			}
		}
		limit := otellimit.Middleware("api", m)
		for i, want := range []struct {
			status int
			after  float64
		}{{http.StatusTeapot, 0}, {denial, 60}} {
			tracer, recorder := record(t)
			require.Equal(t, want.status, ask(traced(tracer, limit(next))).Code)
			require.Equal(t, map[string]any{
				"weir.limiter": "api", "weir.allowed": i == 0, "weir.shadowed": false, "weir.remaining": int64(0),
				"weir.policy": "a minute", "weir.retry_after": want.after,
			}, attributesOf(t, recorder))
		}
		require.Equal(t, 1, called)
		require.Equal(t, denial, ask(limit(next)).Code, "without a span")
		require.Equal(t, own, m.Denied != nil, "the caller's Middleware is not changed")
	}
}

// What could not be decided about is not said to be denied.
func TestMiddlewareAnnotatesNoRequestWithoutADecision(t *testing.T) {
	failed := func(context.Context, string, int) (weir.Decision, error) {
		return weir.Decision{}, errors.New("the store is away")
	}
	remote := weir.ByRemote(weir.Remote[string]{
		Take: failed, Peek: failed, Policy: func() weir.Policy { return weir.TokenBucket(weir.PerSecond(1)) },
		Refund: func(context.Context, string, int) error { return nil },
	}, func(*http.Request) (string, bool) { return "ann", true })
	limit := otellimit.Middleware("api", &httplimit.Middleware{Layers: weir.NewLayers(remote)})
	tracer, recorder := record(t)
	require.Equal(t, http.StatusServiceUnavailable, ask(traced(tracer, limit(http.NotFoundHandler()))).Code)
	require.Empty(t, attributesOf(t, recorder))
}

// A middleware in which others denied, or around which there are others, does not mix them up.
func TestMiddlewaresInEachOtherAnnotateTheirOwn(t *testing.T) {
	clock := weir.WithClock(weir.NewManualClock())
	middleware := func(name string, perMinute int) func(http.Handler) http.Handler {
		limiter := weir.New(weir.TokenBucket(weir.PerMinute(perMinute)).Named(name), clock)
		return otellimit.Middleware(name, &httplimit.Middleware{Layers: weir.NewLayers(httplimit.Global(limiter))})
	}
	site := middleware("site", 3)(middleware("search", 1)(http.NotFoundHandler()))
	for _, want := range []struct {
		limiter string
		allowed bool
	}{{"search", true}, {"search", false}, {"search", false}, {"site", false}} {
		tracer, recorder := record(t)
		ask(traced(tracer, site))
		attributes := attributesOf(t, recorder)
		require.Equal(t, want.limiter, attributes["weir.limiter"])
		require.Equal(t, want.limiter, attributes["weir.policy"])
		require.Equal(t, want.allowed, attributes["weir.allowed"])
	}
}

func TestMiddlewarePanicsAsHttplimitDoes(t *testing.T) {
	limiter := weir.New(weir.TokenBucket(weir.PerSecond(1)))
	m := &httplimit.Middleware{Layers: weir.NewLayers(httplimit.Global(limiter))}
	require.PanicsWithValue(t, "httplimit: Middleware.Handler of nil: it needs a handler", func() { otellimit.Middleware("api", m)(nil) })
	require.Panics(t, func() { otellimit.Middleware("api", new(httplimit.Middleware))(http.NotFoundHandler()) })
}
