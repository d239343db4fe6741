package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheLoadIsSeenOnThePage: each limiter decides, and those that are flooded deny.
func TestTheLoadIsSeenOnThePage(t *testing.T) {
	handler, page := newHandler()
	server := httptest.NewServer(handler)
	defer server.Close()
	defer page.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); load(ctx, server.URL) }()
	type limiter struct {
		Name            string
		Allowed, Denied int
	}
	var seen struct{ Limiters []limiter }
	require.Eventually(t, func() bool {
		response, err := http.Get(server.URL + "/debug/weir?format=json")
		require.NoError(t, err)
		defer response.Body.Close()
		require.NoError(t, json.NewDecoder(response.Body).Decode(&seen))
		return seen.Limiters[0].Allowed > 100 && seen.Limiters[1].Denied > 0 && seen.Limiters[2].Denied > 0
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, []string{"everybody", "users", "logins"},
		[]string{seen.Limiters[0].Name, seen.Limiters[1].Name, seen.Limiters[2].Name})
	cancel()
	<-done
}

func TestItStopsWhenItIsToldTo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, "127.0.0.1:0") }()
	cancel()
	require.NoError(t, <-done)
}
