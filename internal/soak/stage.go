package main

import "sync/atomic"

// An activity is what goes on beside the calls.
type activity int32

const (
	quiet activity = iota
	collecting
	sweeping
	reloading
	threading
	allocating
	waiting
	closing
	abandoning
	reading
	everything

	activities // how many there are
)

func (a activity) String() string {
	return [...]string{"quiet", "gc", "sweep", "setpolicy", "gomaxprocs", "memory", "waiters",
		"new+close", "abandon", "stats", "all of it"}[a]
}

// A stage is what all scenarios have in common.
type stage struct {
	workers  int
	seed     uint64
	activity atomic.Int32
	faults   faults
}

func (s *stage) now() activity { return activity(s.activity.Load()) }
