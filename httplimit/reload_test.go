package httplimit_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestAnotherPolicyIsToldFromTheNextResponseOn(t *testing.T) {
	l := still(hourly(100, "one"))
	clients := weir.NewPerClient[string](hourly(500, "client"), weir.WithClock(weir.NewManualClock()))
	h := httplimit.Limit(httplimit.Global(l), weir.By(clients, httplimit.HeaderKey("X-Api-Key")))(sayOK)
	require.Equal(t, `"one";q=100;w=3600`, respond(h).Header().Get("RateLimit-Policy"))
	for i := range 100 {
		require.NoError(t, l.SetPolicy(hourly(1000+i, "one")))
		require.NoError(t, clients.SetPolicy(hourly(500+i, "client")))
		one, client := fmt.Sprintf(`"one";q=%d;w=3600`, 1000+i), fmt.Sprintf(`"client";q=%d;w=3600`, 500+i)
		require.Equal(t, one, respond(h).Header().Get("RateLimit-Policy"))
		w := respond(h, "X-Api-Key", "1")
		require.Equal(t, one+","+client, w.Header().Get("RateLimit-Policy"))
		require.True(t, strings.HasPrefix(w.Header().Get("RateLimit"), `"client";`))
	}
	require.Error(t, l.SetPolicy(weir.Policy{}))
	require.Equal(t, `"one";q=1099;w=3600`, respond(h).Header().Get("RateLimit-Policy"))
}

func TestReloadsUnderLoadAreTold(t *testing.T) {
	const reloads = 100
	policy := func(i int) weir.Policy { return hourly(1_000_000+i, fmt.Sprint("policy ", i)) }
	l := still(policy(0))
	h := httplimit.Limit(httplimit.Global(l))(sayOK)
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				field, name := respond(h).Header().Get("RateLimit-Policy"), 0
				if _, err := fmt.Sscanf(field, `"policy %d"`, &name); err != nil ||
					field != fmt.Sprintf(`"policy %d";q=%d;w=3600`, name, 1_000_000+name) {
					t.Errorf("%s, %v", field, err)
					return
				}
			}
		})
	}
	for i := range reloads {
		require.NoError(t, l.SetPolicy(policy(i)))
		require.Contains(t, respond(h).Header().Get("RateLimit-Policy"), fmt.Sprintf(`"policy %d";`, i))
	}
	close(done)
	clients.Wait()
}

func TestEveryOneOfManySetsOfLayersIsTold(t *testing.T) {
	const optional = 8 // 256 sets
	var layers []weir.Layer[*http.Request]
	for i := range optional {
		layers = append(layers, httplimit.PerHeader(fmt.Sprint("H", i), hourly(1_000_000, fmt.Sprint("p", i)), stoppedClock()))
	}
	h := httplimit.Limit(layers...)(sayOK)
	check := func(set int) error {
		r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		var want []string
		for i := range optional {
			if set>>i&1 == 1 {
				r.Header.Set(fmt.Sprint("H", i), "x")
				want = append(want, fmt.Sprintf(`"p%d";q=1000000;w=3600`, i))
			}
		}
		h.ServeHTTP(w, r)
		if got := w.Header().Get("RateLimit-Policy"); got != strings.Join(want, ",") {
			return fmt.Errorf("set %b is told as %s", set, got)
		}
		return nil
	}
	for range 2 {
		for set := range 1 << optional {
			require.NoError(t, check(set))
		}
	}
	var clients sync.WaitGroup
	for seed := range uint64(4) {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0))
			for range 500 {
				if err := check(random.IntN(1 << optional)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
}
