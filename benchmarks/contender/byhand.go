package contender

import (
	"sync"

	"golang.org/x/time/rate"
)

// MutexMap is the first thing that people write: a map of x/time limiters under
// a mutex, which nobody ever sweeps.
var MutexMap = Contender{
	Name: "map + mutex", Module: "golang.org/x/time", How: "`map[string]*rate.Limiter` under a `sync.Mutex`",
	New: func(l Limit, _ int) Limiter {
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
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				if get(key).Allow() {
					allowed++
				}
			}
			return allowed
		})
	},
}

// SyncMap is the second: the same in a sync.Map.
var SyncMap = Contender{
	Name: "sync.Map", Module: "golang.org/x/time", How: "`sync.Map` of `*rate.Limiter`, `Load` and then `LoadOrStore`",
	New: func(l Limit, _ int) Limiter {
		var limiters sync.Map
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				x, ok := limiters.Load(key)
				if !ok {
					x, _ = limiters.LoadOrStore(key, newXTime(l))
				}
				if x.(*rate.Limiter).Allow() {
					allowed++
				}
			}
			return allowed
		})
	},
}
