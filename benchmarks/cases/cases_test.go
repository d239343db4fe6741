package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/benchmarks/measure"
	"github.com/goweir/weir/redislimit/redistest"
)

// What a case is named for is what happens in it.
func TestShareThatIsAllowed(t *testing.T) {
	const n = 2000
	for _, test := range []struct {
		c       Case
		allowed float64
	}{
		{LimiterAllowed(), 1},
		{LimiterDenied(), 0},
		{HotAllowed(), 1},
		{HotDenied(), 0},
		{Zipf(n), 1},
		{Uniform("uniform", n), 1},
		{Insert(n), 1},
		{Flood(n), 0.1},
		{Wait(), 1},
		{Reserve(), 1},
		{ReservePending(), 1},
		{TakeAs(), 1},
		{TakeAsMany(n), 1},
		{Layers(), 1},
		{Middleware(), 1},
		{MiddlewareDenied(), 0},
		{LimiterObserved(), 1},
		{LimiterObservedDenied(), 0},
		{HotObserved(), 1},
		{HotObservedDenied(), 0},
	} {
		requireShare(t, test.allowed, test.c, n)
	}
}

func TestShareThatRedisAllows(t *testing.T) {
	for i, allowed := range []float64{1, 0, 1, 0} {
		requireShare(t, allowed, InRedis()[i](redistest.Start(t).Addr, 200), 2000)
	}
}

func requireShare(t *testing.T, allowed float64, c Case, n int) {
	for _, by := range c.Contenders {
		if by.Module == "" { // a floor decides nothing
			continue
		}
		l := c.Start(by)
		r := measure.Ask(l, c.Sources(2, 1), measure.Budget{Ops: n})
		l.Close()
		require.InDelta(t, allowed, r.Allowed, 0.01, "%s by %s", c.Name, by.Name)
	}
}
