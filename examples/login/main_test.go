package main

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `ann, after a thousand tries: in 10s (user at address)
ann, 10 s later: come in, 4 more (user at address)
ann, who knew it: come in, 4 more (user at address)
the guesser: 100 of 500
ann from there: in 1h0m0s (address)
ann from home: come in, 3 more (user at address)
ann from there an hour later: come in, 4 more (user at address)
`

func TestRun(t *testing.T) {
	var out strings.Builder
	run(&out, weir.NewManualClock())
	require.Equal(t, want, out.String())
}

// However many try at once, an address has its 100, and each of them is one that a user was charged.
func TestDoor_UnderLoad(t *testing.T) {
	door := NewDoor(weir.WithClock(weir.NewManualClock()))
	defer door.Close()
	var allowed [30]atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 300 {
				if door.Knock(Attempt{User: string(rune('a' + i%30))}).Allowed {
					allowed[i%30].Add(1)
				}
			}
		})
	}
	all.Wait()
	total := 0
	for i := range allowed {
		n := int(allowed[i].Load())
		require.Equal(t, 5-n, door.perUser.Tokens(Attempt{User: string(rune('a' + i))}))
		total += n
	}
	require.Equal(t, 100-total, door.perAddr.Tokens(Attempt{}.Addr))
	require.Equal(t, 100, total)
}
