package debuglimit

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/goweir/weir"
)

// findWithin bounds how long a store may take to say what it knows of a client.
const findWithin = 2 * time.Second

// A closeup is one limiter, and a client of it if one is looked for.
type closeup struct {
	limiter
	TopDenied []denied `json:"top_denied,omitempty"`
	Client    *state   `json:"client,omitempty"`
}

// A state is what a client has left now, and what would be decided about one more. Times are in
// seconds, and null for never.
type state struct {
	Key        string   `json:"key"`
	Allowed    bool     `json:"allowed"`
	Remaining  int      `json:"remaining"`
	Limit      int      `json:"limit"`
	Policy     string   `json:"policy"`
	RetryAfter *float64 `json:"retry_after"`
	ResetAfter *float64 `json:"reset_after"`
	Shadowed   bool     `json:"shadowed,omitempty"`
	// Refill is when how many can be taken, if nothing else is: from now on, until the client
	// is full.
	Refill []refill `json:"refill,omitempty"`
}

type refill struct {
	After  float64 `json:"after"`
	Tokens int     `json:"tokens"`
}

// serveOne serves a limiter, and with a key a client of it.
func (p *Page) serveOne(w http.ResponseWriter, r *http.Request, query url.Values) {
	all := p.now()
	e, found := all.entry(query.Get("limiter"))
	if !found {
		writeError(w, http.StatusNotFound, fmt.Sprintf("no limiter on this page is named %q", query.Get("limiter")))
		return
	}
	one := closeup{limiter: all.about(e)}
	one.counters = countersOf(e.stats())
	if e.top != nil {
		one.TopDenied = e.top()
	}
	if e.find != nil && (e.alone || query.Has("key")) {
		c, err := e.find(query.Get("key"))
		if err != nil {
			writeError(w, http.StatusBadRequest, err.Error())
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), findWithin)
		defer cancel()
		if one.Client, err = e.look(ctx, c); err != nil {
			writeError(w, http.StatusBadGateway, err.Error())
			return
		}
	}
	writeJSON(w, http.StatusOK, one)
}

// look returns what would be decided about a client.
func (e entry) look(ctx context.Context, c client) (*state, error) {
	now, err := c.peek(ctx, 0)
	if err != nil {
		return nil, err
	}
	d, err := c.peek(ctx, 1)
	if err != nil {
		return nil, err
	}
	s := &state{
		Key: c.name, Allowed: d.Allowed, Remaining: now.Remaining, Limit: d.Limit, Policy: d.Policy,
		RetryAfter: seconds(d.RetryAfter), ResetAfter: seconds(now.ResetAfter), Shadowed: d.Shadowed,
	}
	if _, remote := e.limiter.(Reader); !remote {
		s.Refill, err = refillOf(ctx, c, e.policy())
	}
	return s, err
}

// mostSteps bounds how finely a refill is told.
const mostSteps = 40

// refillOf asks when more can be taken, for so many different numbers that the steps can be seen.
func refillOf(ctx context.Context, c client, p weir.Policy) ([]refill, error) {
	capacity := weir.New(p).Tokens()
	if capacity == 0 || capacity == math.MaxInt {
		return nil, nil
	}
	var all []refill
	for step := range min(capacity, mostSteps) {
		n := int(float64(capacity) * float64(step+1) / float64(min(capacity, mostSteps)))
		d, err := c.peek(ctx, n)
		if err != nil {
			return nil, err
		}
		if after := seconds(d.RetryAfter); after != nil {
			all = append(all, refill{*after, n})
		}
	}
	return all, nil
}

// seconds returns nil for weir.Never.
func seconds(d time.Duration) *float64 {
	if d == weir.Never {
		return nil
	}
	s := d.Seconds()
	return &s
}
