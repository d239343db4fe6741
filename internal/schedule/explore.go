package schedule

import (
	"errors"
	"fmt"
	"strings"
)

// A Program is what is run: threads that run beside each other, and what must hold
// when all of them have ended.
type Program struct {
	Threads []func()
	Check   func() error
}

// Options say how far Explore goes. The zero Options are for all the way.
type Options struct {
	Runs  int  // it stops after so many
	Steps int  // a run is given up after so many; 0 is for 1000
	Every bool // run all interleavings, not one of those that come to the same
	Count bool // the interleavings
}

// A Report is what Explore has done.
type Report struct {
	Runs          int     // that came to their end, and were checked
	Redundant     int     // that were given up, as what follows had been run
	TooDeep       int     // that were given up after so many steps
	Steps         int     // of the longest run
	Interleavings float64 // that Runs stand for, if they were counted
	Done          bool    // no other run is left
}

// Explore makes a program and runs it, once for each order of its threads' steps
// that can make a difference. The error is the first failure, of a Check, a panic
// or a deadlock, with the steps that led to it.
func Explore(o Options, program func() Program) (Report, error) {
	if o.Steps == 0 {
		o.Steps = 1000
	}
	s := &search{Options: o, program: program}
	for {
		if err := s.run(); err != nil {
			return s.report, s.explain(err)
		}
		if r := &s.report; !s.next() {
			r.Done = r.TooDeep == 0
			return *r, nil
		} else if r.Runs+r.Redundant+r.TooDeep == o.Runs {
			return *r, nil
		}
	}
}

// errRedundant and errTooDeep end runs that are of no use.
var (
	errRedundant = errors.New("redundant")
	errTooDeep   = errors.New("too deep")
)

// run runs the program, along the path and on.
func (s *search) run() error {
	x, check := s.start(false)
	defer x.abandon()
	err := s.follow(x)
	s.report.Steps = max(s.report.Steps, len(x.trace))
	switch err {
	case errRedundant:
		s.report.Redundant++
		return nil
	case errTooDeep:
		s.report.TooDeep++
		return nil
	case nil:
		s.report.Runs++
		if s.Count {
			s.report.Interleavings += x.interleavings()
		}
		return check()
	}
	return err
}

func (s *search) start(sites bool) (x *execution, check func() error) {
	now = 0
	p := s.program()
	return start(p.Threads, sites), p.Check
}

// explain adds to an error the steps that led to it: those of the path.
func (s *search) explain(err error) error {
	x, _ := s.start(true)
	defer x.abandon()
	for i := range s.path {
		if t := x.threads[s.path[i].chosen]; !t.ended {
			x.take(t)
		}
	}
	var text strings.Builder
	for i := range x.trace {
		fmt.Fprintf(&text, "\n\tthread %d: %s", x.trace[i].thread, x.trace[i].site)
	}
	for i, t := range x.threads {
		if !t.ended {
			fmt.Fprintf(&text, "\n\tthread %d is at %s", i, t.next.site)
		}
	}
	return fmt.Errorf("%w\nafter run %d, of these steps:%s", err, s.report.Runs, text.String())
}
