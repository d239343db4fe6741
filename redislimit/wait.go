package redislimit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// Wait blocks until Take admits one of key's.
func (c *PerClient) Wait(ctx context.Context, key string) error { return c.WaitN(ctx, key, 1) }

// WaitN blocks until Take admits n. It asks at once, and when that says; of those who wait
// here for the same key only the first does, and the others behind it in the order in
// which they came. The store keeps no reservations, so who does not wait, or waits
// elsewhere, may be before them. Stats counts each time that it asks. Its error is
// weir.ErrNever for n above the capacity, and one that is context.DeadlineExceeded, at
// once, if n is admitted only after ctx's deadline.
func (c *PerClient) WaitN(ctx context.Context, key string, n int) error {
	var l *line
	for {
		d, err := c.Take(ctx, key, n)
		switch {
		case err != nil || d.Allowed:
			return err
		case d.RetryAfter == weir.Never:
			return fmt.Errorf("redislimit: %d at once: %w", n, weir.ErrNever)
		}
		admitted := time.Now().Add(d.RetryAfter)
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(admitted) {
			return fmt.Errorf("redislimit: a wait of %v: %w", d.RetryAfter, context.DeadlineExceeded)
		}
		if l == nil {
			l = c.lines.join(key)
			defer c.lines.leave(key, l)
			select {
			case l.first <- struct{}{}:
				defer func() { <-l.first }()
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		timer := time.NewTimer(time.Until(admitted))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// lines are of those who wait, one for each key.
type lines struct {
	mu sync.Mutex
	of map[string]*line
}

type line struct {
	first chan struct{} // has one who asks; a channel lets those in first who came first
	long  int
}

func (ls *lines) join(key string) *line {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.of[key]
	if l == nil {
		if ls.of == nil {
			ls.of = make(map[string]*line)
		}
		l = &line{first: make(chan struct{}, 1)}
		ls.of[key] = l
	}
	l.long++
	return l
}

func (ls *lines) leave(key string, l *line) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.long--; l.long == 0 {
		delete(ls.of, key)
	}
}
