package redislimit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// TestSlotsAreThoseOfTheServer.
func TestSlotsAreThoseOfTheServer(t *testing.T) {
	client := redistest.StartCluster(t, 1).Masters[0].Client()
	for _, key := range []string{
		"", "a", "123456789", "weir:ann", "{login}:ann", "x{login}y{z}", "{}a", "a{}b{c}", "{", "}{", "{{a}}", "{a", "a}b{c}", "\xff\x00é",
	} {
		slot, err := client.ClusterKeySlot(context.Background(), key).Result()
		require.NoError(t, err)
		require.EqualValues(t, slot, slotOf(key), "%q", key)
	}
}

// A halfCluster admits everybody, but that the clients of half of the slots may be on a
// node that hangs.
type halfCluster struct{ hangs bool }

func inHalf(state string) bool { return slotOf(state) < slots/2 }

func (h *halfCluster) Call(ctx context.Context, _ *Library, keys, args []string) (Reply, error) {
	if args[0] == "" {
		return Reply{Numbers: []int64{1}}, nil
	}
	if h.hangs && inHalf(keys[0]) {
		<-ctx.Done()
		return Reply{}, ctx.Err()
	}
	return Reply{Numbers: []int64{1, 9, 0, 1, 0, 1}}, nil
}

// TestANodeThatHangsHoldsUpNobodyElse: and its own clients only until that is known.
func TestANodeThatHangsHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &halfCluster{}
		c := NewWith(store, weir.FixedWindow(weir.PerHour(10)), WithTimeout(50*time.Millisecond))
		ask := func() (waited, refused int) { // all at once
			var mu sync.Mutex
			var work sync.WaitGroup
			for i := range 2000 {
				work.Go(func() {
					key, began := fmt.Sprint(i), time.Now()
					_, err := c.Take(context.Background(), key, 1)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case !store.hangs || !inHalf(c.keys.state(key)):
						require.NoError(t, err)
						require.Zero(t, time.Since(began))
					case time.Since(began) > 0:
						require.ErrorIs(t, err, context.DeadlineExceeded)
						waited++
					default:
						require.ErrorIs(t, err, ErrUnavailable)
						refused++
					}
				})
			}
			work.Wait()
			return waited, refused
		}
		ask()
		store.hangs = true
		for range tripAfter {
			waited, _ := ask()
			require.Greater(t, waited, 900)
		}
		for range 10 {
			time.Sleep(probeAfter + time.Millisecond)
			waited, refused := ask()
			require.Equal(t, clusterParts/2, waited)
			require.Greater(t, refused, 900-waited)
		}
		store.hangs = false
		time.Sleep(time.Second)
		for i := range 2000 { // one of each part tries it, alone
			_, err := c.Take(context.Background(), fmt.Sprint(i), 1)
			require.NoError(t, err)
		}
		ask()
	})
}

// TestOneServerHasOneBreaker: and a cluster as many as it has parts that may fail.
func TestOneServerHasOneBreaker(t *testing.T) {
	p := weir.TokenBucket(weir.PerHour(10))
	require.Len(t, NewWith(&gate{}, p).breakers, 1)
	apart := NewWith(&halfCluster{}, p).breakers
	seen := make(map[*breaker]bool)
	for i := range 10_000 {
		seen[apart.of(fmt.Sprint(i))] = true
	}
	require.Len(t, seen, clusterParts)
	require.Len(t, NewWith(&halfCluster{}, p, WithPrefix("{a}")).breakers, 1)
}
