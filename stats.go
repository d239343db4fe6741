package weir

import "github.com/goweir/weir/internal/striped"

// Stats are counters since the limiter was made, and how many clients and
// reservations there are now. The counters never decrease.
type Stats struct {
	// Allowed and Denied count decisions with n > 0.
	Allowed, Denied uint64
	// Shadowed counts those of the denied that WithShadow let through.
	Shadowed uint64
	// Waiting is how many reservations there are whose instant is still to come,
	// those of Wait included.
	Waiting int
	// Clients is how many keys a PerClient holds now; 0 for a Limiter.
	Clients int
	// Evicted counts keys dropped because they were full.
	Evicted uint64
	// Overflowed counts decisions for new keys while as many were held as
	// WithMaxClients allows.
	Overflowed uint64
	// Local counts decisions of a limiter with a store, as redislimit has, that were
	// made without asking it, and Fallback those made because it did not answer. Both
	// are in Allowed or Denied as well.
	Local, Fallback uint64
}

// RejectionRate returns the percentage of decisions that were denials, 0 before
// the first decision.
func (s Stats) RejectionRate() float64 {
	if s.Denied == 0 {
		return 0
	}
	return 100 * float64(s.Denied) / (float64(s.Allowed) + float64(s.Denied))
}

// The counters of a tally.
const (
	countAllowed = iota
	countDenied
	countShadowed
	countOverflowed
)

// A tally counts decisions.
type tally struct{ striped.Set }

func newTally() tally { return tally{striped.New()} }

// count counts a decision about n.
func (t *tally) count(n int, ok, shadow bool) { count(t.Line(), n, ok, shadow) }

// count counts a decision about n on a line of a tally.
func count(l *striped.Line, n int, ok, shadow bool) {
	switch {
	case n <= 0:
	case ok:
		l.Add(countAllowed)
	case shadow:
		// The denial first, so that no reader sees more shadowed than denied.
		l.Add(countDenied)
		l.Add(countShadowed)
	default:
		l.Add(countDenied)
	}
}

func (t *tally) stats() Stats {
	shadowed := t.Sum(countShadowed)
	return Stats{
		Allowed:    t.Sum(countAllowed),
		Denied:     t.Sum(countDenied),
		Shadowed:   shadowed,
		Overflowed: t.Sum(countOverflowed),
	}
}
