package main

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `9 from 192.0.2.1 as "ann": 8 allowed, 1 denied; 60 s: too many requests: user
3 from 192.0.2.1 as "bob": 2 allowed, 1 denied; 1 s: too many requests: address
1 from 198.51.100.7 as "ann": 0 allowed, 1 denied; 60 s: too many requests: user
12 from 198.51.100.7 as "": 10 allowed, 2 denied; 1 s: too many requests: address
8 from 192.0.2.1 as "ann": 8 allowed, 0 denied
everybody: 28 allowed, denied 0
addresses: 28 allowed, denied 3
users: 18 allowed, denied 2
`

func TestRun(t *testing.T) {
	var out strings.Builder
	run(&out, weir.NewManualClock())
	require.Equal(t, want, out.String())
}

// Each answer is one that all three limits gave, or one that a single one did.
func TestLimits_UnderLoad(t *testing.T) {
	limits := NewLimits(weir.WithClock(weir.NewManualClock()))
	defer limits.Close()
	handler := limits.Handler(http.NotFoundHandler())
	var passed, denied atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 100 {
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.RemoteAddr = "192.0.2." + strconv.Itoa(j%4) + ":1"
				r.SetBasicAuth("user"+strconv.Itoa((i+j)%5), "")
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, r)
				if answer.Code == http.StatusTooManyRequests {
					denied.Add(1)
				} else {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 800, passed.Load()+denied.Load())
	require.EqualValues(t, 1000-passed.Load(), limits.Everybody.Tokens())
	left := 0
	for i := range 5 {
		left += limits.Users.Tokens("user" + strconv.Itoa(i))
	}
	require.EqualValues(t, 5*8-passed.Load(), left)
	require.EqualValues(t, denied.Load(), limits.Addresses.Stats().Denied+limits.Users.Stats().Denied)
}
