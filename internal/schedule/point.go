package schedule

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// Point says that the running thread is about to do something with an object.
func Point(kind Kind, object unsafe.Pointer) { pause(step{kind: kind, object: object}) }

// Go stands for a go statement.
func Go(f func()) {
	if running == nil {
		go f()
		return
	}
	parent := running.active
	running.add(f).clock = parent.clock
}

// A Mutex stands for sync.Mutex.
type Mutex struct {
	held     bool
	released clock
}

func (m *Mutex) Lock() {
	pause(step{kind: Acquire, object: unsafe.Pointer(m), mutex: m})
	m.held = true
}

// TryLock is a point at which nobody waits.
func (m *Mutex) TryLock() bool {
	pause(step{kind: Write, object: unsafe.Pointer(m)})
	if m.held {
		return false
	}
	m.held = true
	return true
}

// Unlock is no point: what comes before it is the holder's, and what comes behind
// it is the thread's alone, up to the next point.
func (m *Mutex) Unlock() {
	if running != nil {
		if !m.held {
			panic("schedule: unlock of unlocked mutex")
		}
		m.released = running.active.clock
	}
	m.held = false
}

// outside is the object that stands for all that threads share with the rest of
// the world: the time, and contexts.
var outside = unsafe.Pointer(new(int64))

// now is the time since a run began. It goes by only when a thread has it go.
var now time.Duration

// Elapsed reads the time.
func Elapsed() time.Duration {
	Point(Read, outside)
	return now
}

// Since and Now stand for those of package time, for processes that start in 1970.
func Since(time.Time) time.Duration { return Elapsed() }

func Now() time.Time { return time.Unix(0, 0).Add(Elapsed()) }

// Sleep has the time go by.
func Sleep(d time.Duration) { Outside(func() { now += d }) }

// Outside does something that an Await may wait for.
func Outside(f func()) {
	Point(Write, outside)
	f()
}

// Await blocks the running thread until something holds of the time, or of what
// is done by way of Outside.
func Await(holds func() bool) { pause(step{kind: Read, object: outside, ready: holds}) }

// Thread returns the number of the running thread.
func Thread() int {
	if running == nil {
		return 0
	}
	return running.active.next.thread
}

// Address stands for the number of an address, which is another in each run: all
// that it tells is whose stack it is on.
func Address(unsafe.Pointer) uintptr { return uintptr(Thread()+1) << 10 }

// site returns the place of a point in the code that has none.
func site() string {
	var callers [32]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for {
		frame, _ := frames.Next()
		name := frame.Function[strings.LastIndexByte(frame.Function, '/')+1:]
		switch pkg, _, _ := strings.Cut(name, "."); pkg {
		case "schedule", "sync", "atomic":
		default:
			return fmt.Sprintf("%s:%d %s", filepath.Base(frame.File), frame.Line, name)
		}
	}
}
