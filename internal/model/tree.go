package model

import (
	"math"
	"regexp"
	"strconv"

	"github.com/goweir/weir"
)

// A tree is a Policy with what was taken under it: a meter, or its parts.
type tree struct {
	policy   weir.Policy
	capacity number
	meter    meter // nil in a combination
	parts    []*tree
}

func newTree(p weir.Policy) *tree {
	t := &tree{policy: p, capacity: capacity(p)}
	for _, part := range p.Parts() {
		t.parts = append(t.parts, newTree(part))
	}
	if t.parts == nil {
		t.meter = newMeter(p)
	}
	return t
}

func (p *tree) clone() *tree {
	c := &tree{policy: p.policy, capacity: p.capacity}
	for _, part := range p.parts {
		c.parts = append(c.parts, part.clone())
	}
	if p.meter != nil {
		c.meter = p.meter.clone()
	}
	return c
}

// capacity is the most that a policy admits at once.
func capacity(p weir.Policy) number {
	l, leaf := p.Limit()
	switch {
	case !leaf:
		parts := p.Parts()
		all := capacity(parts[0])
		for _, part := range parts[1:] {
			if p.Algorithm() == weir.AlgorithmAll {
				all = least(all, capacity(part))
			} else {
				all = most(all, capacity(part))
			}
		}
		return all
	case l == weir.Unlimited():
		return whole(math.MaxInt)
	case l.Count() == 0 || l.Burst() == 0:
		return zero
	case p.Algorithm() == weir.AlgorithmLeakyBucket:
		return one
	}
	return whole(l.Burst())
}

var queueText = regexp.MustCompile(`queue (\d+)$`)

// queue is how many may wait for a LeakyBucket.
func queue(p weir.Policy) int {
	n := 0
	if text := queueText.FindStringSubmatch(p.Named("").String()); text != nil {
		n, _ = strconv.Atoi(text[1])
	}
	return n
}

// leaves are the parts that have a meter, from the first to the last.
func (p *tree) leaves() []*tree {
	if p.meter != nil {
		return []*tree{p}
	}
	var all []*tree
	for _, part := range p.parts {
		all = append(all, part.leaves()...)
	}
	return all
}

// wait is how long n has to wait after t, and for which leaf: the one with the
// longest wait in All, with the shortest in FirstOf, and of several the first. full
// are the LeakyBuckets that nobody can wait for.
func (p *tree) wait(t, n number, full map[*tree]bool) (number, *tree) {
	if p.meter != nil {
		switch {
		case n.Sign() < 0 || less(p.capacity, n):
			return never, p
		case full[p]:
			return queueFull, p
		case n.Sign() == 0:
			return zero, p
		}
		return minus(p.meter.when(t, n), t), p
	}
	wait, leaf := p.parts[0].wait(t, n, full)
	for _, part := range p.parts[1:] {
		w, l := part.wait(t, n, full)
		if p.policy.Algorithm() == weir.AlgorithmAll && less(wait, w) || p.policy.Algorithm() == weir.AlgorithmFirstOf && less(w, wait) {
			wait, leaf = w, l
		}
	}
	return wait, leaf
}

// free is how many may be taken at t, and by which leaf: the one with the least in
// All, with the most in FirstOf, and of several the first.
func (p *tree) free(t number) (number, *tree) {
	if p.meter != nil {
		return p.meter.free(t), p
	}
	free, leaf := p.parts[0].free(t)
	for _, part := range p.parts[1:] {
		f, l := part.free(t)
		if p.policy.Algorithm() == weir.AlgorithmAll && less(f, free) || p.policy.Algorithm() == weir.AlgorithmFirstOf && less(free, f) {
			free, leaf = f, l
		}
	}
	return free, leaf
}

// payers are the leaves that pay for n at t: those of all parts of All, and of the
// part of FirstOf that n has to wait for least.
func (p *tree) payers(t, n number, full map[*tree]bool) []*tree {
	if p.meter != nil {
		return []*tree{p}
	}
	var all []*tree
	var shortest number
	for _, part := range p.parts {
		paying := part.payers(t, n, full)
		if p.policy.Algorithm() == weir.AlgorithmAll {
			all = append(all, paying...)
		} else if wait, _ := part.wait(t, n, full); shortest == nil || less(wait, shortest) {
			all, shortest = paying, wait
		}
	}
	return all
}

// reset is how long after t until a leaf is full.
func (p *tree) reset(t number) number {
	if p.capacity.Sign() > 0 {
		return minus(p.meter.when(t, p.capacity), t)
	}
	return zero
}

// full is how long after t until all leaves are.
func (p *tree) full(t number) number {
	longest := zero
	for _, leaf := range p.leaves() {
		longest = most(longest, leaf.reset(t))
	}
	return longest
}

// share is how much of the capacity is used, in the leaf of which the most is.
func (p *tree) share(t number) number {
	largest := zero
	for _, leaf := range p.leaves() {
		if c := leaf.capacity; c.Sign() > 0 {
			largest = most(largest, over(minus(c, leaf.meter.free(t)), c))
		}
	}
	return largest
}

// refund gives back up to n of what was taken last, and returns how many: of
// FirstOf's parts, the last one first.
func (p *tree) refund(t, n number) number {
	if p.meter != nil {
		return p.meter.refund(t, n)
	}
	given := zero
	for i := len(p.parts) - 1; i >= 0; i-- {
		if p.policy.Algorithm() == weir.AlgorithmAll {
			given = most(given, p.parts[i].refund(t, n))
		} else {
			given = plus(given, p.parts[i].refund(t, minus(n, given)))
		}
	}
	return given
}

// constantly reports whether nothing is remembered under the policy.
func constantly(p weir.Policy) bool {
	for _, leaf := range newTree(p).leaves() {
		if _, ok := leaf.meter.(constant); !ok {
			return false
		}
	}
	return true
}
