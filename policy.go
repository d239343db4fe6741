package weir

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Policy is an algorithm with its Limit, or a combination of policies. It is
// an immutable value, cheap to copy and safe for concurrent use; compare it with
// Equal, not with ==. The zero Policy is invalid. Making one never fails:
// Validate says what is wrong with it, and New and NewPerClient panic.
type Policy struct{ *spec }

func newLeaf(a Algorithm, l Limit, queue int) Policy {
	text := a.String() + " " + l.String()
	if queue != 0 {
		text += " queue " + strconv.Itoa(queue)
	}
	p := &spec{algorithm: a, limit: l, queue: queue, name: text, text: text}
	if p.err = p.validateLeaf(); p.err == nil {
		p.meter = newMeter(a, l)
		p.size, p.capacity = p.meter.size(), p.meter.most()
		p.leaves, p.ways, p.queues = 1, 1, a == AlgorithmLeakyBucket
		switch m := p.meter.(type) {
		case tokenBucket:
			p.buckets = buckets{m}
		case slidingWindow:
			p.ahead = p.with(m.ahead())
		}
	}
	return Policy{p}
}

func (p *spec) validateLeaf() error {
	if err := p.limit.Validate(); err != nil {
		return err
	}
	switch p.algorithm {
	case AlgorithmFixedWindow, AlgorithmSlidingWindow, AlgorithmSlidingCounter:
		if p.limit.burst != p.limit.count && p.limit.burst != 0 {
			return fmt.Errorf("weir: %s with a burst of %d: a window admits its count of %d at once, and has no other burst",
				p.text, p.limit.burst, p.limit.count)
		}
	case AlgorithmLeakyBucket:
		if p.queue < 0 {
			return fmt.Errorf("weir: leaky-bucket %v with a queue of %d: it must not be negative", p.limit, p.queue)
		}
	}
	return nil
}

// All returns the policy that admits what every part admits, each of which
// then pays; or nothing is consumed. Its state is those of its parts, side by
// side, so that one lock and one reading of the clock do for all of them.
//
//	wait = max of the parts' waits; Remaining = min of theirs
func All(parts ...Policy) Policy {
	return newCombination(AlgorithmAll, combinationText("all", parts), parts)
}

// FirstOf returns the policy in which the first part that admits all of n pays
// for it, and the others pay nothing.
//
//	wait = min of the parts' waits; Remaining = max of theirs
func FirstOf(parts ...Policy) Policy {
	return newCombination(AlgorithmFirstOf, combinationText("first-of", parts), parts)
}

func combinationText(name string, parts []Policy) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.String()
	}
	return name + "(" + strings.Join(texts, ", ") + ")"
}

// mostWords bounds the state of a policy: a table has so many for each key.
const mostWords = 1 << 14

func newCombination(a Algorithm, text string, parts []Policy) Policy {
	p := &spec{algorithm: a, parts: slices.Clone(parts), name: text, text: text}
	ahead := false
	if len(parts) == 0 {
		p.err = fmt.Errorf("weir: %s without parts: it takes at least one policy", a)
	}
	for i, part := range parts {
		if err := part.Validate(); err != nil {
			p.err = fmt.Errorf("weir: part %d of %s: %s", i+1, a, strings.TrimPrefix(err.Error(), "weir: "))
			break
		}
		p.size += part.size
		p.leaves += part.leaves
		p.queues = p.queues || part.queues
		if p.ways = waysOf(a, p.ways, part.ways, i == 0); p.ways == 0 {
			p.err = fmt.Errorf("weir: %s with more than 2^63 ways to pay: leave out some of the first-of in it", a)
			break
		}
		if p.size > mostWords {
			p.err = fmt.Errorf("weir: %s with a state of more than %d words: leave out some of its parts", a, mostWords)
			break
		}
		ahead = ahead || part.ahead != nil
		switch {
		case i == 0:
			p.capacity = part.capacity
		case a == AlgorithmAll:
			p.capacity = min(p.capacity, part.capacity)
		default:
			p.capacity = max(p.capacity, part.capacity)
		}
	}
	if p.err == nil && a == AlgorithmAll {
		p.buckets = bucketsOf(parts)
	}
	if p.err == nil && ahead {
		p.ahead = p.withPartsAhead()
	}
	return Policy{p}
}

// Named returns p with a name, which is what a Decision reports: say what the
// limit is for. For a combination it reports the part that binds, so name those, too.
// An empty name is the default, p's String.
func (p Policy) Named(name string) Policy {
	if p.spec == nil {
		return p
	}
	named := *p.spec
	if named.name = name; name == "" {
		named.name = named.text
	}
	if named.ahead != nil {
		named.ahead = Policy{named.ahead}.Named(named.name).spec
	}
	return Policy{&named}
}

// Name returns the name that Named gave, or else String.
func (p Policy) Name() string {
	if p.spec == nil {
		return p.String()
	}
	return p.name
}

// Algorithm returns the kind of policy; 0 for the zero Policy.
func (p Policy) Algorithm() Algorithm {
	if p.spec == nil {
		return 0
	}
	return p.algorithm
}

// Limit returns the limit of a policy, and false for a combination, which has
// none of its own, and for the zero Policy.
func (p Policy) Limit() (l Limit, ok bool) {
	if p.spec == nil || p.combined() {
		return Limit{}, false
	}
	return p.limit, true
}

// Parts returns a copy of the parts of a combination, nil for another policy.
func (p Policy) Parts() []Policy {
	if p.spec == nil {
		return nil
	}
	return slices.Clone(p.parts)
}

// Equal reports whether both policies have the same algorithm, limit, queue and
// name, and equal parts: they then decide alike.
func (p Policy) Equal(q Policy) bool {
	if p.spec == q.spec {
		return true
	}
	return p.spec != nil && q.spec != nil &&
		p.algorithm == q.algorithm && p.limit == q.limit && p.queue == q.queue && p.name == q.name &&
		slices.EqualFunc(p.parts, q.parts, Policy.Equal)
}

// Validate returns an error that says what is wrong: an invalid Limit, a
// window with a burst, a negative queue, a combination without parts, with an
// invalid one, with a state of more than 16384 words or with more than 2^63 ways
// to pay, or the zero Policy.
func (p Policy) Validate() error {
	if p.spec == nil {
		return errors.New("weir: the zero Policy: make one with TokenBucket or another of the constructors")
	}
	return p.err
}

// MaxWithin returns an upper bound on what any span [t, t+d) can admit, whatever
// the traffic; 0 if d is not positive or the policy is invalid, and
// math.MaxInt if there is no bound.
func (p Policy) MaxWithin(d time.Duration) int {
	if d <= 0 || p.Validate() != nil {
		return 0
	}
	return clampInt(p.maxWithin(d))
}
