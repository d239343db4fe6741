package redislimit

import (
	"time"

	"github.com/goweir/weir"
	lru "github.com/hashicorp/golang-lru/v2"
)

// denials remembers, of each of so many clients, what was denied last.
//
//	found(key, n, t)  =>  the store denied (key, n) at some u <= t < u + RetryAfter
type denials struct{ last *lru.Cache[string, denial] }

type denial struct {
	n        int
	plan     *plan
	at       time.Time // when it was known
	decision weir.Decision
}

func newDenials(clients int) *denials { return &denials{newCache[string, denial](clients)} }

func (d *denials) find(key string, n int, pl *plan) (weir.Decision, bool) {
	last, ok := d.last.Get(key)
	if !ok || last.n != n || last.plan != pl {
		return weir.Decision{}, false
	}
	since := time.Since(last.at)
	if since >= last.decision.RetryAfter {
		return weir.Decision{}, false
	}
	again := last.decision
	again.RetryAfter -= since
	again.ResetAfter = max(0, again.ResetAfter-since)
	return again, true
}

// add remembers a denial of the store. One for good is asked again: what is left may
// change.
func (d *denials) add(key string, n int, pl *plan, decision weir.Decision) {
	if decision.RetryAfter != weir.Never {
		d.last.Add(key, denial{n, pl, time.Now(), decision})
	}
}

func (d *denials) forget(key string) { d.last.Remove(key) }
