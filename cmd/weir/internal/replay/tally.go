package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
)

// A Tally counts what became of requests, and of those who made them.
type Tally struct {
	width, column int
	table         table
	requests      uint64
	denied        uint64
	unkeyed       uint64
	origin        int64 // the first instant
	longest       int64 // as Figures.Longest
	timeline      Timeline
	heat          heat
}

// NewTally returns a Tally of rows that have keys for these fields, by the one that
// tells clients apart.
func NewTally(client accesslog.Field, fields []accesslog.Field) *Tally {
	return &Tally{width: 1 + len(fields), column: 1 + slices.Index(fields, client)}
}

// Add counts rows, in order of time, with what was decided about them.
func (t *Tally) Add(rows []uint64, verdicts []bool) {
	for i, ok := range verdicts {
		row := rows[i*t.width : (i+1)*t.width]
		at, key := int64(row[0]), accesslog.Key(row[t.column])
		if t.requests == 0 {
			t.origin = at
		}
		for _, m := range t.timeline.add(at, ok) {
			t.heat.merge(m)
		}
		t.requests++
		if !ok {
			t.denied++
		}
		if key == accesslog.None {
			t.unkeyed++
			continue
		}
		t.count(t.table.find(key), at, ok)
		if !ok {
			t.heat.add(key, t.timeline.last())
		}
	}
}

// tick is how exactly the beginning of a denial is known: whole seconds are, and 497
// days of ticks fit into 32 bits.
const tick = int64(10 * time.Millisecond)

func (t *Tally) count(e *entry, at int64, ok bool) {
	e.requests = saturatingInc(e.requests)
	if ok {
		e.since = 0
		return
	}
	e.denied = saturatingInc(e.denied)
	if e.since == 0 {
		e.since = uint32(min((at-t.origin+tick-1)/tick+1, math.MaxUint32)) // 0 says that there is none
	}
	t.longest = max(t.longest, at-t.origin-int64(e.since-1)*tick)
}

func saturatingInc(n uint32) uint32 {
	if n == math.MaxUint32 {
		return n
	}
	return n + 1
}

func saturatingAdd(a, b uint32) uint32 { return a + min(b, math.MaxUint32-a) }

// Figures are what a Tally comes to.
type Figures struct {
	Requests, Denied uint64
	// Unkeyed are requests that do not say which client they are of.
	Unkeyed uint64
	// RejectionRate is Denied in percent of Requests, 0 without any.
	RejectionRate float64
	// Clients are those who made a request, and ClientsDenied those of them of whom
	// at least one was denied.
	Clients, ClientsDenied int
	// Busiest is how many requests the client with the most made.
	Busiest int
	// Median and P99 are shares, in percent, of a client's own requests that were
	// denied: half of all clients, and 99 of 100, had no greater share (the nearest
	// rank).
	Median, P99 float64
	// Longest is the longest span from one denial to another of the same client
	// without an admission in between, to a hundredth of a second; 0 where none was
	// denied twice in a row.
	Longest time.Duration
	// Worst are the clients of whom most was denied, the worst first.
	Worst []Client
}

// A Client is what became of one.
type Client struct {
	Key              accesslog.Key
	Requests, Denied uint32
}

// Share returns how much of the client's requests was denied, in percent.
func (c Client) Share() float64 { return 100 * float64(c.Denied) / float64(c.Requests) }

// Figures returns what was counted, with the worst n clients, of whom name says
// what to call them, which decides between equals.
func (t *Tally) Figures(n int, name func(accesslog.Key) string) Figures {
	f := Figures{Requests: t.requests, Denied: t.denied, Unkeyed: t.unkeyed, Longest: time.Duration(t.longest)}
	if f.Denied > 0 {
		f.RejectionRate = 100 * float64(f.Denied) / float64(f.Requests)
	}
	var shares []float64 // of those who were denied at all
	var worst []Client
	least := uint32(1) // of denials, to be among them
	t.table.all(func(e *entry) {
		f.Clients++
		f.Busiest = max(f.Busiest, int(e.requests))
		if e.denied == 0 {
			return
		}
		c := Client{e.key(), e.requests, e.denied}
		shares = append(shares, c.Share())
		if c.Denied < least {
			return
		}
		if worst = append(worst, c); len(worst) >= 1024+4*n {
			if worst = keepWorst(worst, n, name); n > 0 {
				least = worst[n-1].Denied
			}
		}
	})
	f.ClientsDenied = len(shares)
	f.Worst = keepWorst(worst, n, name)
	slices.Sort(shares)
	f.Median, f.P99 = rank(shares, f.Clients, 50), rank(shares, f.Clients, 99)
	return f
}

func keepWorst(clients []Client, n int, name func(accesslog.Key) string) []Client {
	slices.SortFunc(clients, func(a, b Client) int {
		if c := cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(b.Requests, a.Requests)); c != 0 {
			return c
		}
		return cmp.Compare(name(a.Key), name(b.Key))
	})
	return clients[:min(n, len(clients))]
}

// rank returns the least value that at least p percent of n values do not exceed.
// Only the greatest are given, sorted; the others are 0.
func rank(greatest []float64, n int, p int) float64 {
	i := (n*p + 99) / 100 // of the sorted values, from 1
	if zeros := n - len(greatest); i > zeros {
		return greatest[i-zeros-1]
	}
	return 0
}

// Timeline returns requests and denials over time.
func (t *Tally) Timeline() Timeline { return t.timeline }
