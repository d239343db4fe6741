package main

import (
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// system is the clock of all limiters but one, and of all measurements.
var system = weir.SystemClock()

// A lane is what one worker sees of one scenario. Its counters may be read
// meanwhile.
type lane struct {
	scenario *scenario

	allowed, denied, keys atomic.Uint64
	full                  atomic.Uint64 // admissions that filled a span up to its bound
	broken                atomic.Uint64

	latency [activities]histogram
	began   time.Duration
	during  activity
}

// start returns the reading before the first of some calls.
func (l *lane) start() time.Duration {
	l.during = l.scenario.stage.now()
	l.began = system.Now()
	return l.began
}

// lap records how long a call took that has just returned, and returns the
// reading after it, which is the one before the next.
func (l *lane) lap() time.Duration {
	now := system.Now()
	took := now - l.began
	l.began = now
	during := l.scenario.stage.now()
	l.latency[during].record(took)
	if during != l.during {
		l.latency[l.during].record(took)
		l.during = during
	}
	return now
}

func (l *lane) count(allowed bool) {
	if allowed {
		l.allowed.Add(1)
	} else {
		l.denied.Add(1)
	}
}

// judge notes what a meter says of an admission to a key.
func (l *lane) judge(key any, full bool, err error) {
	if full {
		l.full.Add(1)
	}
	if err != nil {
		l.broken.Add(1)
		l.scenario.stage.faults.add(l.scenario.name, "key %v: %v", key, err)
	}
}
