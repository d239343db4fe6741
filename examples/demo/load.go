package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// patience is how long a client waits for an answer.
const patience = 10 * time.Second

// A sender makes one request and reports whether it was admitted. It is never cut off half way, or
// the client would not know whether the server had counted it.
type sender func() (allowed bool, err error)

// A load calls send in its own rhythm until ctx ends.
type load func(ctx context.Context, send func())

// every sends, and again when interval has passed since then. It never makes up for lost time, so
// that k+1 requests in a row reach the server over at least k-1 intervals, however slow the machine.
func every(interval time.Duration) load {
	return func(ctx context.Context, send func()) {
		for ctx.Err() == nil {
			next := time.Now().Add(interval)
			send()
			select {
			case <-ctx.Done():
			case <-time.After(time.Until(next)):
			}
		}
	}
}

// flood sends as fast as that many goroutines can.
func flood(goroutines int) load {
	return func(ctx context.Context, send func()) {
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for ctx.Err() == nil {
					send()
				}
			})
		}
		wg.Wait()
	}
}

// times ends l, a load of one goroutine, after n requests.
func times(n int, l load) load {
	return func(ctx context.Context, send func()) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		left := n
		l(ctx, func() {
			send()
			if left--; left == 0 {
				cancel()
			}
		})
	}
}

// inTurn runs one load after the other.
func inTurn(loads ...load) load {
	return func(ctx context.Context, send func()) {
		for _, l := range loads {
			l(ctx, send)
		}
	}
}

// A tally is what one client saw.
type tally struct {
	allowed, denied, failed atomic.Uint64
	firstErr                atomic.Pointer[error]
}

func (t *tally) offered() uint64 { return t.allowed.Load() + t.denied.Load() + t.failed.Load() }

func (t *tally) count(allowed bool, err error) {
	switch {
	case err != nil:
		t.failed.Add(1)
		t.firstErr.CompareAndSwap(nil, &err)
	case allowed:
		t.allowed.Add(1)
	default:
		t.denied.Add(1)
	}
}

// drive runs all clients of all scenarios side by side and reports what became of them.
func drive(ctx context.Context, url string, all []*scenario, length time.Duration, progress io.Writer) *report {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, ResponseHeaderTimeout: patience}
	defer transport.CloseIdleConnections()
	visitor := &http.Client{Transport: transport, Timeout: patience}

	tallies := make([][]tally, len(all))
	// The span holds every decision: it begins before the first request and ends after the last answer.
	clock := weir.SystemClock()
	begin := clock.Now()
	var wg sync.WaitGroup
	for i, s := range all {
		tallies[i] = make([]tally, len(s.clients))
		for j, c := range s.clients {
			t, to := &tallies[i][j], url+"/"+s.name+"/"+c.name
			wg.Go(func() {
				send, hangUp, err := connect(visitor, to, s.stream)
				if err != nil {
					t.count(false, err)
					return
				}
				defer hangUp()
				c.sends(ctx, func() { t.count(send()) })
			})
		}
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	showProgress(progress, finished, length, tallies)
	return newReport(all, tallies, clock.Now()-begin)
}

func connect(c *http.Client, url string, stream bool) (sender, func(), error) {
	if stream {
		// Without the timeout, which would end the stream and not only one answer.
		return dialStream(&http.Client{Transport: c.Transport}, url)
	}
	return func() (bool, error) { return get(c, url) }, func() {}, nil
}

func get(c *http.Client, url string) (allowed bool, err error) {
	resp, err := c.Get(url)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil { // read to the end, the connection is used again
		return false, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return true, nil
	case http.StatusTooManyRequests:
		s := resp.Header.Get("Retry-After")
		if n, err := strconv.Atoi(s); err != nil || n < 1 {
			return false, fmt.Errorf("%s: Retry-After %q with %s", url, s, resp.Status)
		}
		return false, nil
	}
	return false, fmt.Errorf("%s: %s", url, resp.Status)
}
