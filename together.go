package weir

import (
	"math"
	"slices"
)

// together is what a request has to pass all of.
type together []asked

// fewLayers is how many there are for which no memory is allocated.
const fewLayers = 4

// of returns the one of a limiter and key, nil if there is none yet.
func (t together) of(c *core, hash uint64) *asked {
	for i := range t {
		if t[i].core == c && t[i].hash == hash {
			return &t[i]
		}
	}
	return nil
}

// another adds one that is to be filled in.
func (t together) another() (together, *asked) {
	if len(t) == cap(t) {
		t = append(t, asked{})
	} else {
		t = t[:len(t)+1] // it has never been used
	}
	return t, &t[len(t)-1]
}

// look asks all of them, and returns the one that denies for the longest, or -1.
// It fills answers unless that is nil. peek says that nothing is to be changed by
// it.
func (t together) look(answers []Decision, peek bool) (denied int) {
	for i := range t {
		t[i].find()
	}
	// The clock is read after the words: no reading that went into one is newer.
	var system int64
	for i := range t {
		a := &t[i]
		if !a.decider.system {
			a.now = a.decider.now()
		} else {
			if system == 0 {
				system = a.decider.now()
			}
			a.now = system
		}
		switch {
		case a.word != nil:
			a.askWord(a.now)
		case peek:
			a.decide(a.n, false, &answers[i])
			a.wait = answers[i].RetryAfter
		case answers != nil:
			a.ask(&answers[i])
		default:
			a.visit(false, false, nil)
		}
	}
	denied = -1
	for i := range t {
		if a := &t[i]; a.wait > 0 && !a.core.shadow && (denied < 0 || a.wait > t[denied].wait) {
			denied = i
		}
	}
	if answers == nil {
		return denied
	}
	for i := range t {
		a := &t[i]
		takes := a.n
		if denied >= 0 && a.wait == 0 {
			takes = 0 // what it would admit it is not asked for
		}
		if a.word != nil {
			a.describe(takes, &answers[i])
		} else if takes != a.n {
			a.decide(0, false, &answers[i])
		}
	}
	return denied
}

// answer returns what all of them together answer. denied is the one that binds,
// if any denies.
func (t together) answer(answers []Decision, denied int) Decision {
	bound, left := t.least(answers)
	shadowed := -1
	for i := range t {
		if a := &t[i]; a.wait > 0 && a.core.shadow && (shadowed < 0 || a.wait > t[shadowed].wait) {
			shadowed = i
		}
	}
	switch {
	case denied >= 0:
		bound = denied
	case shadowed >= 0:
		bound = shadowed
	}
	d := answers[bound]
	d.Allowed, d.Shadowed, d.Remaining = denied < 0, denied < 0 && shadowed >= 0, left
	return d
}

// enforced returns what those together answer that are not in shadow, which have
// all admitted.
func (t together) enforced(answers []Decision) Decision {
	if t.quiet() {
		return Decision{Allowed: true, Remaining: math.MaxInt}
	}
	bound, left := t.least(answers)
	d := answers[bound]
	d.Allowed, d.Shadowed, d.Remaining = true, false, left
	return d
}

// quiet reports whether all of them are in shadow.
func (t together) quiet() bool {
	return !slices.ContainsFunc(t, func(a asked) bool { return !a.core.shadow })
}

// least returns the one that has the least left, for calls and in its own unit.
// Those who deny nobody have no say, unless there is nobody else.
func (t together) least(answers []Decision) (bound, left int) {
	bound, least, counts, quiet := -1, -1, false, t.quiet()
	for i := range t {
		a := &t[i]
		if a.core.shadow && !quiet {
			continue
		}
		counts = counts || a.counts
		remaining := answers[i].Remaining
		if bound < 0 || a.left(remaining) < t[bound].left(answers[bound].Remaining) {
			bound = i
		}
		if least < 0 || remaining < answers[least].Remaining {
			least = i
		}
	}
	left = t[bound].left(answers[bound].Remaining)
	if left == math.MaxInt && !counts { // each has a cost of its own
		bound, left = least, answers[least].Remaining
	}
	return bound, left
}

// charge asks all of them, and charges them if none denies; otherwise it returns
// the one that binds. Those that others used up in between have what was charged
// given back, and all are asked again. It fills answers unless that is nil.
// lasting says that it may have to be given back later on.
func (t together) charge(answers []Decision, lasting bool) (denied int) {
	for {
		if denied = t.look(answers, false); denied >= 0 {
			t[denied].core.tally.count(t[denied].n, false, false)
			return denied
		}
		if t.chargeAll(answers, lasting) {
			return -1
		}
		t.undo()
	}
}

// answers returns room for what each of them answers.
func (t together) answers(space []Decision) []Decision {
	if len(t) <= cap(space) {
		return space[:len(t)]
	}
	return make([]Decision, len(t))
}

// chargeAll charges those that admit, and has answers say what that leaves.
func (t together) chargeAll(answers []Decision, lasting bool) bool {
	last := -1 // of those that are not one word: it is charged last
	for i := range t {
		a := &t[i]
		switch {
		case a.n <= 0 || a.wait > 0:
		case a.word == nil || lasting:
			last = i
		case !a.chargeWord():
			return false
		case answers != nil:
			a.describe(a.n, &answers[i])
		}
	}
	for i := range t[:last+1] {
		a := &t[i]
		var out *Decision
		if answers != nil {
			out = &answers[i]
		}
		switch {
		case a.n <= 0 || a.wait > 0 || a.word != nil && !lasting:
		case lasting:
			if !a.reserve(false, out) {
				return false
			}
		case !a.visit(true, i < last, out):
			return false
		}
	}
	return true
}

// untouched has answers say of those that admit what is left if nothing is taken.
func (t together) untouched(answers []Decision) {
	for i := range t {
		if a := &t[i]; a.wait == 0 {
			a.decide(0, false, &answers[i])
		}
	}
}

// undo gives back exactly what was charged.
func (t together) undo() {
	for i := range t {
		a := &t[i]
		switch {
		case !a.charged:
		case a.ticket != nil:
			a.paid().Settle(0)
		default:
			a.giveBack()
		}
		a.charged, a.ticket = false, nil
	}
}

// count counts what was admitted.
func (t together) count() {
	for i := range t {
		a := &t[i]
		a.core.tally.count(a.n, a.wait == 0, a.core.shadow)
	}
}

// applied notes in a Verdict under which policies it was decided.
func (t together) applied(v *Verdict) {
	for i := range t {
		if a := &t[i]; !a.core.shadow {
			v.apply(Policy{a.decider.policy})
		}
	}
}

// admit counts what all of them have admitted, and says so. Those that are far
// away count for themselves.
func (t together) admit(answers []Decision, v *Verdict, r *receipt) {
	v.Decision = t.answer(answers, -1)
	if v.Shadowed || t.quiet() {
		enforced := t.enforced(answers)
		v.enforced = &enforced
	}
	near := t
	for len(near) > 0 && near[len(near)-1].far() {
		near = near[:len(near)-1]
	}
	near.count()
	if r != nil {
		r.near = near.payments(r.few[:0])
	}
}

// payments appends the receipts of those who admitted.
func (t together) payments(near []payment) []payment {
	for i := range t {
		a := &t[i]
		if a.wait > 0 {
			continue
		}
		near = append(near, payment{price: a.price, keeper: a.keeper(), hash: a.hash, paid: a.paid()})
	}
	return near
}
