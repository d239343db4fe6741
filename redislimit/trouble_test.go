package redislimit_test

import (
	"context"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// busy admits many, and fewer than a load asks for.
var busy = weir.TokenBucket(weir.PerSecond(200).WithBurst(100))

func pause(d time.Duration) func() { return func() { time.Sleep(d) } }

// TestFunctionFlushUnderLoadFailsNobody.
func TestFunctionFlushUnderLoadFailsNobody(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		s := redistest.Start(t)
		c := connect(s.Addr)(busy, redislimit.WithTimeout(generous))
		client := clientOf(t, s.Addr)
		all := during(c, "a", 8, func() {
			for range 20 { // three of them in one call are too many
				do(t, client, "FUNCTION", "FLUSH")
				_, err := c.Take(context.Background(), "a", 1)
				require.NoError(t, err)
				time.Sleep(25 * time.Millisecond)
			}
		})
		all.within(t, busy, generous)
		require.Zero(t, all.failed)
		require.NotZero(t, all.admitted)
	})
}

// TestAServerThatIsKilledAndRestartsForgetsNothing that it has written down.
func TestAServerThatIsKilledAndRestartsForgetsNothing(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		s := redistest.Start(t, "--appendonly", "yes")
		c := connect(s.Addr)(busy, redislimit.WithTimeout(100*time.Millisecond))
		all := during(c, "a", 8, func() {
			for range 3 {
				time.Sleep(200 * time.Millisecond)
				s.Kill()
				time.Sleep(100 * time.Millisecond)
				s.Restart()
				recovers(t, c)
			}
		})
		all.within(t, busy, 100*time.Millisecond)
		require.NotZero(t, all.failed)
	})
}

// TestAServerThatStopsForTwoSecondsHoldsNobodyUp.
func TestAServerThatStopsForTwoSecondsHoldsNobodyUp(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		s := redistest.Start(t)
		c := connect(s.Addr)(busy, redislimit.WithTimeout(100*time.Millisecond))
		recovers(t, c)
		all := during(c, "a", 8, func() {
			time.Sleep(200 * time.Millisecond)
			s.Signal(syscall.SIGSTOP)
			time.Sleep(2 * time.Second)
			s.Signal(syscall.SIGCONT)
			recovers(t, c)
			time.Sleep(100 * time.Millisecond)
		})
		all.within(t, busy, 100*time.Millisecond)
		require.NotZero(t, all.failed)
		require.NotZero(t, all.admitted)
	})
}

// TestABadNetworkAdmitsNoMore: that is slow, loses everything for a while, and cuts
// connections halfway through a request or an answer. What is asked twice, or is lost, is
// consumed.
func TestABadNetworkAdmitsNoMore(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		timeout := 300 * time.Millisecond
		p := redistest.StartProxy(t, redistest.Start(t).Addr)
		c := connect(p.Addr)(busy, redislimit.WithTimeout(timeout))
		recovers(t, c)
		p.Delay(20 * time.Millisecond)
		slow := during(c, "slow", 16, pause(time.Second))
		slow.within(t, busy, timeout)
		require.NotZero(t, slow.admitted)
		p.Delay(time.Millisecond)
		p.CutEvery(40)
		cut := during(c, "cut", 16, pause(time.Second))
		cut.within(t, busy, timeout)
		require.NotZero(t, cut.admitted)
		p.CutEvery(0)
		lossy := during(c, "lossy", 16, func() {
			for range 2 {
				time.Sleep(100 * time.Millisecond)
				p.Drop(true)
				time.Sleep(400 * time.Millisecond)
				p.Drop(false)
				recovers(t, c)
			}
		})
		lossy.within(t, busy, timeout)
		require.NotZero(t, lossy.failed)
	})
}

// TestAFullServerForgetsNobody: it admits no new clients, and keeps to what it knows.
func TestAFullServerForgetsNobody(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		ctx, p := context.Background(), weir.All(weir.SlidingWindow(weir.PerDay(20)), weir.SlidingWindow(weir.PerHour(10)))
		s := redistest.Start(t, "--maxmemory-policy", "noeviction")
		client := clientOf(t, s.Addr)
		c := connect(s.Addr)(p, redislimit.WithTimeout(generous))
		used, err := client.InfoMap(ctx, "memory").Result()
		require.NoError(t, err)
		now, err := strconv.Atoi(used["Memory"]["used_memory"])
		require.NoError(t, err)
		do(t, client, "CONFIG", "SET", "maxmemory", now+(1<<18))
		admitted := map[string]int{}
		full := false
		for i := 0; !full; i++ {
			require.Less(t, i, 100_000)
			key := strconv.Itoa(i % 5000)
			ok, err := c.Allow(ctx, key)
			if full = err != nil; full {
				require.Contains(t, err.Error(), "OOM")
			} else if ok {
				admitted[key]++
			}
		}
		do(t, client, "CONFIG", "SET", "maxmemory", 0)
		recovers(t, c)
		for key, n := range admitted {
			for ok := true; ok; {
				ok, err = c.Allow(ctx, key)
				require.NoError(t, err)
				if ok {
					n++
				}
			}
			require.Equal(t, 10, n, key)
		}
		t.Log(len(admitted), "clients")
	})
}

// TestAServerThatEvictsFailsNobody: what it forgets begins anew.
func TestAServerThatEvictsFailsNobody(t *testing.T) {
	t.Parallel()
	ctx, p := context.Background(), weir.All(weir.SlidingWindow(weir.PerDay(20)), weir.SlidingWindow(weir.PerHour(10)), bucket(10, time.Hour))
	s := redistest.Start(t, "--maxmemory-policy", "allkeys-random")
	client := clientOf(t, s.Addr)
	c := redislimit.New(s.Client(), p, redislimit.WithTimeout(generous))
	do(t, client, "CONFIG", "SET", "maxmemory", "2mb")
	for i := range 6000 {
		_, err := c.Allow(ctx, strconv.Itoa(i%3000))
		require.NoError(t, err)
	}
	info, err := client.InfoMap(ctx, "stats").Result()
	require.NoError(t, err)
	require.NotEqual(t, "0", info["Stats"]["evicted_keys"])
}
