package contender

import (
	"context"

	"github.com/goweir/weir"
)

// WeirAllow is Weir where something else has its name.
var WeirAllow = Contender{Name: "weir, Allow", Module: Weir.Module, How: Weir.How, New: Weir.New}

// WeirWait is one weir.Limiter that is waited for.
var WeirWait = Contender{
	Name: "weir", Module: weirModule, How: "`New(TokenBucket(l)).Wait(ctx)`",
	Waits: true,
	New: func(l Limit, _ int) Limiter {
		w, ctx := weir.New(weir.TokenBucket(l.weir())), context.Background()
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				if w.Wait(ctx) == nil {
					allowed++
				}
			}
			return allowed
		})
	},
}

// XTimeWait is one limiter of golang.org/x/time/rate that is waited for.
var XTimeWait = Contender{
	Name: "x/time/rate", Module: "golang.org/x/time", How: "`rate.NewLimiter(r, burst).Wait(ctx)`",
	Waits: true,
	New: func(l Limit, _ int) Limiter {
		x, ctx := newXTime(l), context.Background()
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				if x.Wait(ctx) == nil {
					allowed++
				}
			}
			return allowed
		})
	},
}

// Those that reserve are made with nothing left where Closed is asked for: what
// they reserve is then for the days to come.

// WeirCancel is one weir.Limiter of which each reservation is cancelled.
var WeirCancel = Contender{
	Name: "weir", Module: weirModule, How: "`r := New(TokenBucket(l)).Reserve(1)`, `r.Cancel()`",
	Waits: true,
	New:   func(l Limit, _ int) Limiter { return reserving(l, weir.Reservation.Cancel) },
}

// WeirSettle is one weir.Limiter of which each reservation turns out to cost
// nothing.
var WeirSettle = Contender{
	Name: "weir, Settle", Module: weirModule, How: "`r := New(TokenBucket(l)).Reserve(1)`, `r.Settle(0)`",
	Waits: true,
	New:   func(l Limit, _ int) Limiter { return reserving(l, func(r weir.Reservation) { r.Settle(0) }) },
}

// reserving returns a weir.Limiter of which each reservation ends in a way.
func reserving(l Limit, end func(weir.Reservation)) Limiter {
	w := weir.New(weir.TokenBucket(l.weir()))
	if l == Closed {
		w.AllowN(l.Count)
	}
	return limiter(func(keys []string) (allowed int) {
		for range keys {
			r := w.Reserve(1)
			if r.OK() {
				allowed++
			}
			end(r)
		}
		return allowed
	})
}

// XTimeCancel is one limiter of golang.org/x/time/rate of which each reservation
// is cancelled.
var XTimeCancel = Contender{
	Name: "x/time/rate", Module: "golang.org/x/time", How: "`r := rate.NewLimiter(r, burst).Reserve()`, `r.Cancel()`",
	Waits: true,
	New: func(l Limit, _ int) Limiter {
		x := newXTime(l)
		if l == Closed {
			x.Allow()
		}
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				r := x.Reserve()
				if r.OK() {
					allowed++
				}
				r.Cancel()
			}
			return allowed
		})
	},
}
