package schedule

import (
	"errors"
	"slices"
)

// A search goes depth first through the states of a program.
type search struct {
	Options
	program func() Program
	path    []node // what was chosen in each state of the last run, or is in the next
	fresh   int    // the path is that of the run before up to there
	report  Report
}

// A node is a state. It is done with when all that are wanted are asleep.
type node struct {
	chosen  int // whose step is taken
	enabled set // who could take one
	wanted  set // whose have to be, at some time
	asleep  set // whose need not be any more: all that follows is known
}

// follow has the threads take their steps until all have ended.
func (s *search) follow(x *execution) error {
	for depth := 0; x.failure == nil; depth++ {
		if depth == s.Steps {
			return errTooDeep
		}
		if depth == len(s.path) {
			if more, err := s.extend(x); !more {
				return err
			}
		}
		t := x.threads[s.path[depth].chosen]
		if t.ended || !t.next.enabled() {
			return errors.New("what was run again came to something else")
		}
		if depth >= s.fresh && !s.Every {
			s.races(x, t)
		}
		x.take(t)
	}
	return x.failure
}

// extend adds the state that is come to, and chooses who takes a step there. It
// reports whether anybody does.
func (s *search) extend(x *execution) (more bool, err error) {
	n := node{asleep: s.asleep(x)}
	ended := true
	for i, t := range x.threads {
		ended = ended && t.ended
		if !t.ended && t.next.enabled() {
			n.enabled.add(i)
		}
	}
	choice := n.enabled &^ n.asleep
	switch {
	case ended:
		return false, nil
	case n.enabled == 0:
		return false, errors.New("deadlock")
	case choice == 0:
		return false, errRedundant
	}
	n.chosen = choice.first()
	if len(x.trace) > 0 {
		// Who was running goes on: what fails is then short of changes.
		if last := x.trace[len(x.trace)-1].thread; choice.has(last) {
			n.chosen = last
		}
	}
	n.wanted.add(n.chosen)
	if s.Every {
		n.wanted = n.enabled
	}
	s.path = append(s.path, n)
	return true, nil
}

// asleep returns who is asleep in the state that is come to: who was before the
// last step, if that does not concern them.
func (s *search) asleep(x *execution) (asleep set) {
	if s.Every || len(s.path) == 0 {
		return 0
	}
	last := &x.trace[len(x.trace)-1]
	for i, t := range x.threads {
		if s.path[len(s.path)-1].asleep.has(i) && !dependent(&t.next, last) {
			asleep.add(i)
		}
	}
	return asleep
}

// next makes the path that of the next run, and reports whether there is one.
func (s *search) next() bool {
	for ; len(s.path) > 0; s.path = s.path[:len(s.path)-1] {
		n := &s.path[len(s.path)-1]
		n.asleep.add(n.chosen)
		if left := n.wanted &^ n.asleep; left != 0 {
			n.chosen, s.fresh = left.first(), len(s.path)-1
			return true
		}
	}
	return false
}

// races looks for the steps that are in a race with the next one of a thread: they
// could have come after it as well. Where one of them was taken, whoever leads
// there is wanted, too.
func (s *search) races(x *execution, t *thread) {
	known := t.clock
	for at := len(x.trace) - 1; at >= 0; at-- {
		e := &x.trace[at]
		if !dependent(e, &t.next) {
			continue
		}
		if n := &s.path[at]; !known.knows(e) {
			first := x.first(at, t)
			switch {
			case first&(n.wanted|n.asleep) != 0:
			case first&n.enabled != 0:
				n.wanted.add((first & n.enabled).first())
			default: // it is blocked there
				n.wanted |= n.enabled
			}
		}
		known.join(&e.clock)
	}
}

// first returns who can take the first step towards a thread's next without that
// at a place of the trace, and without what happened after it.
func (x *execution) first(at int, t *thread) (first set) {
	next := t.next
	next.clock = x.before(t)
	var steps []*step
	var seen set
	for i := at + 1; i <= len(x.trace); i++ {
		s := &next
		if i < len(x.trace) {
			s = &x.trace[i]
			if s.clock.knows(&x.trace[at]) {
				continue
			}
		}
		if !seen.has(s.thread) && !slices.ContainsFunc(steps, s.clock.knows) {
			first.add(s.thread)
		}
		seen.add(s.thread)
		steps = append(steps, s)
	}
	return first
}
