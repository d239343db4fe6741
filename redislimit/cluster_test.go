package redislimit_test

import (
	"testing"
	"time"

	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// TestASlotThatMovesTakesItsClientsAlong: under load, and back again.
func TestASlotThatMovesTakesItsClientsAlong(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		cluster := redistest.StartCluster(t, 2)
		c := connect(cluster.Addrs()...)(busy, redislimit.WithTimeout(generous))
		from, _ := cluster.MasterOf("weir:a")
		all := during(c, "a", 8, func() {
			for _, to := range []int{1 - from, from} {
				time.Sleep(200 * time.Millisecond)
				cluster.Move("weir:a", to, pause(200*time.Millisecond))
			}
			time.Sleep(200 * time.Millisecond)
		})
		all.within(t, busy, generous)
		require.Zero(t, all.failed, "%v", all.err)
		require.NotZero(t, all.admitted)
	})
}
