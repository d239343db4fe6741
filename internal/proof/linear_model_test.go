package proof

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/goweir/weir"
)

// A state is the model after some calls, by which it is known: it is made by
// making them again. Each is made but once, for all runs of a script.
type state struct {
	script *script
	before *state // nil for that of a new limiter
	last   choice
	next   map[choice]*outcome
	alike  map[string]*state // all states of the script, by what they are
	model  *told             // nil if it has gone on
	open   bool              // what comes next is not said
}

// A choice is a call, the instants at which it is decided, and which of several
// clients is forgotten for it.
type choice struct {
	call      *call
	at        int
	shared    int // if it is decided by the shared state
	forgotten int
}

// An outcome is the model's answer to a choice, and what becomes of it.
type outcome struct {
	answer any
	among  int // of how many clients one was forgotten, 0 for none
	*state
}

// A told is a model that is told which choices to make.
type told struct {
	script *script
	*subject
	choice
	among   int
	setting *call // the first step of a SetPolicy of which the second is to come
}

func (s *script) newState() *state {
	return &state{script: s, next: map[choice]*outcome{}, alike: map[string]*state{}}
}

// after returns what comes of a choice.
func (s *state) after(c choice) *outcome {
	if o := s.next[c]; o != nil {
		return o
	}
	m := s.model
	if s.model = nil; m == nil {
		m = s.again()
	}
	o := &outcome{}
	o.answer, o.among = m.tell(c)
	text := "anything"
	if o.answer != unsaid {
		text = m.String()
	}
	o.state = s.alike[text]
	if o.state == nil {
		o.state = &state{script: s.script, before: s, last: c, next: map[choice]*outcome{}, alike: s.alike, model: m, open: o.answer == unsaid}
		s.alike[text] = o.state
	}
	s.next[c] = o
	return o
}

// again returns the model of a state.
func (s *state) again() *told {
	m := &told{script: s.script}
	m.subject = s.script.model(m)
	var choices []choice
	for ; s.before != nil; s = s.before {
		choices = append(choices, s.last)
	}
	for _, c := range slices.Backward(choices) {
		m.tell(c)
	}
	return m
}

// now is what the clock shows it.
func (m *told) now() time.Duration { return m.script.start + m.script.instants[m.at] }

// forget is who of several clients is forgotten.
func (m *told) forget(clients []int) int {
	slices.Sort(clients)
	m.among = len(clients)
	return clients[m.forgotten]
}

// share has it read the clock again.
func (m *told) share() { m.at = m.choice.shared }

func (m *told) tell(c choice) (answer any, among int) {
	m.choice, m.among = c, 0
	if !m.inTurn(c.call) {
		return outOfTurn, 0
	}
	return c.call.make(m.subject), m.among
}

// outOfTurn is in place of the answer to what cannot come next.
const outOfTurn = "out of turn"

// inTurn reports whether a call can come next: one policy is set at a time.
func (m *told) inTurn(c *call) bool {
	switch {
	case c.verb == "SetShared":
		if m.setting != nil {
			return false
		}
		m.setting = c
	case c.first != nil:
		if m.setting != c.first {
			return false
		}
		m.setting = nil
	}
	return true
}

// String is all that the model is.
func (m *told) String() string {
	receipts := make([]any, len(m.receipts))
	for i := range receipts {
		if r := m.receipts[i].Load(); r != nil {
			receipts[i] = *r
		}
	}
	return fmt.Sprintf("%p ", m.setting) + printed(receipts, m.limiter)
}

// sequential is what a history must be linearizable to: of each call, any instant
// that the clock showed meanwhile may be the one that it is decided at, and any of
// several clients that are equally full the one that is forgotten.
func (s *script) sequential() porcupine.Model {
	start := s.newState()
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{start} },
		Step: func(before, input, output any) (after []any) {
			if before.(*state).open {
				return []any{before}
			}
			in := input.(made)
			for c := range s.choices(in) {
				for ; ; c.forgotten++ {
					o := before.(*state).after(c)
					if s.agree(in, o.answer, output) || o.open {
						after = append(after, o.state)
					}
					if c.forgotten+1 >= o.among {
						break
					}
				}
			}
			return after
		},
		DescribeOperation: func(input, output any) string { return describe(input.(made), output) },
		DescribeState:     func(s any) string { return s.(*state).String() },
	}
	return model.ToModel()
}

// choices are the instants at which a call may be decided. One about a client that
// has no place is decided by the shared state at a reading after the one by which it
// has none, if the clock never steps back.
func (s *script) choices(in made) iter.Seq[choice] {
	return func(yield func(choice) bool) {
		for at := in.from; at <= in.to; at++ {
			last := at
			if s.shares() && s.when == forwards {
				last = in.to
			}
			for shared := at; shared <= last; shared++ {
				if !yield(choice{in.call, at, shared, 0}) {
					return
				}
			}
		}
	}
}

// agree reports whether weir may answer a call as it did when the model says this.
// When a client that DenyNew has no place for is to come again is an estimate, of
// the clients that are held: one of them may have been charged at a later instant
// than the one that is told has read.
func (s *script) agree(in made, model, weirs any) bool {
	m, ok := model.(weir.Decision)
	if ok && s.crowded() && s.options.Overflow == weir.DenyNew && !m.Allowed && m.ResetAfter == 0 && in.from < in.to {
		w := weirs.(weir.Decision)
		m.RetryAfter = max(w.RetryAfter, time.Millisecond)
	}
	return model == weirs || ok && m == weirs
}

// String is what is left to each key.
func (s *state) String() string {
	m := s.again()
	var left []string
	for key, k := range m.keys {
		left = append(left, fmt.Sprintf("%d: %d", key, k.Peek(0).Remaining))
	}
	return strings.Join(left, ", ")
}
