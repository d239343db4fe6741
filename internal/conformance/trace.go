// Package conformance reads, plays and makes the traces in the folder of that name
// at the root, whose README describes what is in them: what a limiter is asked at
// which instants, and every field of what it answers.
package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// A File is what is in one file of traces.
type File struct {
	About  string  `json:"about"`
	Late   int     `json:"late"` // microseconds; 0 for traces that are exact
	Bits   int     `json:"bits"` // of the integers that hold its counts: 32 or 64
	Traces []Trace `json:"traces"`
}

// A Trace is a program of one limiter, which begins without any clients.
type Trace struct {
	Name     string   `json:"name"`
	About    string   `json:"about,omitempty"`
	Policies []Policy `json:"policies"` // the first one is in force when it begins
	Steps    []Step   `json:"steps"`
}

// A Policy is one in text form, with the parts that a Decision can name.
type Policy struct {
	Text  string `json:"policy"`
	Parts []Part `json:"parts"`
}

// A Part is what a Decision says of the part that binds.
type Part struct {
	Name  string `json:"name"`
	Limit int    `json:"limit"` // none for an unlimited one
}

// A Verb is what a limiter is asked to do.
type Verb string

const (
	Take      Verb = "take"
	TakeAs    Verb = "takeas"
	Peek      Verb = "peek"
	Refund    Verb = "refund"
	Reset     Verb = "reset"
	SetPolicy Verb = "setpolicy"
)

// decides reports whether there is a Decision to expect.
func (v Verb) decides() bool { return v == Take || v == TakeAs || v == Peek }

// A Step is one call, and what is to come of it. Its JSON is an array of its
// fields, with those of an Answer if the verb decides.
type Step struct {
	At     int64 // microseconds on the clock
	Verb   Verb
	Key    string
	N      int
	Policy int // of Trace.Policies: the one of TakeAs and SetPolicy
	Answer
}

// An Answer is a Decision in the units of a trace.
type Answer struct {
	Allowed   bool
	Remaining int
	Retry     int64 // microseconds, rounded up
	Part      int   // of the parts of the policy that decides, from 0
	Reset     int64 // microseconds, rounded up
}

// none stands for no bound, and for never.
const none = -1

// MarshalJSON implements json.Marshaler.
func (s Step) MarshalJSON() ([]byte, error) {
	fields := []any{s.At, s.Verb, s.Key, s.N, s.Policy}
	if s.Verb.decides() {
		allowed := 0
		if s.Allowed {
			allowed = 1
		}
		fields = append(fields, allowed, s.Remaining, s.Retry, s.Part, s.Reset)
	}
	return json.Marshal(fields)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Step) UnmarshalJSON(data []byte) error {
	var allowed int
	fields := []any{&s.At, &s.Verb, &s.Key, &s.N, &s.Policy, &allowed, &s.Remaining, &s.Retry, &s.Part, &s.Answer.Reset}
	var values []json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	for i := range min(len(values), len(fields)) {
		if err := json.Unmarshal(values[i], fields[i]); err != nil {
			return fmt.Errorf("step %s: field %d: %w", data, i, err)
		}
	}
	want := 5
	if s.Verb.decides() {
		want = len(fields)
	}
	if len(values) != want {
		return fmt.Errorf("step %s: it has %d fields, and should have %d", data, len(values), want)
	}
	s.Allowed = allowed == 1
	return nil
}

// newPolicy lists a policy's parts, of those that are alike one.
func newPolicy(p weir.Policy) Policy {
	policy := Policy{Text: p.String()}
	var add func(weir.Policy)
	add = func(p weir.Policy) {
		for _, part := range p.Parts() {
			add(part)
		}
		if l, ok := p.Limit(); ok {
			if part := (Part{p.Name(), bounded(capacity(p, l))}); !slices.Contains(policy.Parts, part) {
				policy.Parts = append(policy.Parts, part)
			}
		}
	}
	add(p)
	return policy
}

// capacity returns how many a leaf admits at once.
func capacity(p weir.Policy, l weir.Limit) int {
	switch {
	case l == weir.Unlimited():
		return math.MaxInt
	case l.Count() == 0:
		return 0
	case p.Algorithm() == weir.AlgorithmLeakyBucket:
		return min(1, l.Burst())
	}
	return l.Burst()
}

func bounded(n int) int {
	if n == math.MaxInt {
		return none
	}
	return n
}

// micros returns a span in whole microseconds, rounded up.
func micros(d time.Duration) int64 {
	if d == weir.Never {
		return none
	}
	us := int64(d / time.Microsecond)
	if d%time.Microsecond > 0 {
		us++
	}
	return us
}

// answer returns a Decision in the units of a trace.
func (p Policy) answer(d weir.Decision) (Answer, error) {
	part := slices.Index(p.Parts, Part{d.Policy, bounded(d.Limit)})
	switch {
	case part < 0:
		return Answer{}, fmt.Errorf("a decision of %q, limit %d, which is no part of %s", d.Policy, d.Limit, p.Text)
	case d.Shadowed:
		return Answer{}, errors.New("a decision in shadow")
	}
	return Answer{d.Allowed, bounded(d.Remaining), micros(d.RetryAfter), part, micros(d.ResetAfter)}, nil
}
