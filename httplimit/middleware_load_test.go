package httplimit_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// arrivals are the instants at which requests come to a handler.
type arrivals struct {
	mu    sync.Mutex
	began time.Time
	all   []time.Duration
}

func (a *arrivals) before(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.all = append(a.all, time.Since(a.began))
		a.mu.Unlock()
		h.ServeHTTP(w, r)
	})
}

// admitted returns how many of them a policy admits.
func (a *arrivals) admitted(p weir.Policy) (n int) {
	clock := weir.NewManualClock()
	l := weir.New(p, weir.WithClock(clock))
	slices.Sort(a.all)
	last := time.Duration(0)
	for _, at := range a.all {
		clock.Advance(at - last)
		last = at
		if l.Allow() {
			n++
		}
	}
	return n
}

// What the limit admits is reckoned from when the requests really came, so that a
// slow machine, on which fewer come, decides nothing.
func TestSixteenConnectionsGetTheWholeLimitAndNoMore(t *testing.T) {
	const connections = 16
	policy := weir.TokenBucket(weir.PerSecond(250).WithBurst(50))
	overTLS(t, func(t *testing.T, start starter) {
		t.Parallel()
		l := weir.New(policy)
		served, settled := 0, 0
		var mu sync.Mutex // of both
		m := httplimit.Middleware{Layers: layersOf(l), Settle: func(*http.Request, int) int {
			mu.Lock()
			defer mu.Unlock()
			settled++
			return 1
		}}
		came := &arrivals{began: time.Now()}
		s := start(came.before(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			served++
			mu.Unlock()
			sayOK(w, r)
		}))))

		var counts [connections]map[int]int
		var clients sync.WaitGroup
		began := time.Now()
		for i := range counts {
			client := connection(t, s)
			counts[i] = map[int]int{}
			clients.Go(func() {
				for time.Since(began) < 2*time.Second {
					code, header, err := statusOf(client, s.URL)
					if err != nil || (code == http.StatusTooManyRequests) != (header.Get("Retry-After") == "1") {
						t.Errorf("%d, %v, %v", code, err, header)
						return
					}
					counts[i][code]++
				}
			})
		}
		clients.Wait()
		elapsed := time.Since(began)
		s.Close() // no handler is left

		allowed, denied := 0, 0
		for _, c := range counts {
			allowed, denied = allowed+c[http.StatusOK], denied+c[http.StatusTooManyRequests]
			require.NotZero(t, c[http.StatusOK]+c[http.StatusTooManyRequests], "each is answered")
		}
		expected := came.admitted(policy)
		t.Logf("%d came within %v; %d allowed, of %d", len(came.all), elapsed, allowed, expected)
		require.Equal(t, len(came.all), allowed+denied)
		require.Equal(t, []int{allowed, allowed}, []int{served, settled})
		require.Equal(t, weir.Stats{Allowed: uint64(allowed), Denied: uint64(denied)}, l.Stats())
		require.LessOrEqual(t, allowed, policy.MaxWithin(elapsed))
		require.GreaterOrEqual(t, allowed, expected*98/100)
	})
}

func statusOf(client *http.Client, url string) (int, http.Header, error) {
	response, err := client.Get(url)
	if err != nil {
		return 0, nil, err
	}
	return response.StatusCode, response.Header, drain(response)
}
