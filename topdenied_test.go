package weir_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func topDenied(opts ...weir.Option) *weir.PerClient[string] {
	opts = append(opts, weir.WithClock(weir.NewManualClock()), weir.WithSweepEvery(0))
	return weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(1)), opts...)
}

// TestEachVerbThatDeniesCountsTheKeyOnce: also by Layers, and in shadow; what is allowed,
// is only asked for, or is of no or fewer tokens does not count.
func TestEachVerbThatDeniesCountsTheKeyOnce(t *testing.T) {
	for _, opts := range [][]weir.Option{
		{weir.WithTopDenied(3)},
		{weir.WithTopDenied(3), weir.WithShadow()},
	} {
		clients := topDenied(opts...)
		layers := weir.NewLayers(weir.By(clients, func(key string) (string, bool) { return key, true }),
			weir.Global[string](weir.New(weir.TokenBucket(weir.PerHour(1000)))))
		key := "a"
		clients.Allow(key)
		require.Empty(t, clients.TopDenied())
		for i, deny := range []func(){
			func() { clients.Allow(key) },
			func() { clients.AllowN(key, 2) },
			func() { clients.Take(key, 1) },
			func() { clients.TakeAs(key, 1, clients.Policy()) },
			func() { clients.AllowAs(key, clients.Policy()) },
			func() { layers.Allow(key) },
			func() { layers.Take(key, 1) },
			func() { _, _ = layers.TakeContext(context.Background(), key, 1) },
			func() { _, _ = layers.Hold(context.Background(), key, 1) },
		} {
			deny()
			clients.Peek(key, 1)
			clients.AllowN(key, 0)
			clients.AllowN(key, -1)
			require.Equal(t, []weir.DenialCount[string]{{Key: "a", Count: uint64(i + 1)}}, clients.TopDenied(), "verb %d", i)
			require.Equal(t, uint64(i+1), clients.Stats().Denied, "verb %d", i)
		}
	}
}

func TestTopDeniedIsInOrderAndNoMoreThanAskedFor(t *testing.T) {
	clients := topDenied(weir.WithTopDenied(2))
	for i, key := range []string{"a", "b"} {
		for range 10*i + 3 {
			clients.Allow(key)
		}
	}
	require.Equal(t, []weir.DenialCount[string]{{Key: "b", Count: 12}, {Key: "a", Count: 2}}, clients.TopDenied())
	clients.Allow("c")
	clients.Allow("c")
	top := clients.TopDenied()
	require.Len(t, top, 2)
	require.Equal(t, weir.DenialCount[string]{Key: "b", Count: 12}, top[0])
}

// TestTheClientWhoFloodsIsFoundAmongMany: on all cores, with every bound kept.
func TestTheClientWhoFloodsIsFoundAmongMany(t *testing.T) {
	clients := topDenied(weir.WithTopDenied(10))
	const goroutines, rounds = 8, 2000
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range rounds {
				clients.Allow("flood")
				clients.AllowN(fmt.Sprint(g, "/", i), 2)
			}
		})
	}
	group.Wait()
	denied := clients.Stats().Denied
	require.Equal(t, uint64(2*goroutines*rounds-1), denied)
	top := clients.TopDenied()
	require.Equal(t, "flood", top[0].Key)
	for i, c := range top {
		require.LessOrEqual(t, c.Error, denied/10)
		if i == 0 {
			require.LessOrEqual(t, c.Count-c.Error, uint64(goroutines*rounds-1))
			require.GreaterOrEqual(t, c.Count, uint64(goroutines*rounds-1))
		} else {
			require.LessOrEqual(t, c.Count-c.Error, uint64(1))
		}
	}
}

func TestDenialsAreNotCountedUnlessAskedFor(t *testing.T) {
	clients := topDenied()
	clients.AllowN("a", 2)
	require.Empty(t, clients.TopDenied())
}

func TestTopDeniedRefusesWhatMakesNoSense(t *testing.T) {
	for _, k := range []int{-1, 0, 65537} {
		require.PanicsWithValue(t, fmt.Sprintf("weir: WithTopDenied(%d): it must be from 1 to 65536", k),
			func() { weir.WithTopDenied(k) })
	}
	weir.New(weir.TokenBucket(weir.PerSecond(1)), weir.WithTopDenied(1), weir.WithTopDenied(65536)).Allow()
}

func TestCountingDenialsAllocatesNothing(t *testing.T) {
	clients := topDenied(weir.WithTopDenied(2))
	clients.Allow("a")
	clients.Allow("a")
	require.Zero(t, testing.AllocsPerRun(1000, func() { clients.Allow("a") }))
}
