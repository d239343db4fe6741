package weir_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// Who asks for no more than the answer gets that of the whole decision, wherever the clock jumps, and
// whether one was asked before or not.
func TestYesOrNoIsWhatTakeSays(t *testing.T) {
	for seed := range programs(100) {
		c := randomly(5000 + seed)
		p := choosePolicy(c, 2)
		if seed%2 == 0 {
			p = chooseBuckets(c)
		}
		clock := &setClock{now: pick(c, 0, -1, 1_700_000_000_000_000_000, oldestTime, newestTime-int64(40*year))}
		limits := leafLimits(p)
		limiter, model := weir.New(p, weir.WithClock(clock)), model.NewLimiter(p, model.Options{Now: clock.Now})
		clients := newClients[string](t, p, clock, weir.WithMaxClients(4, weir.DenyNew))
		capacity := limiter.Tokens()
		var last weir.Decision
		for step := range 50 {
			clock.now = chooseReading(c, clock.now, last, limits, true)
			n := chooseN(c, last, limits)
			switch c(6) {
			case 0:
				n = capacity
			case 1:
				n = pick(c, -1, 0, capacity+1) // the last wraps if there is no limit
			}
			where := fmt.Sprintf("%v, seed %d, step %d: %d at %v", p, seed, step, n, time.Duration(clock.now))
			last = model.Take(n)
			yes, yesToClient := limiter.AllowN(n), clients.AllowN("client", n)
			if n == 1 && !yes { // the second time it is denied by what the first found out
				yes, yesToClient = limiter.Allow(), yesToClient || clients.Allow("client")
				model.Take(1)
			}
			if yes != last.Allowed || yesToClient != last.Allowed {
				t.Fatalf("%s: Limiter.AllowN %v, PerClient.AllowN %v, and Take %+v", where, yes, yesToClient, last)
			}
			if c.oneIn(8) {
				if want := model.Peek(n); limiter.Peek(n) != want || clients.Peek("client", n) != want {
					t.Fatalf("%s: afterwards %+v, where %+v is right", where, limiter.Peek(n), want)
				}
			}
		}
		if limiter.Stats() != model.Stats() || (alice{clients}).Stats() != model.Stats() {
			t.Fatalf("%v: %+v and %+v counted", p, limiter.Stats(), clients.Stats())
		}
	}
}
