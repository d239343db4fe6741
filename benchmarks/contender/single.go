package contender

import (
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	juju "github.com/juju/ratelimit"
	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

// XTime is one limiter of golang.org/x/time/rate.
var XTime = Contender{
	Name: "x/time/rate", Module: "golang.org/x/time", How: "`rate.NewLimiter(r, burst).Allow()`",
	New: func(l Limit, _ int) Limiter {
		x := newXTime(l)
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				if x.Allow() {
					allowed++
				}
			}
			return allowed
		})
	},
}

func newXTime(l Limit) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(l.perSecond()), l.Count)
}

// Juju is one bucket of juju/ratelimit.
var Juju = Contender{
	Name: "juju/ratelimit", Module: "github.com/juju/ratelimit", How: "`NewBucketWithRate(r, burst).TakeAvailable(1) > 0`",
	New: func(l Limit, _ int) Limiter {
		bucket := juju.NewBucketWithRate(l.perSecond(), int64(l.Count))
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				allowed += int(bucket.TakeAvailable(1))
			}
			return allowed
		})
	},
}

// Failsafe is one bursty limiter of failsafe-go.
var Failsafe = Contender{
	Name: "failsafe-go", Module: "github.com/failsafe-go/failsafe-go", How: "`ratelimiter.NewBursty[any](n, period).TryAcquirePermit()`",
	New: func(l Limit, _ int) Limiter {
		bursty := ratelimiter.NewBursty[any](uint(l.Count), l.Period)
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				if bursty.TryAcquirePermit() {
					allowed++
				}
			}
			return allowed
		})
	},
}

// Uber is one limiter of go.uber.org/ratelimit, which knows no bursts: it waits.
// Where Roomy is asked for it gets a rate that it never has to wait for.
var Uber = Contender{
	Name: "uber/ratelimit", Module: "go.uber.org/ratelimit", How: "`ratelimit.New(n).Take()`, which waits and never denies",
	Waits: true,
	New: func(l Limit, _ int) Limiter {
		if l == Roomy {
			l.Period = time.Second
		}
		u := uber.New(l.Count, uber.Per(l.Period))
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				u.Take()
				allowed++
			}
			return allowed
		})
	},
}
