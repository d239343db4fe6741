package redislimit

import (
	"sync"
	"time"

	"github.com/goweir/weir"
	lru "github.com/hashicorp/golang-lru/v2"
)

// denials remembers, of each of so many clients, what was denied last.
//
//	found(key, n, t)  =>  the store denied (key, n) at some u, t < u + RetryAfter,
//	                      and nothing was given back here since
type denials struct {
	last *lru.Cache[string, denial]

	mu    sync.Mutex
	given uint64 // how often anything was given back
}

type denial struct {
	n        int
	plan     *plan
	asked    asked
	decision weir.Decision
}

// asked is when a question began.
type asked struct {
	at    time.Time
	given uint64
}

func newDenials(clients int) *denials { return &denials{last: newCache[string, denial](clients)} }

func (d *denials) find(key string, n int, pl *plan) (weir.Decision, bool) {
	last, ok := d.last.Get(key)
	if !ok || last.n != n || last.plan != pl {
		return weir.Decision{}, false
	}
	since := time.Since(last.asked.at)
	if since >= last.decision.RetryAfter {
		return weir.Decision{}, false
	}
	again := last.decision
	again.RetryAfter -= since
	again.ResetAfter = max(0, again.ResetAfter-since)
	return again, true
}

// ask is to be called before the store is asked.
func (d *denials) ask() asked {
	if d == nil {
		return asked{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return asked{time.Now(), d.given}
}

// add remembers a denial of the store. One for good is asked again: what is left may
// change.
func (d *denials) add(key string, n int, pl *plan, decision weir.Decision, asked asked) {
	if d == nil || decision.Allowed || decision.RetryAfter == weir.Never {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if asked.given == d.given {
		d.last.Add(key, denial{n, pl, asked, decision})
	}
}

// forget is to be called once something was given back.
func (d *denials) forget(key string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given++
	d.last.Remove(key)
}
