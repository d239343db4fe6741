package weir_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// chooseBuckets draws a policy of nothing but token buckets that must all admit.
func chooseBuckets(c choose) weir.Policy {
	parts := make([]weir.Policy, 1+c(3))
	for i := range parts {
		parts[i] = weir.TokenBucket(chooseLimit(c, true))
		if c.oneIn(4) {
			parts[i] = weir.All(parts[i], weir.LeakyBucket(chooseLimit(c, true), 0))
		}
	}
	return weir.All(parts...)
}

// TestYesOrNoIsWhatTakeSays: who asks for no more than the answer gets the one that a twin gives who is
// asked for the whole decision, wherever the clock jumps.
func TestYesOrNoIsWhatTakeSays(t *testing.T) {
	for seed := range uint64(300) {
		c := randomly(5000 + seed)
		p := choosePolicy(c, 2)
		if seed%2 == 0 {
			p = chooseBuckets(c)
		}
		clock := &setClock{now: pick(c, 0, -1, 1_700_000_000_000_000_000, oldestTime, newestTime-int64(40*year))}
		leaves := newPlainPolicy(p).leaves()
		limiter, limiterTwin := weir.New(p, weir.WithClock(clock)), weir.New(p, weir.WithClock(clock))
		clients := newClients[string](t, p, clock, weir.WithMaxClients(4, weir.DenyNew))
		clientsTwin := newClients[string](t, p, clock)
		capacity := limiter.Tokens()
		var last weir.Decision
		for step := range 150 {
			clock.now = chooseReading(c, clock.now, last, leaves, true)
			n := chooseN(c, last, leaves)
			switch c(6) {
			case 0:
				n = capacity
			case 1:
				n = pick(c, -1, 0, capacity+1) // the last wraps if there is no limit
			}
			where := fmt.Sprintf("%v, seed %d, step %d: %d at %v", p, seed, step, n, time.Duration(clock.now))
			last = limiterTwin.Take(n)
			want := clientsTwin.Take("client", n)
			if want != last {
				t.Fatalf("%s: Limiter.Take %+v, PerClient.Take %+v", where, last, want)
			}
			yes, yesToClient := limiter.AllowN(n), clients.AllowN("client", n)
			if n == 1 && !yes { // the second time it is denied by what the first found out
				yes, yesToClient = limiter.Allow(), yesToClient || clients.Allow("client")
				limiterTwin.Take(1)
				clientsTwin.Take("client", 1)
			}
			if yes != last.Allowed || yesToClient != last.Allowed {
				t.Fatalf("%s: Limiter.AllowN %v, PerClient.AllowN %v, and Take %+v", where, yes, yesToClient, last)
			}
			if c.oneIn(8) {
				if got, want := limiter.Peek(n), limiterTwin.Peek(n); got != want || clients.Peek("client", n) != want {
					t.Fatalf("%s: afterwards %+v, where %+v is right", where, got, want)
				}
			}
		}
		if limiter.Stats() != limiterTwin.Stats() || clients.Stats() != clientsTwin.Stats() {
			t.Fatalf("%v: %+v and %+v counted", p, limiter.Stats(), clients.Stats())
		}
	}
}
