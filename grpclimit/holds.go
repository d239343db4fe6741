package grpclimit

import (
	"context"
	"sync"
	"time"
)

// holds are the instants before which servers want no RPC, by key. The zero value
// holds nothing.
type holds struct {
	mu      sync.Mutex
	keys    map[string]*hold
	sweepAt int // as many keys
}

type hold struct {
	until time.Time
	grown chan struct{} // closed when until is another
}

// minSweep is how many keys there are at least when it is looked which are still held.
const minSweep = 64

// extend holds a key for d from now on, if it is not held for longer.
func (h *holds) extend(key string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	k := h.keys[key]
	if k == nil {
		h.sweep(now)
		k = &hold{grown: make(chan struct{})}
		h.keys[key] = k
	}
	if until := now.Add(d); until.After(k.until) {
		k.until = until
		close(k.grown)
		k.grown = make(chan struct{})
	}
}

// sweep makes room for another key. It looks at all when there are twice as many as it
// left last time, so that one costs O(1). A map keeps the memory of what is deleted, so
// it makes another.
func (h *holds) sweep(now time.Time) {
	if h.keys != nil && len(h.keys) < max(h.sweepAt, minSweep) {
		return
	}
	keys := make(map[string]*hold)
	for key, k := range h.keys {
		if now.Before(k.until) {
			keys[key] = k
		}
	}
	h.keys, h.sweepAt = keys, 2*len(keys)
}

// look returns until when a key is held, which may be over, and what is closed when
// that is longer.
func (h *holds) look(key string) (until time.Time, grown <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if k := h.keys[key]; k != nil {
		return k.until, k.grown
	}
	return time.Time{}, nil
}

func (h *holds) left(key string) time.Duration {
	until, _ := h.look(key)
	return max(time.Until(until), 0)
}

// wait waits until a key is not held, and returns how long that was. It fails as soon as
// it is known that this would be past ctx's deadline or longer than patience.
func (h *holds) wait(ctx context.Context, key string, patience time.Duration) (time.Duration, error) {
	until, grown := h.look(key)
	began := time.Now()
	giveUp := began.Add(patience)
	for now := began; now.Before(until); now = time.Now() {
		if err := tooLong(ctx, until, giveUp); err != nil {
			return 0, &WaitError{Key: key, Wait: until.Sub(now), Err: err}
		}
		select {
		case <-time.After(until.Sub(now)):
		case <-grown:
		case <-ctx.Done():
		}
		until, grown = h.look(key)
	}
	return time.Since(began), nil
}

// tooLong returns why a wait is not worth its while. One that ends at the deadline leaves
// no time for an answer.
func tooLong(ctx context.Context, until, giveUp time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !until.Before(deadline) {
		return context.DeadlineExceeded
	}
	if until.After(giveUp) {
		return ErrHeldBack
	}
	return nil
}
