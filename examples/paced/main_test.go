package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// A job takes longer than a turn, so that two are at work at a time.
const took = 70 * time.Millisecond

// begun is what a pool fetched, and when.
type begun struct {
	mu    sync.Mutex
	pages []int
	at    []time.Duration
}

func pool() (*Pool, *begun) {
	began, log := time.Now(), new(begun)
	return &Pool{
		Limit:   weir.New(weir.TokenBucket(weir.PerSecond(20).WithBurst(2))),
		Workers: 4,
		Fetch: func(page int) {
			log.mu.Lock()
			log.pages, log.at = append(log.pages, page), append(log.at, time.Since(began))
			log.mu.Unlock()
			time.Sleep(took)
		},
	}, log
}

func TestPool_TwoAtOnceThenOneEach50ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, log := pool()
		left, err := p.Run(t.Context(), []int{1, 2, 3, 4, 5, 6})
		require.NoError(t, err)
		require.Empty(t, left)
		require.ElementsMatch(t, []int{1, 2, 3, 4, 5, 6}, log.pages)
		require.Equal(t, milliseconds(0, 0, 50, 100, 150, 200), log.at)
	})
}

func TestPool_CancelledInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, log := pool()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(120*time.Millisecond, cancel)

		begin := time.Now()
		left, err := p.Run(ctx, []int{1, 2, 3, 4, 5, 6, 7, 8})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 100*time.Millisecond+took, time.Since(begin), "what was begun is finished")
		require.Equal(t, milliseconds(0, 0, 50, 100), log.at)
		require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, slices.Sorted(slices.Values(append(log.pages, left...))))

		// Nobody waits any more, and those who did have taken nothing: at 170 ms two turns are back.
		require.Zero(t, p.Limit.Stats().Waiting)
		require.Equal(t, 1, p.Limit.Tokens())
		time.Sleep(30 * time.Millisecond)
		require.Equal(t, 2, p.Limit.Tokens())
	})
}

// What cannot be done by the deadline is handed back without waiting for it.
func TestPool_Deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, log := pool()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		p.Limit = weir.New(weir.TokenBucket(weir.PerDay(1)))
		require.True(t, p.Limit.Allow())

		begin := time.Now()
		left, err := p.Run(ctx, []int{1, 2, 3})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, []int{1, 2, 3}, left)
		require.Zero(t, time.Since(begin))
		require.Empty(t, log.pages)
	})
}

const want = `10 pages in 430ms, 0 left
4 pages in 200ms, 6 left: context canceled
`

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		run(t.Context(), &out)
		require.Equal(t, want, out.String())
	})
}

func milliseconds(of ...time.Duration) []time.Duration {
	for i := range of {
		of[i] *= time.Millisecond
	}
	return of
}
