// Package sync stands for the standard library's, with a point where one may have
// to wait.
package sync

import "github.com/goweir/weir/internal/schedule"

type Mutex = schedule.Mutex

type Locker interface {
	Lock()
	Unlock()
}

// A Once whose function is being called has no other callers wait for that.
type Once struct{ done bool }

func (o *Once) Do(f func()) {
	if !o.done {
		o.done = true
		f()
	}
}

type Cond struct {
	L     Locker
	calls int
}

func (c *Cond) Wait() {
	seen := c.calls
	c.L.Unlock()
	schedule.Await(func() bool { return c.calls > seen })
	c.L.Lock()
}

func (c *Cond) Broadcast() { schedule.Outside(func() { c.calls++ }) }
