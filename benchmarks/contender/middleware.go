package contender

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/didip/tollbooth/v7"
	tollboothlimiter "github.com/didip/tollbooth/v7/limiter"
	"github.com/go-chi/httprate"
	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	golimiterhttp "github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	ulule "github.com/ulule/limiter/v3"
	ululehttp "github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// Middlewares are those that limit HTTP requests by the address that connects,
// in front of a handler that does nothing.
func Middlewares() []Contender {
	return []Contender{
		middleware("no middleware", "", "the handler alone", func(Limit) func(http.Handler) http.Handler {
			return func(next http.Handler) http.Handler { return next }
		}),
		middleware("floor", "", "a copy of the request with a value in its context, and two fields that are always the same", floorHTTP),
		weirMiddleware("weir", "standard fields", httplimit.HeadersStandard),
		weirMiddleware("weir, X-RateLimit", "`HeadersXRateLimit`", httplimit.HeadersXRateLimit),
		weirMiddleware("weir, Retry-After only", "`HeadersRetryAfterOnly`", httplimit.HeadersRetryAfterOnly),
		middleware("httprate", "github.com/go-chi/httprate", "`LimitBy(count, period, RemoteAddr through CanonicalizeIP)`", func(l Limit) func(http.Handler) http.Handler {
			return httprate.LimitBy(l.Count, l.Period, func(r *http.Request) (string, error) {
				host, _, err := net.SplitHostPort(r.RemoteAddr)
				return httprate.CanonicalizeIP(host), err
			})
		}),
		middleware("go-limiter/httplimit", "github.com/sethvargo/go-limiter", "`NewMiddleware(memorystore, IPKeyFunc())`", func(l Limit) func(http.Handler) http.Handler {
			store := must(memorystore.New(&memorystore.Config{Tokens: uint64(l.Count), Interval: l.Period}))
			return must(golimiterhttp.NewMiddleware(store, golimiterhttp.IPKeyFunc())).Handle
		}),
		middleware("ulule/limiter", "github.com/ulule/limiter/v3", "`stdlib.NewMiddleware(limiter.New(memory.NewStore(), rate))`", func(l Limit) func(http.Handler) http.Handler {
			rate := ulule.Rate{Period: l.Period, Limit: int64(l.Count)}
			return ululehttp.NewMiddleware(ulule.New(memory.NewStore(), rate)).Handler
		}),
		middleware("tollbooth", "github.com/didip/tollbooth/v7", "`LimitHandler(NewLimiter(perSecond, ...), next)`, by RemoteAddr", func(l Limit) func(http.Handler) http.Handler {
			limiter := tollbooth.NewLimiter(l.perSecond(), &tollboothlimiter.ExpirableOptions{DefaultExpirationTTL: time.Hour})
			limiter.SetBurst(l.Count).SetIPLookups([]string{"RemoteAddr"})
			return func(next http.Handler) http.Handler { return tollbooth.LimitHandler(limiter, next) }
		}),
		middleware("by hand", "golang.org/x/time", "`map[string]*rate.Limiter` under a `sync.Mutex`, no fields", byHand),
	}
}

// floorHTTP tells the handler and the client as net/http has it done, and limits nothing.
func floorHTTP(Limit) func(http.Handler) http.Handler {
	policy, left := []string{`"default";q=100;w=60`}, []string{`"default";r=99;t=1`}
	decision := new(weir.Decision)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Ratelimit-Policy"], w.Header()["Ratelimit"] = policy, left
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), floorKey{}, decision)))
		})
	}
}

type floorKey struct{}

func weirMiddleware(name, how string, headers httplimit.HeaderFormat) Contender {
	return middleware(name, weirModule, "`PerRemoteIP(TokenBucket(l))`, "+how, func(l Limit) func(http.Handler) http.Handler {
		m := httplimit.Middleware{Layers: weir.NewLayers(httplimit.PerRemoteIP(weir.TokenBucket(l.weir()))), Headers: headers}
		return m.Handler
	})
}

func byHand(l Limit) func(http.Handler) http.Handler {
	var mu sync.Mutex
	limiters := make(map[string]*rate.Limiter)
	get := func(key string) *rate.Limiter {
		mu.Lock()
		defer mu.Unlock()
		x := limiters[key]
		if x == nil {
			x = newXTime(l)
			limiters[key] = x
		}
		return x
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			host, _, err := net.SplitHostPort(r.RemoteAddr)
			if err != nil || !get(host).Allow() {
				http.Error(w, http.StatusText(http.StatusTooManyRequests), http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// middleware sends a request for each key, all from one address.
func middleware(name, module, how string, wrap func(Limit) func(http.Handler) http.Handler) Contender {
	return Contender{Name: name, Module: module, How: how, New: func(l Limit, _ int) Limiter {
		handler := wrap(l)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		return limiter(func(keys []string) (allowed int) {
			w := &answer{header: make(http.Header, 8)}
			r := &http.Request{
				Method: http.MethodGet, URL: &url.URL{Path: "/"}, Host: "localhost", RemoteAddr: "192.0.2.1:50000",
				Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody,
			}
			for range keys {
				clear(w.header)
				w.status = http.StatusOK
				handler.ServeHTTP(w, r)
				if w.status == http.StatusOK {
					allowed++
				}
			}
			return allowed
		})
	}}
}

// An answer is a ResponseWriter that keeps no body.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return len(p), nil }
