package main

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// A load is users who ask all the time.
type load struct {
	each                          [users]atomic.Int64 // allowed
	sent, allowed, denied, failed atomic.Int64
	stop                          atomic.Bool
	asking                        sync.WaitGroup
	client                        http.Client
}

func startLoad(url string) *load {
	a := &load{client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: askers}, Timeout: patience}}
	for i := range askers {
		a.asking.Go(func() {
			for user := i; !a.stop.Load(); user++ {
				a.ask(url, user%users)
			}
		})
	}
	return a
}

func (a *load) ask(url string, user int) {
	a.sent.Add(1)
	resp, err := a.client.Get(url + "user" + strconv.Itoa(user))
	if err != nil {
		a.failed.Add(1)
		return
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	switch {
	case err == nil && resp.StatusCode == http.StatusOK:
		a.each[user].Add(1)
		a.allowed.Add(1)
	case err == nil && resp.StatusCode == http.StatusTooManyRequests:
		a.denied.Add(1)
	default:
		a.failed.Add(1)
	}
}

// another waits until n more requests were denied.
func (a *load) another(n int64) bool {
	before := a.denied.Load()
	return within(func() bool { return a.denied.Load() >= before+n })
}

func (a *load) end() {
	a.stop.Store(true)
	a.asking.Wait()
	a.client.CloseIdleConnections()
}
