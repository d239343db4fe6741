package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// askers send the requests, and each of them one every askEvery: eight times what the limit admits.
const (
	askers   = 8
	askEvery = 10 * time.Millisecond
)

// load sends one client's requests to all processes in turn, until ctx is done.
func load(ctx context.Context, urls []string, t *tally) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: askers}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	var loading sync.WaitGroup
	for i := range askers {
		loading.Go(func() {
			ticker := time.NewTicker(askEvery)
			defer ticker.Stop()
			for ; ; i++ {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				sent := time.Now()
				answer, err := get(ctx, client, urls[i%len(urls)])
				if ctx.Err() == nil {
					t.add(sent, time.Now(), answer, err)
				}
			}
		})
	}
	loading.Wait()
}

// get returns the body of what is admitted, and nothing of what is denied.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("X-Api-Key", "ann")
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return "", err
	case response.StatusCode == http.StatusTooManyRequests:
		return "", nil
	case response.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s: %s", url, response.Status)
	}
	return string(body), nil
}
