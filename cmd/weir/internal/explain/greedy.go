package explain

import (
	"time"

	"github.com/goweir/weir"
)

// A Phase is a while in which a client that asks as fast as it can is admitted
// evenly: N requests at From, and the same again each Every until Last, Times in all.
type Phase struct {
	From  time.Duration
	N     int
	Every time.Duration // to a nanosecond; 0 if Times is 1
	Times int
	Last  time.Duration
}

// mostSteps bounds how long a client is followed.
const mostSteps = 200_000

// Greedy follows a client that asks as fast as it can, from an instant at which
// windows begin, for so many phases and so long. It is told when it would be
// admitted, so asking more often would get it no more.
func Greedy(p weir.Policy, phases int, long time.Duration) []Phase {
	clock := weir.NewManualClock()
	limiter := weir.New(p, weir.WithClock(clock))
	var all []Phase
	for range mostSteps {
		at := clock.Now()
		n := takeAll(limiter)
		if n > 0 {
			if all = join(all, at, n); len(all) > phases {
				return all[:phases]
			}
		}
		retry := limiter.Peek(1).RetryAfter
		if n == 0 && retry == 0 || retry > long-at {
			break
		}
		clock.Advance(retry)
	}
	return all
}

// takeAll takes whatever is admitted now, part by part.
func takeAll(l *weir.Limiter) (n int) {
	for {
		k := l.Tokens()
		if k <= 0 || k > maxAtOnce || !l.AllowN(k) {
			return n
		}
		n += k
	}
}

// maxAtOnce is more than any limit that is one.
const maxAtOnce = 1 << 30

// join adds n requests at an instant to the last phase, if they continue it.
func join(all []Phase, at time.Duration, n int) []Phase {
	if len(all) > 0 {
		last := &all[len(all)-1]
		gap := at - last.Last
		switch {
		case last.N != n:
		case last.Times == 1 && last.From > 0:
			last.Every, last.Times, last.Last = gap, 2, at
			return all
		case last.Times > 1 && near(gap, last.Every):
			last.Times++
			last.Last = at
			return all
		}
	}
	return append(all, Phase{From: at, N: n, Times: 1, Last: at})
}

// near forgives the nanosecond by which an interval is rounded.
func near(a, b time.Duration) bool { return a-b <= 1 && b-a <= 1 }
