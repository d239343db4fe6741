package redislimit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
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

// TestAReplicaThatTakesOverGoesOnWhereItsMasterWas: with what it was told, and before the
// library would look for it by itself.
func TestAReplicaThatTakesOverGoesOnWhereItsMasterWas(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		ctx, timeout := context.Background(), 200*time.Millisecond
		p := weir.SlidingWindow(weir.Per(2000, 24*time.Hour))
		cluster := redistest.StartCluster(t, 3)
		master, _ := cluster.MasterOf("weir:a")
		replica := cluster.Replica(master)
		c := connect(cluster.Addrs()...)(p, redislimit.WithTimeout(timeout))
		require.Eventually(t, func() bool {
			_, err := c.Peek(ctx, "a", 1)
			return err == nil
		}, generous, time.Millisecond)
		before := during(c, "a", 8, pause(50*time.Millisecond))
		conn := clientOf(t, cluster.Masters[master].Addr).Conn() // WAIT waits for what its own connection wrote
		defer conn.Close()
		require.NoError(t, conn.Set(ctx, "weir:{a}end", "", 0).Err()) // in its slot
		require.Eventually(t, func() bool {
			synced, err := conn.Wait(ctx, 1, time.Second).Result()
			return err == nil && synced == 1
		}, generous, time.Millisecond)
		cluster.Masters[master].Kill()
		after := during(c, "a", 8, func() {
			time.Sleep(300 * time.Millisecond)
			do(t, clientOf(t, replica.Addr), "CLUSTER", "FAILOVER", "TAKEOVER")
			took := time.Now()
			for _, allowed := range []bool{true, false} { // it decides, and then has nothing left
				var err error
				require.Eventually(t, func() bool {
					var d weir.Decision
					d, err = c.Peek(ctx, "a", 1)
					return err == nil && (allowed || !d.Allowed)
				}, 30*time.Second, time.Millisecond, "%v", fmt.Sprint(err))
				t.Log("after", time.Since(took))
			}
		})
		before.and(after).within(t, p, timeout)
		require.NotZero(t, after.failed)
	})
}
