package main

import (
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// A meter holds what was admitted to one key against what its policy can admit.
// When that was is known only by readings of the clock around the call, so what
// is over is over whatever the limiter itself read:
//
//	for all i <= j:  n[i] + ... + n[j] <= MaxWithin(after[j] - min(before[i], ..., before[j]) + 1 ns)
//
// for all i among the newest ones, and for the first.
type meter struct {
	newest []admission // a ring
	next   int         // where the next one goes

	since, until time.Duration
	total        int
}

// An admission of n that began at a reading.
type admission struct {
	before time.Duration
	n      int
}

// clear forgets all admissions.
func (m *meter) clear() {
	clear(m.newest)
	*m = meter{newest: m.newest}
}

// add adds n admitted between two readings, of which after is at or behind those
// of all that were added before. full says that a span has no room for one more.
func (m *meter) add(p weir.Policy, before, after time.Duration, n int) (full bool, err error) {
	m.newest[m.next] = admission{before, n}
	m.next = (m.next + 1) % len(m.newest)
	if m.total == 0 {
		m.since = before
	}
	m.since, m.until = min(m.since, before), after
	m.total += n

	sum, from := 0, before
	for i := range m.newest {
		a := m.newest[(m.next+len(m.newest)-1-i)%len(m.newest)]
		if a.n == 0 { // never used
			break
		}
		from = min(from, a.before)
		sum += a.n
		filled, err := within(p, after-from+1, sum)
		if err != nil {
			return true, err
		}
		full = full || filled
	}
	filled, err := within(p, m.until-m.since+1, m.total)
	return full || filled, err
}

// within holds n admitted in a span against its bound.
func within(p weir.Policy, span time.Duration, n int) (full bool, err error) {
	most := p.MaxWithin(span)
	if n > most {
		return true, fmt.Errorf("%d admitted within %v, in which at most %d can be", n, span, most)
	}
	return n == most, nil
}
