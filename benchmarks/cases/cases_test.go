package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/benchmarks/measure"
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
	} {
		for _, by := range test.c.Contenders {
			if by.Module == "" { // a floor decides nothing
				continue
			}
			l := test.c.Start(by)
			r := measure.Ask(l, test.c.Sources(2, 1), measure.Budget{Ops: n})
			l.Close()
			require.InDelta(t, test.allowed, r.Allowed, 0.01, "%s by %s", test.c.Name, by.Name)
		}
	}
}
