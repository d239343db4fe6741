package proof

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/goweir/weir"
	"pgregory.net/rapid"
)

// runs is how often each script is run: what becomes of a race is seldom the same.
var runs = flag.Int("runs", 10, "how often each script of a history is run")

func describe(c made, answer any) string {
	text := c.call.String()
	if answer != nil {
		text += fmt.Sprintf(" // %+v", answer)
	}
	return text
}

// A finding is a history that is not linearizable.
type finding struct {
	*script
	history []porcupine.Operation
}

func (f *finding) String() string {
	slices.SortFunc(f.history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	text := new(strings.Builder)
	fmt.Fprintf(text, "%s\nthe clock shows %d and %v from there\n", f.text, f.start, f.instants)
	for _, op := range f.history {
		in := op.Input.(made)
		fmt.Fprintf(text, "%3d to %3d, instants %d to %d, goroutine %d: %s\n", op.Call, op.Return, in.from, in.to, op.ClientId, describe(in, op.Output))
	}
	return text.String()
}

// explain adds the longest part of it that is linearizable, and what the model
// says instead of what came next.
func (f *finding) explain() string {
	_, info := porcupine.CheckOperationsVerbose(f.sequential(), f.history, 0)
	text := new(strings.Builder)
	if file, err := os.CreateTemp("", "linear-*.html"); err == nil {
		if porcupine.Visualize(f.sequential(), info, file) == nil {
			fmt.Fprintln(text, "see", file.Name())
		}
		file.Close()
	}
	longest := slices.MaxFunc(info.PartialLinearizationsOperations()[0], func(a, b []porcupine.Operation) int { return len(a) - len(b) })
	s := f.newState()
	fmt.Fprintln(text, "linearizable so far:")
	left := slices.Clone(f.history)
	for _, op := range longest {
		fmt.Fprintln(text, "   ", describe(op.Input.(made), op.Output))
		left = slices.DeleteFunc(left, func(o porcupine.Operation) bool { return o.Call == op.Call })
		in := op.Input.(made)
		for c := range f.choices(in) {
			if o := s.after(c); f.agree(in, o.answer, op.Output) {
				s = o.state
				break
			}
		}
	}
	fmt.Fprintln(text, "then one of:")
	for _, op := range left {
		in := op.Input.(made)
		fmt.Fprintf(text, "    %s; model: %+v\n", describe(in, op.Output), s.after(choice{in.call, in.to, in.to, 0}).answer)
	}
	return text.String()
}

// A stage is where scripts are run.
type stage struct {
	start []time.Duration
	when  stepping
	run   func(s *script, runs int) [][]porcupine.Operation
}

func (st *stage) check(t *testing.T) {
	var least *finding
	histories, overlapping := 0, 0
	defer func() {
		t.Log(histories, "histories,", overlapping, "with calls that overlap")
		if least != nil {
			t.Log("not linearizable:\n" + least.String() + least.explain())
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt, oneOf(rt, st.start...), st.when)
		m := s.sequential()
		n := *runs
		if least != nil {
			n *= 10 // one that is smaller is to fail as well
		}
		for _, history := range st.run(s, n) {
			histories++
			if overlap(history) {
				overlapping++
			}
			if !porcupine.CheckOperations(m, history) {
				least = &finding{s, history}
				rt.Fatal("not linearizable")
			}
		}
	})
}

func overlap(history []porcupine.Operation) bool {
	for _, a := range history {
		for _, b := range history {
			if a.Call < b.Call && b.Call < a.Return {
				return true
			}
		}
	}
	return false
}

// Whatever goroutines do to one limiter at a time, their calls answer as the model
// does when they are made one after the other: in some order in which none is made
// before another that had returned when it began. The clock goes on and back
// meanwhile.
func TestHistoriesOnALockAreLinearizable(t *testing.T) {
	c := new(handClock)
	(&stage{
		start: []time.Duration{0, 1_700_000_000_000_000_000, -250 * year},
		when:  anywhere,
		run: func(s *script, runs int) [][]porcupine.Operation {
			return (&batch{script: s, clock: c, move: c.set}).make(runs)
		},
	}).check(t)
}

// The same on a clock that goes on meanwhile and never back: a bucket alone is then
// another state, without a lock.
func TestHistoriesOnAWordAreLinearizable(t *testing.T) {
	c, set := newSteeredClock()
	defer c.Close()
	(&stage{
		start: []time.Duration{1_700_000_000_000_000_000},
		when:  forwards,
		run: func(s *script, runs int) [][]porcupine.Operation {
			return (&batch{script: s, clock: c, move: set}).make(runs)
		},
	}).check(t)
}

// The same on the system's clock.
func TestHistoriesOnTheSystemClockAreLinearizable(t *testing.T) {
	(&stage{
		start: []time.Duration{time.Duration(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())},
		run: func(s *script, runs int) (histories [][]porcupine.Operation) {
			synctest.Test(t, func(*testing.T) {
				c := weir.SystemClock()
				move := func(to time.Duration) { time.Sleep(to - c.Now()) }
				histories = (&batch{script: s, clock: c, move: move, bubble: true}).make(runs)
			})
			return histories
		},
	}).check(t)
}
