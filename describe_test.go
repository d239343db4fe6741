package weir_test

import (
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestDescribe(t *testing.T) {
	for text, want := range map[string]string{
		"token-bucket 10/s burst 20":    "20 at once, and one more each 100ms (10 in 1s)",
		"token-bucket 1/90m":            "1 at once, and one more each 1h30m (1 in 1h30m)",
		"token-bucket 7/s":              "7 at once, and one more each 143ms (7 in 1s)",
		"token-bucket 1000000/s":        "1000000 at once, and one more each 1µs (1000000 in 1s)",
		"token-bucket 7/2ns":            "7 at once, and one more each 1ns (7 in 2ns)",
		"token-bucket 7/d":              "7 at once, and one more each 3h26m (7 in 1d)",
		"token-bucket 1/h":              "1 at once, and one more each 1h (1 in 1h)",
		"token-bucket 1000/h":           "1000 at once, and one more each 3.6s (1000 in 1h)",
		"token-bucket 1/10s":            "1 at once, and one more each 10s (1 in 10s)",
		"token-bucket 1/10us6ns":        "1 at once, and one more each 10µs (1 in 10us6ns)",
		"token-bucket 1/1m11s400ms":     "1 at once, and one more each 1m11s (1 in 1m11s400ms)",
		"token-bucket 1/1h31m20s":       "1 at once, and one more each 1h31m (1 in 1h31m20s)",
		"token-bucket 1/6d7h20m":        "1 at once, and one more each 151h (1 in 6d7h20m)",
		"leaky-bucket 2/s queue 1":      "one each 500ms, and none sooner; up to 1 wait their turn",
		"leaky-bucket 2/s queue 5":      "one each 500ms, and none sooner; up to 5 wait their turn",
		"leaky-bucket 2/s":              "one each 500ms, and none sooner",
		"fixed-window 100/min":          "100 in each 1m of the clock",
		"sliding-window 1000/d":         "1000 in any 1d",
		"sliding-counter 10/s":          "10 in any 1s, taking what came in the last one of the clock as spread evenly",
		"unlimited":                     "everything",
		"0":                             "nothing",
		"token-bucket 1/s burst 0":      "nothing",
		`sliding-window 5/h as "login"`: `"login" (5 in any 1h)`,
		"all(fixed-window 1/s, fixed-window 5/m)": "all of these: " +
			"1 in each 1s of the clock; 5 in each 1m of the clock",
		"burst-reserve(1/s, 5/h)": "the first of these that has enough: " +
			"1 at once, and one more each 1s (1 in 1s); 5 at once, and one more each 12m (5 in 1h)",
		`all(first-of(0, unlimited), first-of(0) as "x")`: "all of these: " +
			`(the first of these that has enough: nothing; everything); "x" (the first of these that has enough: nothing)`,
	} {
		require.Equal(t, want, weir.MustParsePolicy(text).Describe(), text)
	}
	require.Equal(t, "invalid", weir.Policy{}.Describe())
	require.Equal(t, "invalid", weir.TokenBucket(weir.Per(1, -time.Second)).Describe())
}
