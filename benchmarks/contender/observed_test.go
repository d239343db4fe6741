package contender

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
	"github.com/goweir/weir/otellimit"
	"github.com/goweir/weir/promlimit"
	"github.com/goweir/weir/redislimit"
)

var (
	_ promlimit.Source = (*redislimit.PerClient)(nil)
	_ otellimit.Source = (*redislimit.PerClient)(nil)
)

func TestADecisionThatIsObservedAllocatesNothing(t *testing.T) {
	day := weir.WithStaleAfter(24 * time.Hour)
	for name, l := range map[string]Limit{"allowed": Roomy, "denied": Closed} {
		t.Run(name, func(t *testing.T) {
			told := 0 // by OnDenied: ten times, and once a second, of which each allocates a timer
			single := weir.New(weir.TokenBucket(l.weir()))
			single.OnDenied(func(weir.Decision) { told++ })
			clients := weir.NewPerClient[string](weir.TokenBucket(l.weir()), day)
			clients.OnDenied(func(string, weir.Decision) { told++ })
			defer clients.Close()
			for _, observed := range []struct {
				promlimit.Source
				allow func()
			}{{single, func() { single.Allow() }}, {clients, func() { clients.Allow("ann") }}} {
				o := newObservers(observed.Source)
				defer o.close()
				observed.allow() // the client is known from now on
				require.NoError(t, o.read())
				require.Zero(t, testing.AllocsPerRun(100_000, observed.allow))
				require.NoError(t, o.read())
			}
			require.Equal(t, l == Closed, told > 0)
		})
	}
}
