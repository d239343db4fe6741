package main

import (
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// A client is a key that one worker alone asks for, so that what the limiter
// says of it has to come true.
type client struct {
	meter
	known bool         // it was asked for
	plan  *weir.Policy // that it is asked for under; nil for everybody's
	rule  *weir.Policy // under which all below was seen

	left int // so many more are there, it was said

	// n was denied, and had to be until early at the least and late at the most;
	// 0 if nothing was.
	n           int
	early, late time.Duration
}

// An answer is what a limiter said to a call for n between two readings of its
// clock.
type answer struct {
	weir.Decision
	told          bool // all of the Decision, and not only whether it is allowed
	n             int
	before, after time.Duration
}

// forget begins anew, under another rule.
func (c *client) forget(rule *weir.Policy) {
	c.clear()
	*c = client{meter: c.meter, known: c.known, plan: c.plan, rule: rule}
}

// see holds an answer against all that was said before.
func (c *client) see(a answer) (full bool, err error) {
	if err := c.contradiction(a); err != nil {
		return false, err
	}
	if a.Allowed {
		c.left, c.n = max(0, c.left-a.n), 0
	}
	if a.told {
		c.left = a.Remaining
		if r := a.RetryAfter; !a.Allowed && r != weir.Never {
			c.n, c.early, c.late = a.n, a.before+r, a.after+r
		}
	}
	if !a.Allowed {
		return false, nil
	}
	return c.add(*c.rule, a.before, a.after, a.n)
}

// contradiction returns what an answer contradicts.
func (c *client) contradiction(a answer) error {
	switch {
	case !a.Allowed && a.n <= c.left:
		return fmt.Errorf("%d denied, although %d were said to remain", a.n, c.left)
	case c.n == 0:
		return nil
	case !a.Allowed && a.n <= c.n && a.before >= c.late:
		return fmt.Errorf("%d denied %v after the time at which %d were said to be allowed", a.n, a.before-c.late, c.n)
	case a.Allowed && a.n >= c.n && a.after < c.early:
		return fmt.Errorf("%d allowed %v before the time at which %d were said to be", a.n, c.early-a.after, c.n)
	}
	return nil
}
