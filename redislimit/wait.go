package redislimit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// Wait blocks until Take admits one of key's.
func (c *PerClient) Wait(ctx context.Context, key string) error { return c.WaitN(ctx, key, 1) }

// WaitN blocks until Take admits n. Who is denied asks again when that says, and those who
// come for the same key meanwhile wait behind it, in order: one asks, and as many as there
// is something left for. So a round trip admits at most the capacity to those who wait. The
// store keeps no reservations: who does not wait, or waits elsewhere, may be before them.
// Stats counts each Take. The error is weir.ErrNever for n above the capacity, and one
// that is context.DeadlineExceeded, at once, if the store says when it is first asked that
// n is admitted only after ctx's deadline.
func (c *PerClient) WaitN(ctx context.Context, key string, n int) error {
	ask, looks := c.Take, false
	w := c.lines.follow(key, n)
	if w != nil {
		ask, looks = c.Peek, true
	}
	left := 0
	defer func() { c.lines.leave(key, w, left) }()
	for {
		d, err := ask(ctx, key, n)
		admitted := time.Now().Add(d.RetryAfter)
		switch {
		case err != nil:
			return err
		case d.Allowed && !looks:
			left = d.Remaining
			return nil
		case d.RetryAfter == weir.Never:
			return fmt.Errorf("redislimit: %d at once: %w", n, weir.ErrNever)
		}
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(admitted) {
			return fmt.Errorf("redislimit: a wait of %v: %w", d.RetryAfter, context.DeadlineExceeded)
		}
		if w == nil {
			w = c.lines.join(key, n)
		}
		select {
		case <-w.turn:
		case <-ctx.Done():
			return c.failed(ctx.Err())
		}
		if looks {
			ask, looks = c.Take, false
			continue
		}
		timer := time.NewTimer(time.Until(admitted))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return c.failed(ctx.Err())
		}
	}
}

// lines are of those who wait, one for each key.
//
//	whoever is first in a line has its turn
type lines struct {
	mu sync.Mutex
	of map[string][]*waiter
}

type waiter struct {
	n    int
	turn chan struct{} // closed when it is to ask
	has  bool          // it is
}

// follow is join for who may wait behind others; nil if there are none.
func (ls *lines) follow(key string, n int) *waiter {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.of[key]) == 0 {
		return nil
	}
	return ls.add(key, n)
}

func (ls *lines) join(key string, n int) *waiter {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.add(key, n)
}

func (ls *lines) add(key string, n int) *waiter {
	if ls.of == nil {
		ls.of = make(map[string][]*waiter)
	}
	w := &waiter{n: n, turn: make(chan struct{})}
	ls.of[key] = append(ls.of[key], w)
	ls.call(key, 0)
	return w
}

// leave is for who does not wait any more, and knows how many are left for the others.
func (ls *lines) leave(key string, w *waiter, left int) {
	if w == nil {
		return
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	line := ls.of[key]
	at := slices.Index(line, w)
	if ls.of[key] = slices.Delete(line, at, at+1); len(line) == 1 {
		delete(ls.of, key)
		return
	}
	ls.call(key, left)
}

// call gives their turn to the first, and to those behind for whom enough is left. The
// lock is held.
func (ls *lines) call(key string, left int) {
	for i, w := range ls.of[key] {
		if left -= w.n; left < 0 && i > 0 {
			return
		}
		if !w.has {
			w.has = true
			close(w.turn)
		}
	}
}
