package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// A client sends a request each interval.
type client struct {
	key   string
	every time.Duration
}

// clientele are one that keeps to its limit and two that do not.
var clientele = []client{{"ann", 100 * time.Millisecond}, {"bot", 4 * time.Millisecond}, {"bot 2", 10 * time.Millisecond}}

// counts are what the clients were answered.
type counts struct {
	mu              sync.Mutex
	allowed, denied int
	failed          error
}

func (c *counts) add(status int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.failed = errors.Join(c.failed, err)
	case status == http.StatusOK:
		c.allowed++
	case status == http.StatusTooManyRequests:
		c.denied++
	default:
		c.failed = errors.Join(c.failed, fmt.Errorf("a request was answered with %d", status))
	}
}

// send sends until ctx is done. A request that has begun is brought to its end: it is counted by the
// limiters, so it must be by the client.
func (c client) send(ctx context.Context, url string, counts *counts) {
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			counts.add(c.get(url + "/hello"))
		}
	}
}

func (c client) get(url string) (status int, err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-Api-Key", c.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// check compares what the clients have counted with the metrics.
func (c *counts) check(out io.Writer, m metrics) error {
	fmt.Fprintf(out, "\nThe clients count %d allowed and %d denied.\n", c.allowed, c.denied)
	if c.allowed == 0 || c.denied == 0 {
		return errors.New("that is no load")
	}
	for _, limiter := range []string{"everybody", "keys"} {
		if got := m[decisions(limiter, "allowed")]; got != float64(c.allowed) {
			return fmt.Errorf("%s has allowed %v", limiter, got)
		}
	}
	if got := m.decisions("denied"); got != float64(c.denied) {
		return fmt.Errorf("the limiters have denied %v", got)
	}
	fmt.Fprintln(out, "So do the metrics.")
	return nil
}
