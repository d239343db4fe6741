package cases

import (
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/traffic"
)

// askers is how many goroutines ask a Redis at once: enough to keep it busy.
const askers = 64

// InRedis are the cases of limits that are kept in a Redis. Each wants one that is
// empty, at an address, and many clients.
func InRedis() []func(addr string, n int) Case {
	return []func(string, int) Case{redisOneAllowed, redisOneDenied, redisManyAllowed, redisManyDenied}
}

func redisOneAllowed(addr string, _ int) Case {
	return Case{
		Name:       "redis-one-allowed",
		Title:      "One key, allowed",
		About:      "Everybody is the same client, with room for all.",
		Contenders: append(append(contender.InRedis(addr), contender.WithLeases(addr)), contender.AllInRedis(addr)...),
		Limit:      contender.Roomy,
		Askers:     askers,
		Traffic:    hot,
	}
}

func redisOneDenied(addr string, _ int) Case {
	return Case{
		Name:       "redis-one-denied",
		Title:      "One key, denied",
		About:      "The same with the one request of the day used up.",
		Contenders: append(contender.InRedis(addr), contender.WithDenyCache(addr, 1)),
		Limit:      contender.Closed,
		Spend:      true,
		Askers:     askers,
		Traffic:    hot,
	}
}

func redisManyAllowed(addr string, n int) Case {
	return Case{
		Name:       "redis-many-allowed",
		Title:      "Many keys, allowed",
		About:      Count(n) + " clients have a state, of 1000 in 30 days, and each asks as often as any other.",
		Contenders: contender.InRedis(addr),
		Limit:      contender.Limit{Count: 1000, Period: 30 * 24 * time.Hour}, // a state lives for 43 minutes
		Held:       n,
		Askers:     askers,
		Traffic:    func(_ int, seed uint64) traffic.Source { return traffic.Uniform(n, seed) },
	}
}

func redisManyDenied(addr string, n int) Case {
	c := redisManyAllowed(addr, n)
	c.Name, c.Title = "redis-many-denied", "Many keys, denied"
	c.About = Count(n) + " clients have each used up the one request of the day."
	c.Contenders = append(c.Contenders, contender.WithDenyCache(addr, n))
	c.Limit = contender.Closed
	return c
}
