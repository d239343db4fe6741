package weir_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// TestDenialsAreToldTenAtOnceAndThenOneASecond: whichever verb denies.
func TestDenialsAreToldTenAtOnceAndThenOneASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := weir.TokenBucket(weir.PerHour(1))
		clients := weir.NewPerClient[string](p, weir.WithSweepEvery(0))
		var told atomic.Int32
		clients.OnDenied(func(key string, d weir.Decision) {
			require.Equal(t, "a", key)
			require.False(t, d.Allowed)
			require.Positive(t, d.RetryAfter)
			told.Add(1)
		})
		clients.Allow("a")
		for range 3 {
			clients.Allow("a")
			clients.AllowN("a", 1)
			clients.Take("a", 1)
			clients.TakeAs("a", 1, p)
			clients.AllowAs("a", p)
			clients.Peek("a", 1)
			clients.Take("a", 0)
			clients.Take("a", -1)
		}
		require.Equal(t, int32(10), told.Load())
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		for range 100 {
			clients.Allow("a")
		}
		require.Equal(t, int32(13), told.Load())
		time.Sleep(time.Minute)
		for range 100 {
			clients.Allow("a")
		}
		require.Equal(t, int32(23), told.Load())
		clients.OnDenied(nil)
		time.Sleep(time.Minute)
		clients.Allow("a")
		require.Equal(t, int32(23), told.Load())
	})
}

// TestADenialByLayersIsToldWhereItIsDenied: with the key that it has there.
func TestADenialByLayersIsToldWhereItIsDenied(t *testing.T) {
	clock := weir.NewManualClock()
	var told []string
	limiter := func(name string, n int, opts ...weir.Option) weir.Layer[string] {
		c := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(n)), append(opts, weir.WithClock(clock))...)
		c.OnDenied(func(key string, d weir.Decision) {
			told = append(told, fmt.Sprint(name, " ", key, " ", d.Limit, d.Shadowed))
		})
		return weir.By(c, func(r string) (string, bool) { return name + r, true })
	}
	global := weir.New(weir.TokenBucket(weir.PerHour(5)), weir.WithClock(clock))
	global.OnDenied(func(d weir.Decision) { told = append(told, fmt.Sprint("global ", d.Limit)) })
	layers := weir.NewLayers(limiter("few", 2), limiter("shadow", 1, weir.WithShadow()), weir.Global[string](global))
	for range 3 {
		layers.Take("a", 1)
	}
	require.Equal(t, []string{"shadow shadowa 1 true", "few fewa 2 false"}, told)
	told = nil
	for _, r := range []string{"b", "c", "d", "e"} {
		layers.Allow(r)
	}
	require.Equal(t, []string{"global 5"}, told)

	told = nil
	alone := weir.NewLayers(limiter("alone", 1))
	alone.Allow("a")
	alone.Allow("a")
	alone.Take("a", 1)
	require.Equal(t, []string{"alone alonea 1 false", "alone alonea 1 false"}, told)
}

// TestWhoWatchesDoesNotDecide: a panic ends there, a denial in it is no deadlock, and
// in shadow all pass.
func TestWhoWatchesDoesNotDecide(t *testing.T) {
	clients := weir.NewPerClient[int](weir.SlidingWindow(weir.PerHour(1)), weir.WithClock(weir.NewManualClock()))
	calls := 0
	clients.OnDenied(func(key int, _ weir.Decision) {
		calls++
		clients.Allow(key)
		panic("watching")
	})
	require.True(t, clients.Allow(1))
	require.False(t, clients.Allow(1))
	require.Equal(t, 10, calls)
	require.Equal(t, uint64(11), clients.Stats().Denied)

	shadow := weir.New(weir.TokenBucket(weir.PerHour(1)), weir.WithShadow(), weir.WithClock(weir.NewManualClock()))
	shadow.OnDenied(func(d weir.Decision) {
		require.True(t, d.Shadowed)
		calls++
	})
	for range 3 {
		require.True(t, shadow.Allow())
	}
	require.Equal(t, 12, calls)
}

// TestALogOfDenialsSaysHowManyWereLeftOut.
func TestALogOfDenialsSaysHowManyWereLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(1)).Named("hourly"), weir.WithSweepEvery(0))
		clients.LogDenied(logger, func(string) string { return "somebody" })
		for range 31 {
			clients.Allow("a")
		}
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		require.Len(t, lines, 10)
		require.Equal(t, "level=WARN msg=denied client=somebody policy=hourly retry_after=1h0m0s", lines[0])
		text.Reset()
		time.Sleep(time.Second)
		synctest.Wait()
		clients.Allow("a")
		require.Equal(t, "level=WARN msg=denied client=somebody policy=hourly retry_after=59m59s left_out=20\n", text.String())
	})
}

func ExampleLimiter_OnDenied() {
	limiter := weir.New(weir.TokenBucket(weir.PerMinute(2)).Named("mails"), weir.WithClock(weir.NewManualClock()))
	limiter.OnDenied(func(d weir.Decision) { fmt.Println(d.Policy, "is used up for", d.RetryAfter) })
	for range 3 {
		limiter.Allow()
	}
	// Output: mails is used up for 30s
}
