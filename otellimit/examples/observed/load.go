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

// counts are what the clients were answered.
type counts struct {
	mu              sync.Mutex
	allowed, denied int64
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

// send sends a request each interval until ctx is done, and brings to its end what has begun.
func send(ctx context.Context, url, key string, every time.Duration, counts *counts) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			counts.add(get(url, key))
		}
	}
}

func get(url, key string) (status int, err error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-Api-Key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// check compares what the clients have counted with the metrics and the spans.
func (c *counts) check(out io.Writer, metrics map[string]int64, spans *spans) error {
	fmt.Fprintf(out, "\nThe clients count %d allowed and %d denied.\n", c.allowed, c.denied)
	if c.allowed == 0 || c.denied == 0 {
		return errors.New("that is no load")
	}
	if allowed, denied := metrics["weir.decisions allowed"], metrics["weir.decisions denied"]; allowed != c.allowed || denied != c.denied {
		return fmt.Errorf("the metrics say %d and %d", allowed, denied)
	}
	if spans.allowed != c.allowed || spans.denied != c.denied {
		return fmt.Errorf("the spans say %d and %d", spans.allowed, spans.denied)
	}
	fmt.Fprintln(out, "So do the metrics and the spans. One of those that were denied:")
	for _, a := range spans.last {
		fmt.Fprintf(out, "  %s = %v\n", a.Key, a.Value.AsInterface())
	}
	return nil
}
