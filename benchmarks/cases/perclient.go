package cases

import (
	"fmt"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/traffic"
)

// HotAllowed is one key of a limiter per client, allowed.
func HotAllowed() Case {
	return Case{
		Name:       "hot-allowed",
		Title:      "One hot key, allowed",
		About:      "A limiter per client of which everybody is the same client, with room for all.",
		Contenders: contender.Hot(),
		Limit:      contender.Roomy,
		Traffic:    hot,
	}
}

// HotDenied is one key of a limiter per client, denied.
func HotDenied() Case {
	return Case{
		Name:       "hot-denied",
		Title:      "One hot key, denied",
		About:      "The same with the one request of the day used up: what an attacker's own key costs.",
		Contenders: contender.Hot(),
		Limit:      contender.Closed,
		Spend:      true,
		Traffic:    hot,
	}
}

// Zipf is n clients of which few ask often.
func Zipf(n int) Case {
	c := population("zipf", n, func(worker int, seed uint64) traffic.Source { return traffic.Zipf(n, seed) })
	c.Title = "Zipf 1.1 over " + Count(n) + " clients"
	c.About = Count(n) + " clients are held, of which the i-th asks in proportion to 1/i^1.1: most requests are of few clients."
	return c
}

// Uniform is n clients of which each asks as often as the others.
func Uniform(name string, n int) Case {
	c := population(name, n, func(worker int, seed uint64) traffic.Source { return traffic.Uniform(n, seed) })
	c.Title = "Uniform over " + Count(n) + " clients"
	c.About = Count(n) + " clients are held and each asks as often as any other: every decision is a cache miss."
	return c
}

func population(name string, n int, source func(int, uint64) traffic.Source) Case {
	return Case{
		Name:       name,
		Contenders: contender.Population(),
		Limit:      contender.Roomy,
		Held:       n,
		Traffic:    source,
	}
}

// Insert is n clients that nobody saw before, into an empty limiter.
func Insert(n int) Case {
	return Case{
		Name:       "insert",
		Title:      "New clients",
		About:      "From none to " + Count(n) + " clients, each asking once. Growth and, where there is garbage, its collection are part of it. The first floor has place for all from the start, and looks for none.",
		Contenders: contender.Growing(),
		Limit:      contender.Roomy,
		New:        n,
		Traffic:    func(worker int, _ uint64) traffic.Source { return traffic.New(first(worker)) },
	}
}

// Flood is n requests of an attack, a tenth of them from new clients.
func Flood(n int) Case {
	return Case{
		Name:       "flood",
		Title:      "The flood",
		About:      Count(n) + " requests: 90 % are of one client that is denied, 10 % of clients that nobody saw before.",
		Contenders: contender.Keyed(),
		Limit:      contender.Limit{Count: 10, Period: 24 * time.Hour},
		Spend:      true,
		New:        n,
		Traffic:    func(worker int, seed uint64) traffic.Source { return traffic.Flood(first(worker), seed) },
	}
}

// first returns the first of the new clients of a worker: far from those of the
// others, and not client 0.
func first(worker int) uint64 { return uint64(worker+1) << 32 }

// Count writes a number of clients as one says it.
func Count(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.4g million", float64(n)/1e6)
	case n >= 1_000:
		return fmt.Sprintf("%.4g thousand", float64(n)/1e3)
	default:
		return fmt.Sprint(n)
	}
}
