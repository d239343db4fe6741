package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir"
)

// callsATurn is how many calls a worker makes before it turns to something else.
const callsATurn = 32

// A worker is one of those that take turns at all scenarios.
type worker struct {
	id     int
	random *rand.Rand
}

// A scenario is one kind of traffic, with its own limiters and its own checks.
type scenario struct {
	name  string
	stage *stage
	lanes []*lane // of each worker

	// turn makes a few calls for a worker. It is nil if others do.
	turn func(w *worker, l *lane)
	// weight is how many turns it has where others have one, if above 1.
	weight int

	limiters []counter // whose Stats are to add up to what the lanes counted
	layered  bool      // limiters are layers: each counts all that is allowed, and one each denial
	vague    bool      // a caller cannot tell from every answer what was counted

	// All of these are nil for most.
	reload func(random *rand.Rand) error
	spell  func(ctx context.Context, length time.Duration, random *rand.Rand) // of waiting
	finish func() error                                                       // says what only the end can tell
	close  func() error                                                       // what is not among the limiters
}

// A counter is a Limiter or a PerClient.
type counter interface{ Stats() weir.Stats }

// A keeper is a PerClient.
type keeper interface {
	counter
	Len() int
	Sweep() int
	Close() error
}

func newScenario(st *stage, name string, limiters ...counter) *scenario {
	s := &scenario{name: name, stage: st, limiters: limiters}
	for range st.workers {
		s.lanes = append(s.lanes, &lane{scenario: s})
	}
	return s
}

// keepers returns the scenario's PerClients.
func (s *scenario) keepers() (keepers []keeper) {
	for _, l := range s.limiters {
		if k, ok := l.(keeper); ok {
			keepers = append(keepers, k)
		}
	}
	return keepers
}

// seen returns what the callers were told so far.
func (s *scenario) seen() (allowed, denied, keys uint64) {
	for _, l := range s.lanes {
		allowed += l.allowed.Load()
		denied += l.denied.Load()
		keys += l.keys.Load()
	}
	return allowed, denied, keys
}
