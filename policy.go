package weir

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Algorithm is the kind of a Policy.
type Algorithm uint8

// The algorithms. The zero Algorithm is that of the zero Policy.
const (
	AlgorithmTokenBucket Algorithm = iota + 1
	AlgorithmLeakyBucket
	AlgorithmFixedWindow
	AlgorithmSlidingWindow
	AlgorithmSlidingCounter
	AlgorithmAll
	AlgorithmFirstOf
)

var algorithmNames = [...]string{
	"invalid", "token-bucket", "leaky-bucket", "fixed-window",
	"sliding-window", "sliding-counter", "all", "first-of",
}

// String returns the name that policies are written with, such as
// "token-bucket".
func (a Algorithm) String() string {
	if int(a) < len(algorithmNames) {
		return algorithmNames[a]
	}
	return "algorithm(" + strconv.Itoa(int(a)) + ")"
}

// A Policy is an algorithm with its Limit, or a combination of policies. It is
// an immutable value, cheap to copy and safe for concurrent use; compare it with
// Equal, not with ==. The zero Policy is invalid. Making one never fails:
// Validate says what is wrong with it, and New and NewPerClient panic.
type Policy struct{ *spec }

// A spec is what a Policy points to. It never changes once it is made.
type spec struct {
	algorithm Algorithm
	limit     Limit
	queue     int
	parts     []Policy
	name      string // as Named gave it; otherwise text
	text      string
	err       error

	meter meter // of a leaf; nil in a combination
	size  int   // words of state
}

// A meter is one algorithm with its limit: functions of a state, an instant
// that is not before the state's newest, and a number n from 0 to most. The
// wait for any n only ever shrinks as time passes, and after a wait of 0, room
// is at least n and take may be called.
type meter interface {
	// size is how many words of state it has.
	size() int
	// most is the capacity: what a full one admits at once.
	most() int64
	// wait is how long until n would be admitted, 0 for now.
	wait(s state, now, n int64) time.Duration
	// room is the most that would be admitted now if n were taken before.
	room(s state, now, n int64) int64
	// reset is how long until it would be full if n were taken now.
	reset(s state, now, n int64) time.Duration
	// take consumes n.
	take(s state, now, n int64)
	// maxWithin is the most that a span of d, at least 1 ns, can admit.
	maxWithin(d time.Duration) int64
}

func newLeaf(a Algorithm, l Limit, queue int) Policy {
	text := a.String() + " " + l.String()
	if queue != 0 {
		text += " queue " + strconv.Itoa(queue)
	}
	p := &spec{algorithm: a, limit: l, queue: queue, name: text, text: text}
	if p.err = p.validateLeaf(); p.err == nil {
		p.meter = newMeter(a, l)
		p.size = p.meter.size()
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

func newMeter(a Algorithm, l Limit) meter {
	switch {
	case l.unlimited:
		return constant{capacity: math.MaxInt}
	case l.deniesAll():
		return constant{capacity: 0}
	}
	switch a {
	case AlgorithmTokenBucket:
		return newTokenBucket(l, l.burst)
	case AlgorithmLeakyBucket:
		return newTokenBucket(l, 1)
	case AlgorithmFixedWindow:
		return fixedWindow{count: int64(l.count), period: int64(l.period)}
	case AlgorithmSlidingWindow:
		return newSlidingWindow(l)
	default:
		return slidingCounter{count: uint64(l.count), period: uint64(l.period)}
	}
}

// A constant is the meter of a limit that time does not change: unlimited, or
// one that denies everything. It has no state.
type constant struct{ capacity int64 }

func (c constant) size() int                               { return 0 }
func (c constant) most() int64                             { return c.capacity }
func (c constant) wait(state, int64, int64) time.Duration  { return 0 }
func (c constant) room(state, int64, int64) int64          { return c.capacity }
func (c constant) reset(state, int64, int64) time.Duration { return 0 }
func (c constant) take(state, int64, int64)                {}
func (c constant) maxWithin(time.Duration) int64           { return c.capacity }

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

func newCombination(a Algorithm, text string, parts []Policy) Policy {
	p := &spec{algorithm: a, parts: slices.Clone(parts), name: text, text: text}
	if len(parts) == 0 {
		p.err = fmt.Errorf("weir: %s without parts: it takes at least one policy", a)
	}
	for i, part := range parts {
		if err := part.Validate(); err != nil {
			p.err = fmt.Errorf("weir: part %d of %s: %s", i+1, a, strings.TrimPrefix(err.Error(), "weir: "))
			break
		}
		p.size += part.size
	}
	return Policy{p}
}

// Named returns p with a name, which is what a Decision reports: say what the
// limit is for. An empty name is the default, p's String.
func (p Policy) Named(name string) Policy {
	if p.spec == nil {
		return p
	}
	named := *p.spec
	if named.name = name; name == "" {
		named.name = named.text
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
// window with a burst, a negative queue, a combination without parts or with an
// invalid one, or the zero Policy.
func (p Policy) Validate() error {
	if p.spec == nil {
		return errors.New("weir: the zero Policy: make one with TokenBucket or another of the constructors")
	}
	return p.err
}

// String returns the policy as "token-bucket 100/s burst 20" or
// "all(token-bucket 10/s, sliding-window 1000/h)", with `as "name"` behind it
// if Named gave it one.
func (p Policy) String() string {
	switch {
	case p.spec == nil:
		return "invalid"
	case p.name != p.text:
		return p.text + " as " + strconv.Quote(p.name)
	}
	return p.text
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

func (p *spec) combined() bool { return p.algorithm >= AlgorithmAll }

func (p *spec) maxWithin(d time.Duration) int64 {
	switch p.algorithm {
	case AlgorithmAll:
		least := int64(math.MaxInt64)
		for _, part := range p.parts {
			least = min(least, part.maxWithin(d))
		}
		return least
	case AlgorithmFirstOf:
		var sum int64
		for _, part := range p.parts {
			sum = saturatingAdd(sum, part.maxWithin(d))
		}
		return sum
	}
	return p.meter.maxWithin(d)
}

// wait returns how long until n would be admitted: 0 for now, Never if n is
// negative or above the capacity.
func (p *spec) wait(s state, now, n int64) time.Duration {
	wait, _ := p.blocker(s, now, n)
	return wait
}

// blocker returns the wait for n and the leaf that sets it, with its state.
func (p *spec) blocker(s state, now, n int64) (time.Duration, leaf) {
	if !p.combined() {
		wait := Never
		if n >= 0 && n <= p.meter.most() {
			wait = p.meter.wait(s, now, n)
		}
		return wait, leaf{p, s, 0}
	}
	var (
		wait    time.Duration
		binding leaf
	)
	from := 0
	for i, part := range p.parts {
		w, b := part.blocker(s.part(from, from+part.size), now, n)
		if i == 0 || p.algorithm == AlgorithmAll && w > wait || p.algorithm == AlgorithmFirstOf && w < wait {
			wait, binding = w, b
		}
		from += part.size
	}
	return wait, binding
}

// room returns the most that would be admitted after n, for which there is no
// wait, was taken now, and the leaf that sets it.
func (p *spec) room(s state, now, n int64) (int64, leaf) {
	if !p.combined() {
		return p.meter.room(s, now, n), leaf{p, s, n}
	}
	var (
		room    int64
		binding leaf
	)
	from, paid := 0, false
	for i, part := range p.parts {
		t, pays := s.part(from, from+part.size), n
		if p.algorithm == AlgorithmFirstOf {
			if paid || part.wait(t, now, n) > 0 {
				pays = 0
			} else {
				paid = true
			}
		}
		r, b := part.room(t, now, pays)
		if i == 0 || p.algorithm == AlgorithmAll && r < room || p.algorithm == AlgorithmFirstOf && r > room {
			room, binding = r, b
		}
		from += part.size
	}
	return room, binding
}

// take consumes n, for which there is no wait.
func (p *spec) take(s state, now, n int64) {
	if !p.combined() {
		p.meter.take(s, now, n)
		return
	}
	from, paid := 0, false
	for _, part := range p.parts {
		t := s.part(from, from+part.size)
		switch {
		case p.algorithm == AlgorithmAll:
			part.take(t, now, n)
		case !paid && part.wait(t, now, n) == 0:
			part.take(t, now, n)
			paid = true
		default:
			part.refresh(t, now)
		}
		from += part.size
	}
}

// eachLeaf calls f for each leaf with its state, from the first to the last.
func (p *spec) eachLeaf(s state, f func(*spec, state)) {
	if !p.combined() {
		f(p, s)
		return
	}
	from := 0
	for _, part := range p.parts {
		part.eachLeaf(s.part(from, from+part.size), f)
		from += part.size
	}
}

// refresh forgets what no longer counts in a part that was not charged: it
// would be misread when it is much older than the state.
func (p *spec) refresh(s state, now int64) {
	p.eachLeaf(s, func(p *spec, s state) {
		switch m := p.meter.(type) {
		case tokenBucket:
			m.refresh(s, now)
		case slidingWindow:
			m.refresh(s, now)
		}
	})
}

// reset returns how long until all of its leaves are full: then the state is
// worth no more than one that was never used.
func (p *spec) reset(s state, now int64) (longest time.Duration) {
	p.eachLeaf(s, func(p *spec, s state) {
		longest = max(longest, p.meter.reset(s, now, 0))
	})
	return longest
}

// share returns how much of the capacity is used, from 0 to 1, in the leaf of
// which the most is.
func (p *spec) share(s state, now int64) (most float64) {
	p.eachLeaf(s, func(p *spec, s state) {
		if capacity := p.meter.most(); capacity > 0 {
			most = max(most, float64(capacity-p.meter.room(s, now, 0))/float64(capacity))
		}
	})
	return most
}

// release gives back what the state keeps outside of its words.
func (p *spec) release(s state) {
	p.eachLeaf(s, func(p *spec, s state) {
		if w, ok := p.meter.(slidingWindow); ok {
			s.logs.erase(w.format, s.words[0])
		}
	})
}
