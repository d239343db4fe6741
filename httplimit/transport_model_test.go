package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// An exchange is what a host has seen and said.
type exchange struct {
	sent, heard  time.Duration // since the bubble began
	good         bool          // answered, and not refused
	stay         time.Duration // Retry-After
	left         int
	within       time.Duration // of RateLimit; 0 for none
	errorInstead bool
}

// A call is a request that somebody made.
type call struct{ began, ended time.Duration }

// Random servers say random things to clients that come and go, and no request is
// sent that one of them forbids: it is checked against all that was said before, by
// the rules that Transport's documentation has, in the order of the instants. What
// happens at one instant may be in either order.
func TestNothingIsSentThatWasForbidden(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exchanges, calls := runRandomServer(t, rand.New(rand.NewPCG(seed, 1)))
				require.NotEmpty(t, exchanges)
				for _, x := range exchanges {
					requireObeyed(t, x, exchanges, calls)
				}
			})
		})
	}
}

func runRandomServer(t *testing.T, random *rand.Rand) (exchanges []exchange, calls []call) {
	var mu sync.Mutex // of random too
	began := time.Now()
	server := roundTrip(func(r *http.Request) (*http.Response, error) {
		x := exchange{sent: time.Since(began)}
		mu.Lock()
		latency := time.Duration(random.Int64N(int64(2 * sec)))
		if random.IntN(20) == 0 {
			latency += 15 * sec
		}
		status, fields := 200, []string(nil)
		switch random.IntN(8) {
		case 0:
			seconds := 1 + random.IntN(8) // after 0, a host may be forgotten before the retry
			x.stay = time.Duration(seconds) * sec
			status, fields = 429+74*random.IntN(2), []string{"Retry-After", fmt.Sprint(seconds)}
		case 1, 2, 3:
			x.left = random.IntN(6)
			x.within = time.Duration(random.IntN(9)) * sec
			fields = []string{"RateLimit", fmt.Sprintf(`"a";r=%d;t=%d`, x.left, x.within/sec)}
		case 4:
			x.errorInstead = true
		}
		x.good = status == 200 && !x.errorInstead
		mu.Unlock()
		select {
		case <-time.After(latency):
		case <-r.Context().Done():
			x = exchange{sent: x.sent, errorInstead: true}
		}
		mu.Lock()
		defer mu.Unlock()
		x.heard = time.Since(began)
		exchanges = append(exchanges, x)
		if x.errorInstead {
			return nil, errors.New("reset")
		}
		return reply(status, fields...)
	})
	transport := &httplimit.Transport{Base: server, Retries: random.IntN(3), MaxWait: time.Minute}
	if random.IntN(2) == 0 {
		transport.Hosts = weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1 + random.IntN(20)).WithBurst(1 + random.IntN(5))))
		defer transport.Hosts.Close()
	}
	var all sync.WaitGroup
	for range 1 + random.IntN(20) {
		all.Go(func() {
			for range 15 {
				mu.Lock()
				pause, patience := time.Duration(random.Int64N(int64(sec))), time.Duration(random.Int64N(int64(40*sec)))
				mu.Unlock()
				time.Sleep(pause)
				c := call{began: time.Since(began)}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				_, _ = ask(t, transport, ctx, hostA)
				cancel()
				c.ended = time.Since(began)
				mu.Lock()
				calls = append(calls, c)
				mu.Unlock()
				require.LessOrEqual(t, c.ended-c.began, patience)
			}
		})
	}
	all.Wait()
	return exchanges, calls
}

// requireObeyed checks that x was sent in spite of nothing.
func requireObeyed(t *testing.T, x exchange, exchanges []exchange, calls []call) {
	for _, said := range exchanges {
		switch {
		case said.heard >= x.sent:
		case said.stay > 0:
			require.GreaterOrEqual(t, x.sent, said.heard+said.stay, "%+v after %+v", x, said)
			requireFirst(t, x, said, exchanges, calls)
		case said.within > 0 && x.sent < said.heard+said.within:
			requireLeft(t, x, said, exchanges)
		}
	}
}

// requireLeft checks that x was one of those that were left.
func requireLeft(t *testing.T, x, said exchange, exchanges []exchange) {
	used := 0 // by those sent since, and under way then or without a word since
	for _, other := range exchanges {
		says := other.within > 0
		if says && other.sent >= said.heard && other.heard <= x.sent {
			return // it says otherwise
		}
		if other.sent <= x.sent && (other.heard > x.sent || other.heard > said.heard && other.heard < x.sent && !says) {
			used++
		}
	}
	require.LessOrEqual(t, used, said.left, "%+v after %+v", x, said)
}

// requireFirst checks that x goes alone after a refusal, until one of those who
// did has been answered well.
func requireFirst(t *testing.T, x, refusal exchange, exchanges []exchange, calls []call) {
	if !someoneCares(refusal.heard+refusal.stay, x.sent, calls) {
		return
	}
	atOnce := 0
	for _, other := range exchanges {
		if other.stay > 0 && other.heard > refusal.heard && other.heard <= x.sent {
			return // it begins anew
		}
		if other.sent < refusal.heard {
			continue
		}
		if other.good && other.heard <= x.sent {
			return
		}
		if other.sent == x.sent {
			atOnce++
		}
		if other.sent < x.sent && other.heard > x.sent {
			require.GreaterOrEqual(t, x.sent, other.sent+10*sec, "%+v and %+v after %+v", x, other, refusal)
		}
	}
	require.LessOrEqual(t, atOnce, 1, "%+v after %+v", x, refusal)
}

// someoneCares reports whether there are calls from one instant to another without
// a pause. In a pause the host is forgotten.
func someoneCares(from, to time.Duration, calls []call) bool {
	for at := from; at < to; {
		next := at
		for _, c := range calls {
			if c.began < at {
				next = max(next, c.ended)
			}
		}
		if next == at {
			return false
		}
		at = next
	}
	return true
}
