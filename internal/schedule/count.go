package schedule

// interleavings returns how many interleavings come to the same as the one that
// was run: in how many orders its steps can be taken such that each comes after
// those that happened before it.
//
// A cut is how many steps of each thread have been taken. The ways to come to it
// are added to those of the cuts that one step leads to:
//
//	ways(cut + step of t) += ways(cut)        if what happened before is in cut
//
// A cut's number has a digit for each thread, so that a step leads to a greater
// one, and the ways to come to a cut are complete when it is its turn.
func (x *execution) interleavings() float64 {
	steps := make([][]clock, len(x.threads))
	for i := range x.trace {
		s := &x.trace[i]
		steps[s.thread] = append(steps[s.thread], s.clock)
	}
	size, weights := 1, make([]int, len(steps))
	for i := range steps {
		weights[i] = size
		size *= len(steps[i]) + 1
	}
	ways := make([]float64, size)
	ways[0] = 1
	var cut clock
	for at, n := range ways {
		if n > 0 {
			for i := range steps {
				if taken := int(cut[i]); taken < len(steps[i]) && steps[i][taken].follows(&cut, i) {
					ways[at+weights[i]] += n
				}
			}
		}
		for i := range steps { // the next cut: carry
			if cut[i]++; int(cut[i]) <= len(steps[i]) {
				break
			}
			cut[i] = 0
		}
	}
	return ways[size-1]
}

// follows reports whether a thread's step of that clock can be the next one after a
// cut.
func (c *clock) follows(cut *clock, thread int) bool {
	for i, n := range c {
		if n > cut[i] && i != thread {
			return false
		}
	}
	return true
}
