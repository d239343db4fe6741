package contender

import (
	"context"
	"math"
	"time"

	golimiter "github.com/sethvargo/go-limiter"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	ulule "github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
)

// GoLimiter is sethvargo/go-limiter with its memory store.
var GoLimiter = Contender{
	Name: "go-limiter", Module: "github.com/sethvargo/go-limiter", How: "`memorystore.New(&Config{Tokens, Interval})`, `Take(ctx, key)`",
	New: func(l Limit, _ int) Limiter {
		store := must(memorystore.New(&memorystore.Config{Tokens: uint64(l.Count), Interval: l.Period}))
		return Limiter{Ask: askGoLimiter(store), Close: func() { _ = store.Close(context.Background()) }}
	},
}

func askGoLimiter(store golimiter.Store) func(keys []string) int {
	ctx := context.Background()
	return func(keys []string) (allowed int) {
		for _, key := range keys {
			if _, _, _, ok, err := store.Take(ctx, key); ok && err == nil {
				allowed++
			}
		}
		return allowed
	}
}

// Throttled is throttled's GCRA with its memory store, an LRU of at most so
// many keys: 65,536 as in its documentation, more where there are more clients.
var Throttled = Contender{
	Name: "throttled", Module: "github.com/throttled/throttled/v2", How: "`NewGCRARateLimiterCtx(memstore.NewCtx(keys), quota)`, `RateLimitCtx(ctx, key, 1)`",
	New: func(l Limit, clients int) Limiter {
		store := must(memstore.NewCtx(max(65536, clients)))
		gcra := must(throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
			MaxRate:  throttled.PerDuration(l.Count, l.Period),
			MaxBurst: l.Count - 1,
		}))
		// By default it fails, undecided, when it has lost ten races for a key.
		gcra.SetMaxCASAttemptsLimit(math.MaxInt)
		ctx := context.Background()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				if limited, _, err := gcra.RateLimitCtx(ctx, key, 1); !limited && err == nil {
					allowed++
				}
			}
			return allowed
		})
	},
}

// Ulule is ulule/limiter with its memory store.
var Ulule = Contender{
	Name: "ulule/limiter", Module: "github.com/ulule/limiter/v3", How: "`limiter.New(memory.NewStore(), rate).Get(ctx, key)`",
	New: func(l Limit, _ int) Limiter {
		u := ulule.New(memory.NewStore(), ulule.Rate{Period: l.Period, Limit: int64(l.Count)})
		ctx := context.Background()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				if c, err := u.Get(ctx, key); err == nil && !c.Reached {
					allowed++
				}
			}
			return allowed
		})
	},
}

// Httprate is go-chi/httprate's counter.
var Httprate = Contender{
	Name: "httprate", Module: "github.com/go-chi/httprate", How: "`NewLocalLimitCounter`, asked as its middleware does, without HTTP",
	New: func(l Limit, _ int) Limiter {
		h := newHttprate(l)
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				if h.allow(key, time.Now().UTC()) {
					allowed++
				}
			}
			return allowed
		})
	},
}
