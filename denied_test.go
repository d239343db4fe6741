package weir_test

import (
	"fmt"
	"log/slog"
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
	shadow.OnDenied(nil)
	require.True(t, shadow.Allow())
	require.Equal(t, 12, calls)
}

// TestADenialIsToldAsItWasDecided: under the policy of the call, not the client's.
func TestADenialIsToldAsItWasDecided(t *testing.T) {
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(1)), weir.WithClock(weir.NewManualClock()))
	var told []weir.Decision
	clients.OnDenied(func(_ string, d weir.Decision) { told = append(told, d) })
	denied := clients.TakeAs("a", 3, weir.TokenBucket(weir.PerHour(2)).Named("two"))
	require.Equal(t, "two", denied.Policy)
	require.Equal(t, []weir.Decision{denied}, told)

	require.True(t, clients.AllowAs("a", weir.TokenBucket(weir.PerHour(1)).Named("one")))
	require.False(t, clients.AllowAs("a", weir.TokenBucket(weir.PerHour(1)).Named("one")))
	require.Equal(t, []string{"two", "one"}, []string{told[0].Policy, told[1].Policy})
	require.Equal(t, time.Hour, told[1].RetryAfter)
}

// TestALimitersDenialIsToldAsItWasDecided: at the reading of then, and not if it asked for
// what nobody can have.
func TestALimitersDenialIsToldAsItWasDecided(t *testing.T) {
	clock := &hookedClock{ManualClock: weir.NewManualClock()}
	var tick func()
	tick = func() {
		clock.before = tick
		clock.Advance(time.Second)
	}
	tick()
	limiter := weir.New(weir.TokenBucket(weir.PerHour(1)), weir.WithClock(clock))
	var told []weir.Decision
	limiter.OnDenied(func(d weir.Decision) { told = append(told, d) })
	require.True(t, limiter.Allow())
	require.False(t, limiter.AllowN(-1))
	require.Equal(t, []weir.Decision{limiter.Take(1)}, told)
	require.False(t, limiter.Allow())
	require.Len(t, told, 2)
	require.Less(t, told[1].RetryAfter, told[0].RetryAfter)

	clients := weir.NewPerClient[int](weir.TokenBucket(weir.PerHour(1)), weir.WithClock(clock), weir.WithSweepEvery(0))
	clients.OnDenied(func(int, weir.Decision) { told = nil })
	require.False(t, clients.AllowN(1, -1))
	require.NotNil(t, told)
}

// TestALogOfDenialsSaysHowManyWereLeftOut: since the last record, or since it was asked for.
func TestALogOfDenialsSaysHowManyWereLeftOut(t *testing.T) {
	hourly := weir.TokenBucket(weir.PerHour(1)).Named("hourly")
	for client, of := range map[string]func() (allow func(), log func(*slog.Logger)){
		"": func() (func(), func(*slog.Logger)) {
			l := weir.New(hourly)
			return func() { l.Allow() }, l.LogDenied
		},
		"client=somebody ": func() (func(), func(*slog.Logger)) {
			clients := weir.NewPerClient[string](hourly, weir.WithSweepEvery(0))
			return func() { clients.Allow("a") },
				func(l *slog.Logger) { clients.LogDenied(l, func(string) string { return "somebody" }) }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out journal
			allow, log := of()
			for range 5 {
				allow()
			}
			log(out.logger())
			for range 30 {
				allow()
			}
			lines := out.lines()
			require.Len(t, lines, 10)
			require.Equal(t, "level=WARN msg=denied "+client+"policy=hourly retry_after=1h0m0s", lines[0])
			time.Sleep(time.Second)
			synctest.Wait()
			allow()
			require.Equal(t, []string{"level=WARN msg=denied " + client + "policy=hourly retry_after=59m59s left_out=20"}, out.lines())
		})
	}
}

// TestADecisionSaysInALogWhatThereIsToSay: when to come again unless that is never, and shadow.
func TestADecisionSaysInALogWhatThereIsToSay(t *testing.T) {
	policy, retry := slog.String("policy", "p"), slog.Duration("retry_after", time.Second)
	for _, c := range []struct {
		d    weir.Decision
		want []slog.Attr
	}{
		{weir.Decision{Policy: "p", RetryAfter: time.Second}, []slog.Attr{policy, retry}},
		{weir.Decision{Policy: "p", RetryAfter: weir.Never}, []slog.Attr{policy}},
		{weir.Decision{Policy: "p", RetryAfter: time.Second, Shadowed: true}, []slog.Attr{policy, retry, slog.Bool("shadowed", true)}},
	} {
		require.Equal(t, c.want, c.d.LogValue().Group())
	}
}

func ExampleLimiter_OnDenied() {
	limiter := weir.New(weir.TokenBucket(weir.PerMinute(2)).Named("mails"), weir.WithClock(weir.NewManualClock()))
	limiter.OnDenied(func(d weir.Decision) { fmt.Println(d.Policy, "is used up for", d.RetryAfter) })
	for range 3 {
		limiter.Allow()
	}
	// Output: mails is used up for 30s
}
