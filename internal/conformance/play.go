package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// A Subject is a limiter that traces are played to.
type Subject interface {
	// At sets its clock to so many microseconds.
	At(us int64)
	Take(key string, n int) (weir.Decision, error)
	TakeAs(key string, n int, p weir.Policy) (weir.Decision, error)
	Peek(key string, n int) (weir.Decision, error)
	Refund(key string, n int) error
	Reset(key string) error
	SetPolicy(p weir.Policy) error
}

// A playing is a trace that is being played.
type playing struct {
	subject  Subject
	policies []weir.Policy
	listed   []Policy
	inForce  int
}

// Play plays a trace to a new subject, and returns an error that names the first
// step that is answered otherwise.
func Play(t Trace, start func(weir.Policy) Subject) error {
	p := playing{listed: t.Policies}
	for _, listed := range t.Policies {
		policy, err := weir.ParsePolicy(listed.Text)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		p.policies = append(p.policies, policy)
	}
	p.subject = start(p.policies[0])
	for i, step := range t.Steps {
		got, err := p.play(step)
		if err == nil && got != step.Answer {
			err = fmt.Errorf("the answer is %+v, and it should be %+v", got, step.Answer)
		}
		if err != nil {
			return fmt.Errorf("%s: step %d: %v %s %q %d under %s: %w",
				t.Name, i, step.At, step.Verb, step.Key, step.N, p.listed[p.decider(step)].Text, err)
		}
	}
	return nil
}

// decider returns the number of the policy that a step is decided under.
func (p *playing) decider(s Step) int {
	if s.Verb == TakeAs {
		return s.Policy
	}
	return p.inForce
}

func (p *playing) play(s Step) (Answer, error) {
	p.subject.At(s.At)
	var d weir.Decision
	var err error
	switch s.Verb {
	case Take:
		d, err = p.subject.Take(s.Key, s.N)
	case TakeAs:
		d, err = p.subject.TakeAs(s.Key, s.N, p.policies[s.Policy])
	case Peek:
		d, err = p.subject.Peek(s.Key, s.N)
	case Refund:
		return Answer{}, p.subject.Refund(s.Key, s.N)
	case Reset:
		return Answer{}, p.subject.Reset(s.Key)
	case SetPolicy:
		p.inForce = s.Policy
		return Answer{}, p.subject.SetPolicy(p.policies[s.Policy])
	default:
		return Answer{}, fmt.Errorf("no verb %q", s.Verb)
	}
	if err != nil {
		return Answer{}, err
	}
	return p.listed[p.decider(s)].answer(d)
}

// memory is weir.PerClient as a Subject, and its clock.
type memory struct {
	now     time.Duration
	clients *weir.PerClient[string]
}

// Memory starts a weir.PerClient.
func Memory(p weir.Policy) Subject {
	m := new(memory)
	m.clients = weir.NewPerClient[string](p, weir.WithClock(m), weir.WithSweepEvery(0))
	return m
}

// Now implements weir.Clock.
func (m *memory) Now() time.Duration { return m.now }

// SleepUntil implements weir.Clock.
func (m *memory) SleepUntil(ctx context.Context, _ time.Duration) error {
	<-ctx.Done() // the clock stands still while anybody waits
	return ctx.Err()
}

func (m *memory) At(us int64) { m.now = time.Duration(us) * time.Microsecond }

func (m *memory) Take(key string, n int) (weir.Decision, error) { return m.clients.Take(key, n), nil }

func (m *memory) TakeAs(key string, n int, p weir.Policy) (weir.Decision, error) {
	return m.clients.TakeAs(key, n, p), nil
}

func (m *memory) Peek(key string, n int) (weir.Decision, error) { return m.clients.Peek(key, n), nil }

func (m *memory) Refund(key string, n int) error {
	m.clients.Refund(key, n)
	return nil
}

func (m *memory) Reset(key string) error {
	m.clients.Reset(key)
	return nil
}

func (m *memory) SetPolicy(p weir.Policy) error { return m.clients.SetPolicy(p) }
