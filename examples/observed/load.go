package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// load sends what a day's users would, in a minute: more and less of them, one of whom floods now
// and then while another guesses passwords. It returns once ctx is done.
func load(ctx context.Context, url string) {
	var users sync.WaitGroup
	start := time.Now()
	for i := range 40 {
		users.Go(func() {
			pace(ctx, func(at time.Time) float64 {
				return 3 + 3*math.Sin(2*math.Pi*(at.Sub(start).Minutes()+float64(i)/80))
			}, func() { get(ctx, url+"/search", fmt.Sprintf("user-%d", i)) })
		})
	}
	users.Go(func() {
		pace(ctx, func(at time.Time) float64 {
			if int(at.Sub(start).Seconds())%30 < 12 {
				return 120
			}
			return 2
		}, func() { get(ctx, url+"/search", "crawler") })
	})
	users.Go(func() {
		pace(ctx, func(time.Time) float64 { return 2 }, func() { get(ctx, url+"/login", "admin") })
	})
	users.Wait()
}

// pace does something about so many times a second, until ctx is done.
func pace(ctx context.Context, rate func(time.Time) float64, do func()) {
	for {
		wait := rand.ExpFloat64() / (rate(time.Now()) + 0.1)
		select {
		case <-time.After(time.Duration(wait * float64(time.Second))):
			do()
		case <-ctx.Done():
			return
		}
	}
}

// get is a user's request, whatever comes of it.
func get(ctx context.Context, url, user string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	request.Header.Set("X-User", user)
	response, err := client.Do(request)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
