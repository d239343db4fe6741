package contender

import (
	"math"
	"sync"
	"time"

	"github.com/go-chi/httprate"
)

// A localRate is what httprate.RateLimiter.OnLimit does with its counter,
// without the request and the header fields.
type localRate struct {
	mu      sync.Mutex
	counter httprate.LimitCounter
	limit   int
	window  time.Duration
	offset  time.Duration
}

func newHttprate(l Limit) *localRate {
	now := time.Now().UTC()
	return &localRate{
		counter: httprate.NewLocalLimitCounter(l.Period),
		limit:   l.Count,
		window:  l.Period,
		offset:  now.Sub(now.Truncate(l.Period)),
	}
}

func (r *localRate) allow(key string, now time.Time) bool {
	current := now.Add(-r.offset).Truncate(r.window).Add(r.offset)
	r.mu.Lock()
	defer r.mu.Unlock()
	count, before, err := r.counter.Get(key, current, current.Add(-r.window))
	if err != nil {
		return false
	}
	inView := float64(r.window) - float64(now.Sub(current))
	rate := float64(before)*inView/float64(r.window) + float64(count)
	if int(math.Round(rate))+1 > r.limit {
		return false
	}
	return r.counter.IncrementBy(key, current, 1) == nil
}
