package weir_test

import (
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// mixVerbs is what a Limiter and a client of a PerClient can be asked.
type mixVerbs interface {
	Take(n int) weir.Decision
	TakeAs(n int, p weir.Policy) weir.Decision
	AllowN(n int) bool
	Peek(n int) weir.Decision
	Tokens() int
	Reserve(n int) weir.Reservation
	ReserveWithin(n int, most time.Duration) weir.Reservation
	Charge(n int)
	Refund(n int)
	SetPolicy(p weir.Policy) error
	Stats() weir.Stats
}

type mixLimiter struct{ *weir.Limiter }

func (l mixLimiter) TakeAs(n int, _ weir.Policy) weir.Decision { return l.Take(n) }

type mixClient struct {
	*weir.PerClient[int]
	key int
}

func (c mixClient) Take(n int) weir.Decision       { return c.PerClient.Take(c.key, n) }
func (c mixClient) AllowN(n int) bool              { return c.PerClient.AllowN(c.key, n) }
func (c mixClient) Peek(n int) weir.Decision       { return c.PerClient.Peek(c.key, n) }
func (c mixClient) Tokens() int                    { return c.PerClient.Tokens(c.key) }
func (c mixClient) Reserve(n int) weir.Reservation { return c.PerClient.Reserve(c.key, n) }
func (c mixClient) Charge(n int)                   { c.PerClient.Charge(c.key, n) }
func (c mixClient) Refund(n int)                   { c.PerClient.Refund(c.key, n) }
func (c mixClient) TakeAs(n int, p weir.Policy) weir.Decision {
	return c.PerClient.TakeAs(c.key, n, p)
}
func (c mixClient) ReserveWithin(n int, most time.Duration) weir.Reservation {
	return c.PerClient.ReserveWithin(c.key, n, most)
}

// mixOp is one step of a program.
type mixOp struct {
	verb    string
	key, n  int
	d       time.Duration
	receipt int
	policy  weir.Policy
}

func (o mixOp) String() string {
	text := fmt.Sprintf("%s key %d n %d", o.verb, o.key, o.n)
	switch o.verb {
	case "Advance":
		text = fmt.Sprintf("Advance %d", o.d)
	case "SetPolicy", "TakeAs":
		text += " " + o.policy.String()
	case "Cancel", "Settle":
		text += fmt.Sprintf(" receipt %d", o.receipt)
	case "ReserveWithin":
		text += fmt.Sprintf(" %d", o.d)
	}
	return text
}

// mixWorld is a limiter, or the clients of a PerClient, on which a program runs.
type mixWorld struct {
	clock    *weir.ManualClock
	keys     []mixVerbs
	clients  *weir.PerClient[int]
	receipts []weir.Reservation
}

// newMixWorld makes a Limiter for no keys, and else a PerClient.
func newMixWorld(p weir.Policy, keys int) *mixWorld {
	w := &mixWorld{clock: weir.NewManualClock()}
	if keys == 0 {
		w.keys = []mixVerbs{mixLimiter{weir.New(p, weir.WithClock(w.clock))}}
		return w
	}
	w.clients = weir.NewPerClient[int](p, weir.WithClock(w.clock), weir.WithSweepEvery(0))
	for key := range keys {
		w.keys = append(w.keys, mixClient{w.clients, key})
	}
	return w
}

func (w *mixWorld) do(o mixOp) (d weir.Decision) {
	k := w.keys[o.key]
	switch o.verb {
	case "Advance":
		w.clock.Advance(o.d)
	case "Take":
		return k.Take(o.n)
	case "TakeAs":
		return k.TakeAs(o.n, o.policy)
	case "AllowN":
		return weir.Decision{Allowed: k.AllowN(o.n)}
	case "Peek":
		return k.Peek(o.n)
	case "Reserve":
		w.receipts = append(w.receipts, k.Reserve(o.n))
	case "ReserveWithin":
		w.receipts = append(w.receipts, k.ReserveWithin(o.n, o.d))
	case "Cancel":
		w.receipts[o.receipt].Cancel()
	case "Settle":
		w.receipts[o.receipt].Settle(o.n)
	case "Charge":
		k.Charge(o.n)
	case "Refund":
		k.Refund(o.n)
	case "SetPolicy":
		if err := k.SetPolicy(o.policy); err != nil {
			panic(err)
		}
	case "Sweep":
		if w.clients != nil {
			w.clients.Sweep()
		}
	}
	return d
}
