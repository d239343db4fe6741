package replay

import (
	"cmp"
	"slices"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
)

// A Comparison is on what two trials agree. It holds only clients of whom one of the
// two denied something.
type Comparison struct {
	live, candidate *Trial
	column          int
	counts          [2][2]uint64 // by what live and the candidate decided: 1 if admitted
	clients         map[accesslog.Key]*Difference
}

// A Difference is what two policies make of a client.
type Difference struct {
	Key                         accesslog.Key
	LiveDenied, CandidateDenied uint32 // requests
	NewlyDenied, NewlyAdmitted  uint32 // of them: which only one of the two denied
	First                       int64  // the first of those, in nanoseconds since 1970
}

// Compare returns a Comparison of two trials of the same requests, which are told
// apart by the first one's clients.
func Compare(live, candidate *Trial) *Comparison {
	return &Comparison{live: live, candidate: candidate, column: live.Tally.column, clients: map[accesslog.Key]*Difference{}}
}

// Add has both trials decide about rows.
func (c *Comparison) Add(rows []uint64) {
	Each([]*Trial{c.live, c.candidate}, rows)
	width := c.live.Tally.width
	for i, was := range c.live.verdicts {
		is := c.candidate.verdicts[i]
		c.counts[bit(was)][bit(is)]++
		if key := accesslog.Key(rows[i*width+c.column]); !(was && is) && key != accesslog.None {
			c.difference(key).add(int64(rows[i*width]), was, is)
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *Comparison) difference(k accesslog.Key) *Difference {
	d := c.clients[k]
	if d == nil {
		d = &Difference{Key: k}
		c.clients[k] = d
	}
	return d
}

func (d *Difference) add(at int64, was, is bool) {
	if was != is && d.NewlyDenied+d.NewlyAdmitted == 0 {
		d.First = at
	}
	if !was {
		d.LiveDenied = saturatingInc(d.LiveDenied)
	}
	if !is {
		d.CandidateDenied = saturatingInc(d.CandidateDenied)
	}
	if was && !is {
		d.NewlyDenied = saturatingInc(d.NewlyDenied)
	}
	if !was && is {
		d.NewlyAdmitted = saturatingInc(d.NewlyAdmitted)
	}
}

// Agreement is what a Comparison comes to.
type Agreement struct {
	// Requests by what the two decided.
	BothAdmit, BothDeny, NewlyDenied, NewlyAdmitted uint64
	// Clients of whom live denied nothing and the candidate something, and the other
	// way round.
	ClientsNewlyDenied, ClientsNewlyFree int
	// Denied and Admitted are the clients with the most requests that only the
	// candidate denied, and only live did.
	Denied, Admitted []Difference
}

// Percent returns on how many of the requests the two agree.
func (a Agreement) Percent() float64 {
	same, other := a.BothAdmit+a.BothDeny, a.NewlyDenied+a.NewlyAdmitted
	if other == 0 {
		return 100
	}
	return 100 * float64(same) / float64(same+other)
}

// Agreement returns what was found, with n examples of clients each, who are called
// as name says.
func (c *Comparison) Agreement(n int, name func(accesslog.Key) string) Agreement {
	a := Agreement{BothAdmit: c.counts[1][1], BothDeny: c.counts[0][0], NewlyDenied: c.counts[1][0], NewlyAdmitted: c.counts[0][1]}
	for _, d := range c.clients {
		switch {
		case d.LiveDenied == 0:
			a.ClientsNewlyDenied++
		case d.CandidateDenied == 0:
			a.ClientsNewlyFree++
		}
		if d.NewlyDenied > 0 {
			a.Denied = append(a.Denied, *d)
		}
		if d.NewlyAdmitted > 0 {
			a.Admitted = append(a.Admitted, *d)
		}
	}
	a.Denied = most(a.Denied, n, name, func(d Difference) uint32 { return d.NewlyDenied })
	a.Admitted = most(a.Admitted, n, name, func(d Difference) uint32 { return d.NewlyAdmitted })
	return a
}

func most(all []Difference, n int, name func(accesslog.Key) string, count func(Difference) uint32) []Difference {
	slices.SortFunc(all, func(a, b Difference) int {
		if c := cmp.Or(cmp.Compare(count(b), count(a)), cmp.Compare(a.First, b.First)); c != 0 {
			return c
		}
		return cmp.Compare(name(a.Key), name(b.Key))
	})
	return all[:min(n, len(all))]
}
