package conformance

import (
	"slices"

	"github.com/goweir/weir"
)

// A Kind is what random traces are about.
type Kind struct {
	Name  string // of their file
	About string
	Late  int
	Bits  int
	Back  bool // the clock steps back now and then
	Plans bool // keys come under other policies
	of    limits
	depth int
	from  []int64 // instants, in microseconds, of which a trace begins at one
}

// usually is an instant in 2023.
const usually = 1_700_000_000_000_000

// Kinds are all that there are.
var Kinds = []Kind{
	{Name: "random-single", About: "One algorithm each, whose interval or period is whole microseconds.", Bits: 32, of: whole, from: []int64{usually}},
	{Name: "random-nested", About: "Combinations in combinations of such.", Bits: 32, of: whole, depth: 3, from: []int64{usually}},
	{Name: "random-back", About: "The clock steps back, and shows instants before 1970 and around it.", Bits: 32, Back: true, of: whole, depth: 2,
		from: []int64{0, -1, -1_000_000_000_000_000, 6_000_000_000_000_000, usually}},
	{Name: "random-plans", About: "Clients are brought from one policy to another.", Late: 1, Bits: 32, Plans: true, of: mixed, depth: 2, from: []int64{usually, -1}},
	{Name: "random-odd", About: "Intervals and periods that are not whole microseconds.", Late: 1, Bits: 32, of: odd, depth: 2, from: []int64{usually, -1}},
	{Name: "random-large", About: "Counts up to 2^40, and periods up to 30 years.", Late: 1, Bits: 64, Back: true, of: large, depth: 2, from: []int64{usually, -usually}},
}

// A program is a trace that is being made, by asking memory.
type program struct {
	Kind
	playing
	choose  Choose
	trace   Trace
	now     int64 // microseconds
	newest  int64
	floor   int64 // that the clock does not step back behind
	last    Answer
	carried map[string]bool // keys of which nothing was taken since SetPolicy
	denied  map[string]bool // keys of which nothing was taken since TakeAs was denied
}

// Random makes a trace, of as many steps as there are.
func Random(k Kind, choose Choose, more func() bool) (Trace, error) {
	p := program{Kind: k, choose: choose, carried: make(map[string]bool), denied: make(map[string]bool)}
	p.now = pick(choose, k.from...)
	p.newest, p.floor = p.now, oldest
	p.drawPolicies()
	p.subject = Memory(p.policies[0])
	for more() {
		for _, step := range p.draw() {
			if err := p.run(step); err != nil {
				return p.trace, err
			}
		}
	}
	return p.trace, nil
}

func (p *program) drawPolicies() {
	count := 1
	if p.Plans {
		count = 4
	}
	for len(p.policies) < count {
		next := policy(p.choose, p.of, p.depth)
		if p.Plans {
			next = plan(next, p.policies)
		}
		if p.Back && slices.ContainsFunc(leaves(next), unlimited) {
			next = weir.TokenBucket(weir.PerMinute(5)) // a client that an unlimited part pays for is full, and may be forgotten
		}
		p.policies = append(p.policies, next)
		p.trace.Policies = append(p.trace.Policies, newPolicy(next))
	}
	p.listed = p.trace.Policies
}

// run does a step, and notes what comes of it.
func (p *program) run(s Step) error {
	p.newest = max(p.newest, s.At)
	answer, err := p.play(s)
	if err != nil {
		return err
	}
	s.Answer = answer
	p.trace.Steps = append(p.trace.Steps, s)
	switch {
	case s.Verb == Refund || s.Verb == Reset:
		p.floor = p.newest // a client that is full may be forgotten
	case s.Verb.decides():
		p.last = answer
	}
	switch {
	case s.Verb == SetPolicy:
		p.carried["a"], p.carried["b"] = true, true
	case s.Verb == Peek || s.N <= 0:
	case answer.Allowed:
		delete(p.carried, s.Key)
		delete(p.denied, s.Key)
	case s.Verb == TakeAs:
		p.denied[s.Key] = true
	}
	return nil
}
