package cases

import (
	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/traffic"
)

func hot(int, uint64) traffic.Source { return traffic.Hot() }

// LimiterAllowed is one limiter that says yes.
func LimiterAllowed() Case {
	return Case{
		Name:       "limiter-allowed",
		Title:      "One limiter, allowed",
		About:      "One limiter, shared by everybody, with room for all.",
		Contenders: contender.Singles(),
		Limit:      contender.Roomy,
		Traffic:    hot,
	}
}

// LimiterDenied is one limiter that says no.
func LimiterDenied() Case {
	return Case{
		Name:       "limiter-denied",
		Title:      "One limiter, denied",
		About:      "The same with its one request of the day used up. uber/ratelimit never denies. The floor writes; a denial need not.",
		Contenders: contender.ThatDeny(contender.Singles()),
		Limit:      contender.Closed,
		Spend:      true,
		Traffic:    hot,
	}
}
