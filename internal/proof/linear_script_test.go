package proof

import (
	"fmt"
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/model"
	"pgregory.net/rapid"
)

// A script is what goroutines do to one limiter, a round after the other.
type script struct {
	text     string // how the limiter is made
	policy   weir.Policy
	options  model.Options // without a clock
	keys     int           // 0 for a Limiter
	start    time.Duration
	instants []time.Duration // since then, that the clock shows one after the other
	rounds   []round
	reserved []int // how many, of each receipt

	menu     []string      // the verbs of its calls
	policies []weir.Policy // that are set
	most     int           // n of a call
	when     stepping
}

// A stepping says when a clock may be moved.
type stepping int

const (
	betweenRounds stepping = iota
	forwards               // while calls are under way, too
	anywhere               // and backwards
)

// A round is calls of the first goroutine alone, and then of all of them at a time.
type round struct {
	alone    []*call
	together [][]*call
}

func drawScript(t *rapid.T, start time.Duration, when stepping) *script {
	s := &script{start: start, when: when, instants: []time.Duration{0}}
	s.drawLimiter(t)
	s.drawMenu(t)
	first := round{alone: append([]*call{{verb: "Move"}}, s.drawCalls(t, 0, 4)...)}
	s.rounds = []round{first, {}, {}}[:oneOf(t, 1, 1, 2)]
	for i := range s.rounds {
		r := &s.rounds[i]
		r.alone = append(r.alone, s.drawPause(t)...)
		r.together = make([][]*call, oneOf(t, 2, 3, 2, 3, 4))
		for g := range r.together {
			r.together[g] = s.drawCalls(t, 1, 4)
		}
		if when > betweenRounds && oneIn(t, 2) {
			calls := &r.together[draw(t, rapid.IntRange(0, len(r.together)-1))]
			*calls = slices.Insert(*calls, draw(t, rapid.IntRange(0, len(*calls))), s.drawMove(t))
		}
	}
	s.rounds = append(s.rounds, round{alone: append(s.drawPause(t), s.look(t)...)})
	return s
}

// drawPause has the clock move, or not.
func (s *script) drawPause(t *rapid.T) []*call {
	var calls []*call
	if oneIn(t, 2) {
		calls = append(calls, s.drawMove(t))
	}
	if oneIn(t, 4) {
		calls = append(calls, s.setPolicy(t))
	}
	return calls
}

// setPolicy returns a SetPolicy. It brings the state that ShareOverflow's clients
// share to the policy first, and the others then.
func (s *script) setPolicy(t *rapid.T) *call {
	c := &call{verb: "SetPolicy", policy: oneOf(t, s.policies...)}
	if s.shares() {
		c.first = &call{verb: "SetShared", policy: c.policy}
	}
	return c
}

func (s *script) crowded() bool { return 0 < s.options.MaxClients && s.options.MaxClients < s.keys }

func (s *script) shares() bool { return s.options.Overflow == weir.ShareOverflow }

func (s *script) drawMove(t *rapid.T) *call {
	step := oneOf(t, 1, 250*time.Millisecond, time.Second, 3*time.Second, time.Duration(draw(t, rapid.Int64Range(1, 2e9))))
	if s.when == anywhere && oneIn(t, 5) {
		step = -step
	}
	s.instants = append(s.instants, s.instants[len(s.instants)-1]+step)
	return &call{verb: "Move", n: len(s.instants) - 1}
}

// drawLimiter draws a Limiter, or a PerClient with place for all or for few.
func (s *script) drawLimiter(t *rapid.T) {
	s.most = 4
	crowded := false
	switch draw(t, rapid.IntRange(0, 3)) {
	case 0:
	case 1:
		s.keys = draw(t, rapid.IntRange(1, 3))
	case 2:
		s.keys = 10 // the table grows
	case 3:
		crowded = true
		s.keys = draw(t, rapid.IntRange(2, 4))
	}
	for range draw(t, rapid.IntRange(1, 3)) {
		s.policies = append(s.policies, drawSmallPolicy(t, crowded))
	}
	s.policy = s.policies[0]
	if s.keys == 0 {
		s.text = fmt.Sprintf("weir.New(%s)", source(s.policy))
		return
	}
	s.options = model.Options{MaxClients: 100, Overflow: weir.DenyNew} // so that there is one shard
	if crowded {
		s.most = 3 // which all policies admit
		s.options.MaxClients = draw(t, rapid.IntRange(1, s.keys-1))
		s.options.Overflow = oneOf(t, weir.EvictFullest, weir.DenyNew, weir.ShareOverflow)
	}
	s.text = fmt.Sprintf("weir.NewPerClient[int](%s, weir.WithMaxClients(%d, %d))",
		source(s.policy), s.options.MaxClients, s.options.Overflow)
}

// drawSmallPolicy draws one of which a few calls use up all.
func drawSmallPolicy(t *rapid.T, several bool) weir.Policy {
	l := weir.Per(draw(t, rapid.IntRange(3, 5)), time.Second)
	p := oneOf(t,
		weir.TokenBucket(l),
		weir.TokenBucket(l),
		weir.TokenBucket(l).Named("another"),
		weir.TokenBucket(weir.Every(7).WithBurst(3)),
		weir.FixedWindow(l),
		weir.SlidingWindow(l),
		weir.SlidingCounter(l),
		weir.All(weir.TokenBucket(l), weir.SlidingWindow(l.WithBurst(l.Count()))),
		weir.FirstOf(weir.TokenBucket(l), weir.FixedWindow(weir.PerSecond(4))),
		weir.LeakyBucket(l, 2),
	)
	if several && p.Algorithm() == weir.AlgorithmLeakyBucket { // admits one at a time
		return weir.TokenBucket(l)
	}
	return p
}

// drawMenu draws the verbs of which the script is made: with few of them, races
// between these are frequent.
func (s *script) drawMenu(t *rapid.T) {
	s.menu = []string{"Take", "Take"}
	all := []string{"AllowN", "Peek", "Charge", "Refund", "Reset", "SetPolicy", "Policy", "Reserve"}
	if s.keys > 0 {
		all = append(all, "TakeAs", "Sweep")
	}
	for _, verb := range all {
		if oneIn(t, 3) {
			s.menu = append(s.menu, verb)
		}
	}
	if s.menu[len(s.menu)-1] == "Reserve" || oneIn(t, 3) {
		s.menu = append(s.menu, "Reserve", "Reserve", "Cancel", "Settle", "Delay")
	}
}

func (s *script) drawCalls(t *rapid.T, least, most int) (calls []*call) {
	for range draw(t, rapid.IntRange(least, most)) {
		calls = append(calls, s.drawCall(t))
	}
	return calls
}

func (s *script) drawCall(t *rapid.T) *call {
	c := &call{verb: oneOf(t, s.menu...), n: draw(t, rapid.IntRange(1, s.most)), yields: oneIn(t, 3)}
	if s.keys > 0 {
		c.key = draw(t, rapid.IntRange(0, s.keys-1))
	}
	switch c.verb {
	case "SetPolicy":
		set := s.setPolicy(t)
		set.yields = c.yields
		return set
	case "TakeAs":
		c.policy = oneOf(t, s.policies...)
	case "Reserve":
		c.within = oneOf(t, weir.Never, weir.Never, 300*time.Millisecond)
		c.receipt = len(s.reserved)
		s.reserved = append(s.reserved, c.n)
	case "Cancel", "Settle", "Delay":
		if len(s.reserved) == 0 {
			c.verb = "Take"
			return c
		}
		c.receipt = draw(t, rapid.IntRange(0, len(s.reserved)-1))
		c.n = draw(t, rapid.IntRange(0, s.reserved[c.receipt]))
	}
	return c
}

// look is what shows all that the calls have left.
func (s *script) look(t *rapid.T) (calls []*call) {
	for receipt := range s.reserved {
		calls = append(calls, &call{verb: "Err", receipt: receipt}, &call{verb: "Delay", receipt: receipt})
	}
	for key := range max(1, s.keys) {
		calls = append(calls, &call{verb: "Peek", key: key, n: draw(t, rapid.IntRange(0, 1))})
	}
	return append(calls, &call{verb: "Policy"}, &call{verb: "Stats"})
}
