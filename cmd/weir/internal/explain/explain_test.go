package explain_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/explain"
	"github.com/stretchr/testify/require"
)

func TestGoIsThePolicy(t *testing.T) {
	for text, want := range map[string]string{
		"10/s":                               "weir.TokenBucket(weir.PerSecond(10))",
		"token-bucket 5/10s burst 20":        "weir.TokenBucket(weir.Per(5, 10*time.Second).WithBurst(20))",
		"leaky-bucket 7/d queue 3":           "weir.LeakyBucket(weir.PerDay(7), 3)",
		"fixed-window 3/1500ms":              "weir.FixedWindow(weir.Per(3, 1500*time.Millisecond))",
		"sliding-counter 3/7ns":              "weir.SlidingCounter(weir.Per(3, 7))",
		"unlimited":                          "weir.TokenBucket(weir.Unlimited())",
		"0":                                  "weir.TokenBucket(weir.Limit{})",
		`first-of(1/m as "a", all(2/h,3/h))`: `weir.FirstOf(weir.TokenBucket(weir.PerMinute(1)).Named("a"), weir.All(weir.TokenBucket(weir.PerHour(2)), weir.TokenBucket(weir.PerHour(3))))`,
		`sliding-window 9/1h30m as "x"`:      `weir.SlidingWindow(weir.Per(9, 90*time.Minute)).Named("x")`,
	} {
		require.Equal(t, want, explain.Go(weir.MustParsePolicy(text)), text)
	}
}

func TestGreedyIsWhatAClientGets(t *testing.T) {
	second := time.Second
	for text, want := range map[string][]explain.Phase{
		"token-bucket 2/s burst 5":  {{0, 5, 0, 1, 0}, {second / 2, 1, second / 2, 119, 119 * second / 2}},
		"fixed-window 3/10s":        {{0, 3, 0, 1, 0}, {10 * second, 3, 10 * second, 5, 50 * second}},
		"sliding-window 3/m":        {{0, 3, 0, 1, 0}},
		"token-bucket 18/m burst 1": {{0, 1, 0, 1, 0}, {3333333334, 1, 3333333334, 17, 56666666678}},
		"0":                         nil,
		"unlimited":                 nil,
	} {
		require.Equal(t, want, explain.Greedy(weir.MustParsePolicy(text), 8, 59500*time.Millisecond), text)
	}
	require.Len(t, explain.Greedy(weir.MustParsePolicy("all(10/s, sliding-window 100/m)"), 3, 24*time.Hour), 3)
}

// Nobody gets more than MaxWithin says, and who asks as fast as it can gets close.
func TestGreedyStaysBelowMaxWithin(t *testing.T) {
	for _, text := range []string{"token-bucket 10/s burst 20", "leaky-bucket 3/s", "fixed-window 7/10s", "sliding-counter 50/m", "all(10/s, sliding-window 1000/h)"} {
		p := weir.MustParsePolicy(text)
		got := 0
		for _, phase := range explain.Greedy(p, 1000, time.Minute-1) {
			got += phase.N * phase.Times
		}
		require.LessOrEqual(t, got, p.MaxWithin(time.Minute), text)
		require.GreaterOrEqual(t, 2*got, p.MaxWithin(time.Minute), text)
	}
}

func TestWordsSayEveryPart(t *testing.T) {
	for text, want := range map[string][]string{
		"token-bucket 3/s burst 1": {"A bucket holds 1 token. A request takes one, and one comes back every 333ms: 1 at once, then 3 a second, and all again after 333ms of silence."},
		"token-bucket 18/m":        {"A bucket holds 18 tokens. A request takes one, and one comes back every 3.33s: 18 at once, then 18 a minute, and all again after 1m of silence."},
		"leaky-bucket 1/m":         {"One request every 1m: whoever asks sooner is denied, or waits for it."},
		"fixed-window 1000/h":      {"1,000 requests in each window of 1h, which begin at round times in UTC: up to 2,000 around the end of one."},
		"sliding-window 1/90m":     {"Never more than 1 request in any 1h30m, wherever it begins."},
		"all(unlimited, 0)": {"A request is admitted if each of these admits it; otherwise none of them is charged.",
			"All is admitted.", "Nothing is admitted."},
	} {
		var got []string
		for _, s := range explain.Words(weir.MustParsePolicy(text)) {
			got = append(got, s.Text)
		}
		require.Equal(t, want, got, text)
	}
}

func TestSpansAreWrittenShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", time.Minute: "1m", time.Hour: "1h", 24 * time.Hour: "1d", 25 * time.Hour: "1d1h",
		90 * time.Second: "1m30s", 1500 * time.Millisecond: "1.5s", 10 * time.Minute: "10m", 20 * time.Second: "20s", time.Hour + time.Second: "1h0m1s",
	} {
		require.Equal(t, want, explain.Span(d))
	}
}

// What a client takes is measured, on a clock that does not step back, where a bucket is one word.
func TestBytesAreWhatAPerClientTakes(t *testing.T) {
	const clients = 100_000
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, text := range []string{"1/d", "leaky-bucket 1/d", "fixed-window 1/d", "sliding-counter 1/d", "sliding-window 1000/d", "all(1/d, 2/d)"} {
		p := weir.MustParsePolicy(text)
		held := weir.NewPerClient[int](p, weir.WithSweepEvery(0))
		before := heap() // an empty one takes what it takes
		for i := range clients {
			held.Allow(i)
		}
		took := float64(heap()-before) / clients
		least, _ := explain.Bytes(p)
		t.Logf("%s: %.1f bytes, said %d", text, took, least)
		require.InEpsilon(t, took, least, 0.25, text)
		runtime.KeepAlive(held)
	}
}
