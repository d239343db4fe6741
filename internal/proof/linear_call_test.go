package proof

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// A call is one of a script.
type call struct {
	verb    string
	key, n  int
	policy  weir.Policy
	within  time.Duration
	receipt int   // the number of the one that it makes, or is about
	yields  bool  // others may come first
	first   *call // in a history the first step of this, which is then the second
}

// A subject is what calls are made to: a limiter of weir's, or of the model's.
type subject struct {
	limiter
	keys     []verbs
	receipts []atomic.Pointer[receipt]
}

// tooSoon is in place of the answer about a receipt that is not there yet.
const tooSoon = "too soon"

// unsaid is in place of an answer that the model leaves open.
const unsaid = "unsaid"

// make makes the call and returns the answer, nil if there is none.
func (c *call) make(s *subject) (answer any) {
	switch k := s.keys[c.key]; c.verb {
	case "Take":
		return k.Take(c.n)
	case "TakeAs":
		return k.TakeAs(c.n, c.policy)
	case "AllowN":
		return k.AllowN(c.n)
	case "Peek":
		return k.Peek(c.n)
	case "Reserve":
		r := k.Reserve(c.n, c.within)
		s.receipts[c.receipt].Store(&r)
	case "Charge":
		k.Charge(c.n)
	case "Refund":
		k.Refund(c.n)
	case "Reset":
		k.Reset()
	case "SetPolicy":
		s.SetPolicy(c.policy)
	case "SetShared":
		s.limiter.(modelClients).SetShared(c.policy)
	case "Policy":
		return s.Policy().Name()
	case "Sweep":
		if m, ok := s.limiter.(modelClients); ok && m.Lingers() {
			return unsaid
		}
		return s.Sweep()
	case "Stats":
		return s.Stats()
	default:
		return c.makeAbout(s.receipts[c.receipt].Load())
	}
	return nil
}

func (c *call) makeAbout(r *receipt) (answer any) {
	if r == nil {
		return tooSoon
	}
	switch c.verb {
	case "Delay":
		return (*r).Delay()
	case "Err":
		return (*r).Err()
	case "Cancel":
		(*r).Cancel()
	case "Settle":
		(*r).Settle(c.n)
	default:
		panic("no verb: " + c.verb)
	}
	return nil
}

func (c *call) String() string {
	switch c.verb {
	case "TakeAs":
		return fmt.Sprintf("TakeAs(%d, %d, %s)", c.key, c.n, source(c.policy))
	case "Reserve":
		return fmt.Sprintf("r%d := ReserveWithin(%d, %d, %d)", c.receipt, c.key, c.n, c.within)
	case "SetPolicy", "SetShared":
		return fmt.Sprintf("%s(%s)", c.verb, source(c.policy))
	case "Policy", "Sweep", "Stats":
		return c.verb + "()"
	case "Delay", "Err", "Cancel":
		return fmt.Sprintf("r%d.%s()", c.receipt, c.verb)
	case "Settle":
		return fmt.Sprintf("r%d.Settle(%d)", c.receipt, c.n)
	case "Reset":
		return fmt.Sprintf("Reset(%d)", c.key)
	}
	return fmt.Sprintf("%s(%d, %d)", c.verb, c.key, c.n)
}

// real returns a limiter of weir's for the script.
func (s *script) real(c weir.Clock) *subject {
	real := s.subject()
	if s.keys == 0 {
		l := realLimiter{weir.New(s.policy, weir.WithClock(c))}
		real.limiter, real.keys[0] = l, l
		return real
	}
	clients := weir.NewPerClient[int](s.policy, weir.WithClock(c), weir.WithSweepEvery(0),
		weir.WithMaxClients(s.options.MaxClients, s.options.Overflow))
	real.limiter = &realClients{PerClient: clients}
	for key := range real.keys {
		real.keys[key] = realClient{clients, key}
	}
	return real
}

// model returns the model of one, which is told what to choose.
func (s *script) model(m *told) *subject {
	made, o := s.subject(), s.options
	o.Now = m.now
	if s.keys == 0 {
		l := modelLimiter{model.NewLimiter(s.policy, o)}
		made.limiter, made.keys[0] = l, l
		return made
	}
	clients := model.NewPerClient[int](s.policy, o)
	clients.Choose, clients.Sharing, clients.Late = m.forget, m.share, s.when == forwards
	made.limiter = modelClients{clients}
	for key := range made.keys {
		made.keys[key] = modelClient{clients, key}
	}
	return made
}

func (s *script) subject() *subject {
	return &subject{keys: make([]verbs, max(1, s.keys)), receipts: make([]atomic.Pointer[receipt], len(s.reserved))}
}
