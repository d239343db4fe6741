package redislimit_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/rueidislimit"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// TestWhatMakesNoSensePanics: and says what it was.
func TestWhatMakesNoSensePanics(t *testing.T) {
	p, client := weir.TokenBucket(weir.PerSecond(10)), redis.NewClient(&redis.Options{Addr: "localhost:1"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	c := redislimit.New(client, p)
	key := func(s string) (string, bool) { return s, true }
	cases := map[string]func(){
		"a client of Redis, and it is nil":   func() { redislimit.New(nil, p) },
		"New needs a client of Redis":        func() { redislimit.New((*redis.Client)(nil), p) },
		"needs a client of Redis":            func() { redislimit.New((*redis.ClusterClient)(nil), p) },
		"a client of rueidis, and it is nil": func() { rueidislimit.New(nil, p) },
		"needs a Store, and it is nil":       func() { redislimit.NewWith(nil, p) },
		"redislimit: a nil Option":           func() { redislimit.New(client, p, nil) },
		"-7":                                 func() { redislimit.New(client, weir.TokenBucket(weir.PerSecond(-7))) },
		"60d1ns":                             func() { redislimit.New(client, weir.FixedWindow(weir.Per(1, 60*24*time.Hour+1))) },
		`"a}"`:                               func() { redislimit.New(client, p, redislimit.WithPrefix("a}")) },
		`"a{"`:                               func() { redislimit.New(client, p, redislimit.WithPrefix("a{")) },
		`"{a}{b}"`:                           func() { redislimit.New(client, p, redislimit.WithPrefix("{a}{b}")) },
		`"{a}}"`:                             func() { redislimit.New(client, p, redislimit.WithPrefix("{a}}")) },
		`"}{a}"`:                             func() { redislimit.New(client, p, redislimit.WithPrefix("}{a}")) },
		`"x}y{a}"`:                           func() { redislimit.New(client, p, redislimit.WithPrefix("x}y{a}")) },
		`"{a}{"`:                             func() { redislimit.New(client, p, redislimit.WithPrefix("{a}{")) },
		`"{{a}"`:                             func() { redislimit.New(client, p, redislimit.WithPrefix("{{a}")) },
		`"{}a"`:                              func() { redislimit.New(client, p, redislimit.WithPrefix("{}a")) },
		"WithTimeout(0s)":                    func() { redislimit.WithTimeout(0) },
		"WithTimeout(-1ns)":                  func() { redislimit.WithTimeout(-1) },
		"WithDenyCache(-1)":                  func() { redislimit.WithDenyCache(-1) },
		"WithLease(-1, 1s)":                  func() { redislimit.WithLease(-1, time.Second) },
		"WithLease(1, 0s)":                   func() { redislimit.WithLease(1, 0) },
		"WithFallback(2)":                    func() { redislimit.WithFallback(2) },
		"WithFallback(-0.5)":                 func() { redislimit.WithFallback(-0.5) },
		"WithFallback(NaN)":                  func() { redislimit.WithFallback(redislimit.Fallback(math.NaN())) },
		"Local(0)":                           func() { redislimit.Local(0) },
		"Local(1.5)":                         func() { redislimit.Local(1.5) },
		"Local(NaN)":                         func() { redislimit.Local(math.NaN()) },
		"Local(-1)":                          func() { redislimit.Local(-1) },
		"By needs a PerClient and a key function": func() { redislimit.By(nil, key) },
		"one of them is nil":                      func() { redislimit.By[string](c, nil) },
	}
	if tooMany := int64(1)<<40 + 1; strconv.IntSize == 64 {
		cases["1099511627777"] = func() { redislimit.New(client, weir.SlidingCounter(weir.PerSecond(int(tooMany)))) }
	}
	for says, do := range cases {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), says) }()
			do()
		}()
	}
	for _, prefix := range []string{"", "a", "{a}", "x{a}", "{a}y:", "x{a}y"} {
		require.NotPanics(t, func() { redislimit.New(client, p, redislimit.WithPrefix(prefix)) }, prefix)
	}
	for _, f := range []redislimit.Fallback{redislimit.FailClosed, redislimit.FailOpen, redislimit.Local(1), redislimit.Local(1e-300)} {
		require.NotPanics(t, func() { redislimit.WithFallback(f) })
	}
}
