package contender

import (
	"time"

	"github.com/goweir/weir"
)

// others is the policy of a PerClient whose clients all have one of their own.
var others = weir.TokenBucket(weir.PerHour(10))

// WeirTakeAs is a weir.PerClient whose clients have the same policy, which is
// not the PerClient's.
var WeirTakeAs = Contender{
	Name: "weir", Module: weirModule, How: "`NewPerClient[string](p).TakeAs(key, 1, q)`",
	New: func(l Limit, _ int) Limiter {
		w := weir.NewPerClient[string](others, weir.WithStaleAfter(time.Hour))
		plan := weir.TokenBucket(l.weir())
		return Limiter{
			Ask: func(keys []string) (allowed int) {
				for _, key := range keys {
					if w.TakeAs(key, 1, plan).Allowed {
						allowed++
					}
				}
				return allowed
			},
			Close: func() { _ = w.Close() },
		}
	},
}

// WeirPlans is a weir.PerClient whose clients have many different policies, each
// always the same one.
var WeirPlans = Contender{
	Name: "weir, 4096 policies", Module: weirModule, How: "`NewPerClient[string](p).TakeAs(key, 1, q[key])`, 4096 different ones",
	New: func(l Limit, _ int) Limiter {
		w := weir.NewPerClient[string](others, weir.WithStaleAfter(time.Hour))
		plans := make([]weir.Policy, 4096)
		for i := range plans {
			plans[i] = weir.TokenBucket(weir.Per(l.Count, l.Period+time.Duration(i)))
		}
		return Limiter{
			Ask: func(keys []string) (allowed int) {
				for _, key := range keys {
					if w.TakeAs(key, 1, plans[plan(key)]).Allowed {
						allowed++
					}
				}
				return allowed
			},
			Close: func() { _ = w.Close() },
		}
	},
}

// plan returns the number of a client's plan: the first three hexadecimal digits
// of its key.
func plan(key string) (n int) {
	for _, digit := range []byte(key[:min(3, len(key))]) {
		n = n<<4 | int(digit&15+digit>>6*9)
	}
	return n
}

// WeirTake is a weir.PerClient whose clients have its own policy.
var WeirTake = Contender{
	Name: "weir, Take", Module: weirModule, How: "`NewPerClient[string](TokenBucket(l)).Take(key, 1)`",
	New: func(l Limit, _ int) Limiter {
		w := weir.NewPerClient[string](weir.TokenBucket(l.weir()), weir.WithStaleAfter(time.Hour))
		return Limiter{
			Ask: func(keys []string) (allowed int) {
				for _, key := range keys {
					if w.Take(key, 1).Allowed {
						allowed++
					}
				}
				return allowed
			},
			Close: func() { _ = w.Close() },
		}
	},
}
