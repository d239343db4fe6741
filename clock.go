package weir

import (
	"context"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock tells the time and waits for it. Limiters read it once a decision.
// Any reading is legal: a Clock may jump and may step back.
// Its methods must be safe for concurrent use.
type Clock interface {
	// Now returns the time since a fixed origin, which may be negative.
	Now() time.Duration
	// SleepUntil returns nil once Now has reached t, or ctx's error if ctx
	// is done first. Wait believes it: if it returns nil early, so does Wait.
	SleepUntil(ctx context.Context, t time.Duration) error
}

// An alarmer is a Clock that can call a function later without a goroutine
// that waits meanwhile. f is called once the clock has moved on by d, in a
// goroutine where it may take its time; stop makes sure that it no longer is.
type alarmer interface {
	afterFunc(d time.Duration, f func()) (stop func())
}

// neverStepsBack reports whether a reading of the clock is never below one that
// was returned before it was asked for. Nothing is known of a user's clock.
func neverStepsBack(c Clock) bool {
	switch c.(type) {
	case systemClock, *CoarseClock:
		return true
	}
	return false
}

// SystemClock returns the default clock: Unix time as it was when the process
// started plus the monotonic time since. It never steps, whatever is done to
// the machine's clock. In a testing/synctest bubble it reads the bubble's time.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

var (
	processStart     = time.Now()
	processStartUnix = time.Duration(processStart.UnixNano())
)

func (systemClock) Now() time.Duration {
	// time.Since reads the monotonic clock alone; time.Now reads two clocks.
	return processStartUnix + time.Since(processStart)
}

func (c systemClock) SleepUntil(ctx context.Context, t time.Duration) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		left := saturatingSub(t, c.Now())
		if left <= 0 {
			return nil
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (systemClock) afterFunc(d time.Duration, f func()) (stop func()) {
	timer := time.AfterFunc(d, f)
	if now := time.Now(); now == now.Round(0) {
		// No monotonic reading: this is a synctest bubble, and stopping its
		// timer from outside would crash the program. It goes with the bubble.
		return func() {}
	}
	return func() { timer.Stop() }
}

// A CoarseClock is a SystemClock read once a resolution instead of once a
// decision: for paths where reading the clock matters. Its readings are older
// than the system clock's by up to the resolution, longer only where the machine
// is too busy to run its ticker. Make it with NewCoarseClock, and Close it to end
// the ticker. It is safe for concurrent use.
type CoarseClock struct {
	reading    atomic.Int64
	resolution time.Duration
	closed     chan struct{}
	ended      chan struct{}
	once       sync.Once
}

// notTicking in place of a reading says that the ticker has ended.
const notTicking = math.MinInt64

// NewCoarseClock returns a CoarseClock whose reading is refreshed at least
// once a resolution. It panics if resolution is not positive.
func NewCoarseClock(resolution time.Duration) *CoarseClock {
	if resolution <= 0 {
		panic("weir: NewCoarseClock with a resolution of " + resolution.String() + ": it must be positive")
	}
	c := &CoarseClock{
		resolution: resolution,
		closed:     make(chan struct{}),
		ended:      make(chan struct{}),
	}
	c.reading.Store(int64(systemClock{}.Now()))
	go c.tick()
	return c
}

func (c *CoarseClock) tick() {
	defer close(c.ended)
	// Two ticks a resolution, so that one that comes late is still in time.
	ticker := time.NewTicker(max(c.resolution/2, 1))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.reading.Store(int64(systemClock{}.Now()))
		case <-c.closed:
			c.reading.Store(notTicking)
			return
		}
	}
}

// Now returns the last reading of the system clock; after Close, a new one.
func (c *CoarseClock) Now() time.Duration {
	if reading := c.reading.Load(); reading != notTicking {
		return time.Duration(reading)
	}
	return systemClock{}.Now()
}

// SleepUntil waits until Now has reached t.
func (c *CoarseClock) SleepUntil(ctx context.Context, t time.Duration) error {
	wake := t
	for {
		if err := (systemClock{}).SleepUntil(ctx, wake); err != nil || c.Now() >= t {
			return err
		}
		// The system clock is there; the reading follows within half a resolution.
		wake = saturatingAdd(systemClock{}.Now(), max(c.resolution/4, 1))
	}
}

func (c *CoarseClock) afterFunc(d time.Duration, f func()) (stop func()) {
	return systemClock{}.afterFunc(d, f)
}

// Close ends the ticker and returns when it has ended. From then on every
// reading is the system clock's own. Close may be called again.
func (c *CoarseClock) Close() error {
	c.once.Do(func() { close(c.closed) })
	<-c.ended
	return nil
}

// A ManualClock stands still until it is told to move: for tests and
// simulations. Make it with NewManualClock; it starts at 0. It is safe for
// concurrent use.
type ManualClock struct {
	advancing sync.Mutex // one Advance at a time

	mu       sync.Mutex
	now      time.Duration
	events   []*event // by instant, then by age
	sleepers int      // of events, those that are SleepUntil's
	slept    sync.Cond
	passes   int // over events, of all Advances
}

// An event is what happens when a ManualClock reaches an instant.
type event struct {
	at   time.Duration
	wake chan struct{} // closed for a sleeper
	call func()        // called for an alarm
	pass int           // during which it was set
}

// NewManualClock returns a ManualClock at 0.
func NewManualClock() *ManualClock {
	c := &ManualClock{}
	c.slept.L = &c.mu
	return c
}

// Now returns the time that all calls of Advance add up to.
func (c *ManualClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// SleepUntil waits until Advance has brought the clock to t.
func (c *ManualClock) SleepUntil(ctx context.Context, t time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	if c.now >= t {
		c.mu.Unlock()
		return nil
	}
	e := &event{at: t, wake: make(chan struct{})}
	c.addLocked(e)
	c.mu.Unlock()

	select {
	case <-e.wake:
		return nil
	case <-ctx.Done():
	}
	if !c.remove(e) {
		return nil // woken at the same moment
	}
	return ctx.Err()
}

func (c *ManualClock) afterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &event{at: saturatingAdd(c.now, d), call: f}
	c.addLocked(e)
	return func() { c.remove(e) }
}

// Advance moves the clock by d and wakes whoever sleeps until an instant on
// the way, in the order of the instants. Sweeps that fall due run before it
// returns. A negative d steps the clock back, which wakes nobody.
func (c *ManualClock) Advance(d time.Duration) {
	c.advancing.Lock()
	defer c.advancing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	target := saturatingAdd(c.now, d)
	c.passLocked(target)
	c.now = target
	// An alarm that was set again on the way rings once more, not once for each
	// of its periods: thirty years ahead is a call, not millions.
	c.passLocked(target)
}

// passLocked goes through the events at or before t that were set before it
// began.
func (c *ManualClock) passLocked(t time.Duration) {
	c.passes++
	for {
		n := c.untilLocked(t)
		i := slices.IndexFunc(c.events[:n], func(e *event) bool { return e.pass < c.passes })
		if i < 0 {
			return
		}
		e := c.events[i]
		c.events = slices.Delete(c.events, i, i+1)
		c.now = max(c.now, e.at)
		c.fireLocked(e)
	}
}

// untilLocked returns how many events, the first ones, are at or before t.
func (c *ManualClock) untilLocked(t time.Duration) int {
	return sort.Search(len(c.events), func(i int) bool { return c.events[i].at > t })
}

// fireLocked unlocks the clock while an alarm runs, which reads it.
func (c *ManualClock) fireLocked(e *event) {
	if e.wake != nil {
		c.sleepers--
		close(e.wake)
		return
	}
	c.mu.Unlock()
	defer c.mu.Lock()
	e.call()
}

func (c *ManualClock) addLocked(e *event) {
	e.pass = c.passes
	c.events = slices.Insert(c.events, c.untilLocked(e.at), e)
	if e.wake != nil {
		c.sleepers++
		c.slept.Broadcast()
	}
}

// remove takes e out and reports whether it was still there.
func (c *ManualClock) remove(e *event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := slices.Index(c.events, e)
	if n < 0 {
		return false
	}
	c.events = slices.Delete(c.events, n, n+1)
	if e.wake != nil {
		c.sleepers--
	}
	return true
}

// BlockUntil returns when at least that many callers sleep in SleepUntil: a
// test calls it before Advance, so that nobody comes late.
func (c *ManualClock) BlockUntil(sleepers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.sleepers < sleepers {
		c.slept.Wait()
	}
}
