package cases

import (
	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/traffic"
)

// Wait is one limiter that is waited for where nobody has to.
func Wait() Case {
	return Case{
		Name:       "wait",
		Title:      "Wait with room for all",
		About:      "One limiter, shared by everybody, with room for all: what it costs to be ready to wait.",
		Contenders: contender.Waiting(),
		Limit:      contender.Roomy,
		Traffic:    hot,
	}
}

// Reserve is one limiter with reservations whose instant is now.
func Reserve() Case {
	return Case{
		Name:  "reserve",
		Title: "Reserve with room for all",
		About: "Each reservation is for now. Then Cancel, which is too late to do anything, or weir's Settle, which gives back" +
			" what was reserved. The floor swaps once.",
		Contenders: contender.Reserving(),
		Limit:      contender.Roomy,
		Traffic:    hot,
	}
}

// ReservePending is one limiter with reservations whose instant is to come.
func ReservePending() Case {
	return Case{
		Name:       "reserve-pending",
		Title:      "Reserve and give up waiting",
		About:      "The same with nothing left: each reservation is for tomorrow or later, and is taken back before. The floor swaps once.",
		Contenders: contender.Reserving(),
		Limit:      contender.Closed,
		Traffic:    hot,
	}
}

// TakeAs is one key that has a policy of its own.
func TakeAs() Case {
	return Case{
		Name:       "takeas",
		Title:      "One hot key with a policy of its own",
		About:      "A limiter per client of which everybody is the same client, with room for all under a policy that is not the limiter's.",
		Contenders: append([]contender.Contender{contender.FloorHot}, contender.WithPlans()...),
		Limit:      contender.Roomy,
		Traffic:    hot,
	}
}

// TakeAsMany is n clients with policies of their own.
func TakeAsMany(n int) Case {
	c := population("takeas-1m", n, func(worker int, seed uint64) traffic.Source { return traffic.Uniform(n, seed) })
	c.Title = "Policies of their own over " + Count(n) + " clients"
	c.About = Count(n) + " clients are held, each with a policy that is not the limiter's, and each asks as often as any other."
	c.Contenders = append([]contender.Contender{contender.FloorTable}, contender.WithPlans()...)
	return c
}
