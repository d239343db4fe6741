package weir_test

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
)

// A side of a world is weir's or the model's.
type side struct {
	keys     []verbs
	receipts []receipt
	layers   layered
}

// An op is a step of a program.
type op struct {
	verb    string
	key, n  int
	d       time.Duration // to Advance, or to Reserve within
	receipt int
	policy  weir.Policy
	visit   visit
}

func (o op) String() string {
	text := fmt.Sprintf("%s key %d n %d", o.verb, o.key, o.n)
	switch o.verb {
	case "Advance":
		text = fmt.Sprintf("Advance %v", o.d)
	case "Reserve":
		if o.d != weir.Never {
			text += fmt.Sprintf(" within %v", o.d)
		}
	case "SetPolicy", "TakeAs":
		text += " " + o.policy.String()
	case "Cancel", "Settle", "Look":
		text = fmt.Sprintf("%s receipt %d n %d", o.verb, o.receipt, o.n)
	case "Layers.Allow", "Layers.Take", "Layers.TakeContext", "Layers.Peek":
		text = fmt.Sprintf("%s %+v n %d", o.verb, o.visit, o.n)
	}
	return text
}

// A turn is what a receipt says.
type turn struct {
	delay time.Duration
	err   error
}

// do takes a step, and returns the answer.
func (s *side) do(o op) any {
	k := s.keys[o.key]
	switch o.verb {
	case "Take":
		return k.Take(o.n)
	case "TakeAs":
		return k.TakeAs(o.n, o.policy)
	case "AllowN":
		return k.AllowN(o.n)
	case "Peek":
		return k.Peek(o.n)
	case "Charge":
		k.Charge(o.n)
	case "Refund":
		k.Refund(o.n)
	case "Reset":
		k.Reset()
	case "SetPolicy":
		k.SetPolicy(o.policy)
	case "Sweep":
		return k.Sweep()
	case "Reserve":
		s.receipts = append(s.receipts, k.Reserve(o.n, o.d))
	case "Cancel":
		s.receipts[o.receipt].Cancel()
	case "Settle":
		s.receipts[o.receipt].Settle(o.n)
	case "Look":
		return turn{s.receipts[o.receipt].Delay(), s.receipts[o.receipt].Err()}
	case "Layers.Allow":
		return s.layers.Allow(o.visit)
	case "Layers.Take":
		return s.layers.Take(o.visit, o.n)
	case "Layers.TakeContext":
		d, err := s.layers.TakeContext(context.Background(), o.visit, o.n)
		must(err)
		return d
	case "Layers.Peek":
		return s.layers.Peek(o.visit, o.n)
	default:
		panic("no verb: " + o.verb)
	}
	return nil
}

// next draws a step of one of some verbs.
func (w *world) next(verbs ...string) op {
	o := op{verb: pick(w.choose, verbs...), key: w.draw(len(w.real.keys)), n: w.nextN()}
	o.verb = w.instead(o)
	switch o.verb {
	case "Advance":
		o.d = w.nextStep()
	case "Reserve":
		o.d = weir.Never
		if w.oneIn(4) {
			o.d = pick(w.choose, w.last.RetryAfter, w.last.RetryAfter-1, w.last.ResetAfter/2, -1)
		}
	case "SetPolicy", "TakeAs":
		o.policy = w.nextPolicy()
	case "Cancel", "Settle", "Look":
		o.receipt, o.n = w.draw(len(w.real.receipts)), w.draw(9)-1
		if w.back && w.swept && w.model.receipts[o.receipt].(*model.Reservation).Taken() {
			o.verb = "Look" // a sweep makes worthless what time has given back, and the clock may have stepped back since
		}
	case "Layers.Allow", "Layers.Take", "Layers.TakeContext", "Layers.Peek":
		o.visit = visit{w.draw(4) - 1, w.draw(4) - 1, w.draw(5) - 1}
		if w.oneIn(2) {
			o.visit.size = w.nextN()
		}
	}
	return o
}

// instead returns the verb of a step, or another one if that makes no sense or has no certain answer.
func (w *world) instead(o op) string {
	switch k := w.model.keys[o.key].(type) {
	case modelLimiter:
		if o.verb == "TakeAs" {
			return "Take" // it has one policy
		}
	case client:
		if o.verb == "Sweep" && k.keyed.(modelClients).Lingers() {
			return "Peek"
		}
	}
	switch o.verb {
	case "Cancel", "Settle", "Look":
		if len(w.real.receipts) == 0 {
			return "Reserve"
		}
	}
	return o.verb
}

func (w *world) draw(n int) int { return int(w.choose(int64(n))) }

func (w *world) nextN() int {
	if w.oneIn(2) {
		return w.draw(8)
	}
	return chooseN(w.choose, w.last, leafLimits(pick(w.choose, w.policies...)))
}

// newPolicy draws any, or one of small numbers.
func newPolicy(c choose) weir.Policy {
	if c.oneIn(2) {
		return chooseSmall(c)
	}
	return choosePolicy(c, 2)
}

// nextPolicy draws one, often one that was in force.
func (w *world) nextPolicy() weir.Policy {
	switch w.draw(4) {
	case 0:
		return pick(w.choose, w.policies...)
	case 1:
		return pick(w.choose, w.policies...).Named(pick(w.choose, "a", "another"))
	}
	return newPolicy(w.choose)
}

// nextStep draws how far the clock goes: also to the instant of a receipt, or beside it.
func (w *world) nextStep() time.Duration {
	to := chooseReading(w.choose, w.now(), w.last, leafLimits(pick(w.choose, w.policies...)), w.back)
	if receipts := len(w.real.receipts); receipts > 0 && w.oneIn(3) {
		to = later(w.now(), max(0, w.look(w.draw(receipts)).delay+time.Duration(w.draw(3)-2)))
	}
	if to = min(max(to, w.from), w.until); !w.back {
		to = max(to, w.now())
	}
	return time.Duration(to - w.now())
}

// look asks a receipt, which has its key notice what is no longer to come.
func (w *world) look(receipt int) turn {
	w.Helper()
	return w.step(op{verb: "Look", receipt: receipt}).(turn)
}
