package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `ann is on free, bob on enterprise
  ann, 5: yes, 0 more now (free pace)
  ann, 1: no, in 12s (free pace)
  bob, 500: yes, 100 more now (enterprise pace)
ann buys pro: the 5 that she used are used
  ann, 55: yes, 0 more now (pro pace)
  ann, 1: no, in 1s (pro pace)
pro now offers 120 a minute: the 60 that she used are used
  ann, 60: yes, 0 more now (pro pace)
ann goes back to free: she has used up its pace and its quota, and owes no more than that
  ann, 1: no, in 24h0m0s (free quota)
  ann, 1: yes, 4 more now (free pace)
mistakes change nothing
  no plan "gold"
  plan "pro": weir: part 1 of all: limit with a count of -1: it must not be negative
  bob, 1: yes, 599 more now (enterprise pace)
`

func TestRun(t *testing.T) {
	var out strings.Builder
	run(&out, weir.NewManualClock())
	require.Equal(t, want, out.String())
}

// Whatever the plans are between the requests, a user of 20 a day has 20.
func TestPlans_ChangedUnderLoad(t *testing.T) {
	plans := NewPlans()
	for _, name := range []string{"free", "pro", "enterprise"} {
		require.NoError(t, plans.Offer(name, plan(name, 20, 20)))
	}
	users := weir.NewPerClient[string](plans.Of(""), weir.WithClock(weir.NewManualClock()))
	defer users.Close()

	var allowed atomic.Int64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 300 {
				if j%3 == i%3 {
					_ = plans.Move("ann", []string{"free", "pro", "enterprise"}[j%7%3])
				}
				if users.AllowAs("ann", plans.Of("ann")) {
					allowed.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 20, allowed.Load())
}
