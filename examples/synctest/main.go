// Synctest shows how to test code that uses weir without passing it a clock: in a testing/synctest
// bubble the limiter reads the bubble's time, so sleeping for minutes takes no time. Poller is
// somebody's own type; its test is beside this file.
package main

import (
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// Poller fetches a page as often as its owner allows, and sleeps in between.
type Poller struct {
	limit *weir.Limiter
	fetch func()
}

// NewPoller allows two fetches at once and then one every 30 seconds.
func NewPoller(fetch func()) *Poller {
	return &Poller{
		limit: weir.New(weir.TokenBucket(weir.Every(30 * time.Second).WithBurst(2))),
		fetch: fetch,
	}
}

// Fetch fetches n times, sleeping as long as it must and no longer.
func (p *Poller) Fetch(n int) {
	for range n {
		for d := p.limit.Take(1); !d.Allowed; d = p.limit.Take(1) {
			time.Sleep(d.RetryAfter)
		}
		p.fetch()
	}
}

func main() {
	NewPoller(func() { fmt.Println("fetched") }).Fetch(2)
}
