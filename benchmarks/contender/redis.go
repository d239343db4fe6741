package contender

import (
	"context"
	"math"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/rueidislimit"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/throttled/throttled/v2"
	throttledredis "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
)

const redislimitModule = weirModule + "/redislimit"

// InRedis are the contenders that keep their states in the Redis at an address.
func InRedis(addr string) []Contender {
	return []Contender{
		weirInRedis(addr, "weir", "`redislimit.New(client, TokenBucket(l))`, `Allow(ctx, key)`", goRedis, bucketOf),
		weirInRedis(addr, "weir, rueidis", "`rueidislimit.New(client, TokenBucket(l))`, `Allow(ctx, key)`", viaRueidis, bucketOf),
		redisRate(addr), ululeInRedis(addr), throttledInRedis(addr),
	}
}

// WithLeases is weir with tokens that are taken a thousand at a time.
func WithLeases(addr string) Contender {
	return weirInRedis(addr, "weir, leases", "the same as weir with `WithLease(1000, time.Second)`", goRedis, bucketOf,
		redislimit.WithLease(1000, time.Second))
}

// WithDenyCache is weir that remembers what so many clients were denied. It has its
// states in common with the others: who was filled there is denied here.
func WithDenyCache(addr string, clients int) Contender {
	return weirInRedis(addr, "weir, deny cache", "the same as weir, rueidis with `WithDenyCache` for all clients", viaRueidis, bucketOf,
		redislimit.WithDenyCache(clients))
}

// AllInRedis are weir with three limits.
func AllInRedis(addr string) []Contender {
	apart := redislimit.WithPrefix("all:")
	return []Contender{
		weirInRedis(addr, "weir, All of three", "`redislimit.New(client, All(TokenBucket(l), TokenBucket(2l), TokenBucket(3l)))`", goRedis, threeOf, apart),
		weirInRedis(addr, "weir, All of three, rueidis", "the same with rueidis", viaRueidis, threeOf, apart),
	}
}

func bucketOf(l Limit) weir.Policy { return weir.TokenBucket(l.weir()) }

func threeOf(l Limit) weir.Policy {
	parts := make([]weir.Policy, 3)
	for i := range parts {
		parts[i] = weir.TokenBucket(weir.Per((i+1)*l.Count, l.Period))
	}
	return weir.All(parts...)
}

// A connection makes a PerClient, and says how to end what that is connected by.
type connection func(addr string, p weir.Policy, opts ...redislimit.Option) (*redislimit.PerClient, func())

func goRedis(addr string, p weir.Policy, opts ...redislimit.Option) (*redislimit.PerClient, func()) {
	client := newGoRedis(addr)
	return redislimit.New(client, p, opts...), func() { _ = client.Close() }
}

// viaRueidis is set up for throughput: one connection, on which requests wait for
// each other a moment, to be sent together.
func viaRueidis(addr string, p weir.Policy, opts ...redislimit.Option) (*redislimit.PerClient, func()) {
	client := must(rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{addr},
		DisableCache:      true,
		PipelineMultiplex: -1,
		MaxFlushDelay:     20 * time.Microsecond,
	}))
	return rueidislimit.New(client, p, opts...), client.Close
}

// newGoRedis is the client of all who use go-redis.
func newGoRedis(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
}

// weirInRedis has a patient timeout: a figure is of decisions, or there is none.
func weirInRedis(addr, name, how string, connect connection, policy func(Limit) weir.Policy, opts ...redislimit.Option) Contender {
	return Contender{
		Name: name, Module: redislimitModule, How: how,
		New: func(l Limit, _ int) Limiter {
			w, closing := connect(addr, policy(l), append(opts, redislimit.WithTimeout(time.Minute))...)
			return asking(func(ctx context.Context, key string) bool { return must(w.Allow(ctx, key)) }, func() {
				_ = w.Close()
				closing()
			})
		},
	}
}

func redisRate(addr string) Contender {
	return Contender{
		Name: "redis_rate", Module: "github.com/go-redis/redis_rate/v10", How: "`NewLimiter(client).Allow(ctx, key, l)`",
		New: func(l Limit, _ int) Limiter {
			client := newGoRedis(addr)
			r, limit := redis_rate.NewLimiter(client), redis_rate.Limit{Rate: l.Count, Burst: l.Count, Period: l.Period}
			return asking(func(ctx context.Context, key string) bool { return must(r.Allow(ctx, key, limit)).Allowed > 0 }, func() { _ = client.Close() })
		},
	}
}

func ululeInRedis(addr string) Contender {
	return Contender{
		Name: "ulule/limiter", Module: "github.com/ulule/limiter/v3", How: "`limiter.New(redis.NewStore(client), rate).Get(ctx, key)`",
		New: func(l Limit, _ int) Limiter {
			client := newGoRedis(addr)
			u := ulule.New(must(ululeredis.NewStore(client)), ulule.Rate{Period: l.Period, Limit: int64(l.Count)})
			return asking(func(ctx context.Context, key string) bool { return !must(u.Get(ctx, key)).Reached }, func() { _ = client.Close() })
		},
	}
}

func throttledInRedis(addr string) Contender {
	return Contender{
		Name: "throttled", Module: "github.com/throttled/throttled/v2", How: "`NewGCRARateLimiterCtx(goredisstore.NewCtx(client, prefix), quota)`, `RateLimitCtx(ctx, key, 1)`",
		New: func(l Limit, _ int) Limiter {
			client := newGoRedis(addr)
			gcra := must(throttled.NewGCRARateLimiterCtx(must(throttledredis.NewCtx(client, "throttled:")), throttled.RateQuota{
				MaxRate:  throttled.PerDuration(l.Count, l.Period),
				MaxBurst: l.Count - 1,
			}))
			// By default it fails, undecided, when it has lost ten races for a key.
			gcra.SetMaxCASAttemptsLimit(math.MaxInt)
			return asking(func(ctx context.Context, key string) bool {
				limited, _, err := gcra.RateLimitCtx(ctx, key, 1)
				return !must(limited, err)
			}, func() { _ = client.Close() })
		},
	}
}

// asking returns a Limiter that asks for one key after the other. The call is no
// direct one: what that costs is lost in a round trip.
func asking(allow func(ctx context.Context, key string) bool, closing func()) Limiter {
	ctx := context.Background()
	return Limiter{Close: closing, Ask: func(keys []string) (allowed int) {
		for _, key := range keys {
			if allow(ctx, key) {
				allowed++
			}
		}
		return allowed
	}}
}
