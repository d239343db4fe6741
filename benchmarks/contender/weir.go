package contender

import (
	"time"

	"github.com/goweir/weir"
)

const weirModule = "github.com/goweir/weir"

func (l Limit) weir() weir.Limit { return weir.Per(l.Count, l.Period) }

// Weir is one weir.Limiter.
var Weir = Contender{
	Name: "weir", Module: weirModule, How: "`New(TokenBucket(l)).Allow()`",
	New: func(l Limit, _ int) Limiter {
		return askWeir(weir.New(weir.TokenBucket(l.weir())))
	},
}

// WeirAll is one weir.Limiter with two limits.
var WeirAll = Contender{
	Name: "weir, All of two", Module: weirModule, How: "`New(All(TokenBucket(l), TokenBucket(l))).Allow()`",
	New: func(l Limit, _ int) Limiter {
		return askWeir(weir.New(weir.All(weir.TokenBucket(l.weir()), weir.TokenBucket(l.weir()))))
	},
}

// WeirCoarse is one weir.Limiter on a cached clock.
var WeirCoarse = Contender{
	Name: "weir, coarse clock", Module: weirModule, How: "the same with `WithClock(NewCoarseClock(time.Millisecond))`",
	New: func(l Limit, _ int) Limiter {
		clock := weir.NewCoarseClock(time.Millisecond)
		coarse := askWeir(weir.New(weir.TokenBucket(l.weir()), weir.WithClock(clock)))
		coarse.Close = func() { _ = clock.Close() }
		return coarse
	},
}

func askWeir(w *weir.Limiter) Limiter {
	return limiter(func(keys []string) (allowed int) {
		for range keys {
			if w.Allow() {
				allowed++
			}
		}
		return allowed
	})
}

// WeirClients is a weir.PerClient. Clients are kept for an hour after they are
// full, so that those who were put there to be asked for are still there.
var WeirClients = Contender{
	Name: "weir", Module: weirModule, How: "`NewPerClient[string](TokenBucket(l)).Allow(key)`",
	New: func(l Limit, _ int) Limiter {
		return AskClients(weir.NewPerClient[string](weir.TokenBucket(l.weir()), weir.WithStaleAfter(time.Hour)))
	},
}

// WeirLogs is a weir.PerClient with a sliding log for each client.
var WeirLogs = Contender{
	Name: "weir, sliding log", Module: weirModule, How: "`NewPerClient[string](SlidingWindow(l)).Allow(key)`",
	New: func(l Limit, _ int) Limiter {
		return AskClients(weir.NewPerClient[string](weir.SlidingWindow(l.weir()), weir.WithStaleAfter(time.Hour)))
	},
}

// AskClients puts a PerClient behind the face of a Limiter.
func AskClients(w *weir.PerClient[string]) Limiter {
	return Limiter{
		Ask: func(keys []string) (allowed int) {
			for _, key := range keys {
				if w.Allow(key) {
					allowed++
				}
			}
			return allowed
		},
		Close: func() { _ = w.Close() },
	}
}
