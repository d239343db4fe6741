package schedule

import (
	"fmt"
	"iter"
	"runtime/debug"
)

// A thread is a coroutine that is suspended at a point.
type thread struct {
	next   step
	clock  clock // of its last step, and of what it has acquired
	run    func()
	resume func() (struct{}, bool) // nil before its first step
	kill   func()
	yield  func(struct{}) bool
	ended  bool
}

// An execution is a program that is run once.
type execution struct {
	threads []*thread
	active  *thread
	trace   []step
	failure error
	sites   bool // note where each step is
}

// running is the execution whose thread runs. Nothing else runs meanwhile.
var running *execution

// abandoned is what a thread panics with whose execution is given up.
type abandoned struct{}

func start(threads []func(), sites bool) *execution {
	x := &execution{sites: sites, trace: make([]step, 0, 128)}
	for _, run := range threads {
		x.enter(x.add(run))
	}
	return x
}

func (x *execution) add(run func()) *thread {
	if len(x.threads) == maxThreads {
		panic("schedule: too many threads")
	}
	t := &thread{run: run}
	t.next = step{thread: len(x.threads), kind: Write, object: outside}
	x.threads = append(x.threads, t)
	return t
}

// enter runs a thread up to its next point, or its end.
func (x *execution) enter(t *thread) {
	if t.resume == nil {
		t.resume, t.kill = iter.Pull(func(yield func(struct{}) bool) {
			defer x.leave(t)
			t.yield = yield
			t.run()
		})
	}
	running, x.active = x, t
	t.resume()
	running, x.active = nil, nil
}

// leave ends a thread.
func (x *execution) leave(t *thread) {
	t.ended = true
	if reason := recover(); reason != nil && running != nil {
		x.failure = fmt.Errorf("thread %d panics: %v\n%s", t.next.thread, reason, debug.Stack())
	}
}

// take has a thread take its next step.
func (x *execution) take(t *thread) {
	t.next.clock = x.before(t)
	t.next.clock[t.next.thread]++
	t.clock = t.next.clock
	x.trace = append(x.trace, t.next)
	x.enter(t)
}

// before returns the clock of what happens before a thread's next step.
func (x *execution) before(t *thread) clock {
	c := t.clock
	for i := range x.trace {
		if s := &x.trace[i]; dependent(s, &t.next) {
			c.join(&s.clock)
		}
	}
	if m := t.next.mutex; m != nil {
		c.join(&m.released)
	}
	return c
}

// pause suspends the running thread until it is its turn to do a step.
func pause(s step) {
	x := running
	if x == nil {
		if !s.enabled() {
			panic("schedule: blocked for ever")
		}
		return
	}
	t := x.active
	s.thread = t.next.thread
	if x.sites {
		s.site = site()
	}
	t.next = s
	if !t.yield(struct{}{}) {
		panic(abandoned{})
	}
}

// abandon ends all threads where they are.
func (x *execution) abandon() {
	for _, t := range x.threads {
		if t.kill != nil {
			t.kill()
		}
	}
}
