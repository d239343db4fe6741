package weir_test

import (
	"context"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// The models in this file decide what the policies decide, in the plainest arithmetic that can be
// right: instants are big integers of nanoseconds, tokens are rationals, a log is a list, a window is
// a number. They share no formula with the package: where it solves for an instant, they look for it.

// setClock reads what the test sets.
type setClock struct{ now int64 }

func (c *setClock) Now() time.Duration { return time.Duration(c.now) }

func (c *setClock) SleepUntil(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// plainState is the state of one algorithm. Time never runs backwards in it: plainKey sees to that.
type plainState interface {
	free(t *big.Int) int                // what may be taken at t
	when(t *big.Int, n int) *big.Int    // the first instant from t on at which n, at most the capacity, may be taken
	taken(t *big.Int, n int) plainState // the state after that
}

func bigInt(n int64) *big.Int { return big.NewInt(n) }

func plus(a, b *big.Int) *big.Int  { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

// floorDiv floors for a positive b, as Euclid's division does.
func floorDiv(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }

func ceilRat(r *big.Rat) *big.Int {
	q := floorDiv(new(big.Int).Neg(r.Num()), r.Denom())
	return q.Neg(q)
}

// firstFree looks for the first instant in [t, t+horizon] with n free, by halving: what is free only
// grows while nobody takes.
func firstFree(s plainState, t *big.Int, n int, horizon int64) *big.Int {
	if s.free(t) >= n {
		return t
	}
	low, high := int64(0), horizon // not yet free at low, free at high
	for high-low > 1 {
		middle := low + (high-low)/2
		if s.free(plus(t, bigInt(middle))) >= n {
			high = middle
		} else {
			low = middle
		}
	}
	return plus(t, bigInt(high))
}

// plainTokens is the bucket of tokens that drip in, one each interval, up to burst.
type plainTokens struct {
	burst    int
	interval *big.Rat // in nanoseconds
	level    *big.Rat // at last
	last     *big.Int // nil: never used
}

// exactInterval is the time between two tokens as configured; roundedInterval is what DESIGN.md makes
// of it: whole eighths of a nanosecond, never shorter.
func exactInterval(l weir.Limit) *big.Rat {
	return big.NewRat(int64(l.Period()), int64(l.Count()))
}

func roundedInterval(l weir.Limit) *big.Rat {
	eighths := ceilRat(new(big.Rat).Mul(exactInterval(l), big.NewRat(8, 1)))
	return new(big.Rat).SetFrac(eighths, bigInt(8))
}

func newPlainTokens(burst int, interval *big.Rat) *plainTokens {
	return &plainTokens{burst: burst, interval: interval}
}

func (s *plainTokens) levelAt(t *big.Int) *big.Rat {
	full := big.NewRat(int64(s.burst), 1)
	if s.last == nil {
		return full
	}
	level := new(big.Rat).SetInt(minus(t, s.last))
	level.Quo(level, s.interval)
	level.Add(level, s.level)
	if level.Cmp(full) > 0 {
		return full
	}
	return level
}

func (s *plainTokens) free(t *big.Int) int {
	level := s.levelAt(t)
	return int(floorDiv(level.Num(), level.Denom()).Int64())
}

func (s *plainTokens) when(t *big.Int, n int) *big.Int {
	missing := new(big.Rat).Sub(big.NewRat(int64(n), 1), s.levelAt(t))
	if missing.Sign() <= 0 {
		return t
	}
	return plus(t, ceilRat(missing.Mul(missing, s.interval)))
}

func (s *plainTokens) taken(t *big.Int, n int) plainState {
	after := *s
	after.level = new(big.Rat).Sub(s.levelAt(t), big.NewRat(int64(n), 1))
	after.last = t
	return &after
}

// plainWindow counts in windows that begin at the multiples of the period.
type plainWindow struct {
	count  int
	period int64
	used   map[int64]int // by the window's number
}

func (s *plainWindow) number(t *big.Int) int64 { return floorDiv(t, bigInt(s.period)).Int64() }

func (s *plainWindow) free(t *big.Int) int { return s.count - s.used[s.number(t)] }

func (s *plainWindow) when(t *big.Int, n int) *big.Int { return firstFree(s, t, n, s.period) }

func (s *plainWindow) taken(t *big.Int, n int) plainState {
	after := *s
	after.used = maps.Clone(s.used)
	after.used[s.number(t)] += n
	return &after
}

// plainLog is the list of what was admitted, and when.
type plainLog struct {
	count  int
	period int64
	log    []plainEntry
}

type plainEntry struct {
	at *big.Int
	n  int
}

func (s *plainLog) free(t *big.Int) int {
	free := s.count
	for _, e := range s.log {
		if minus(t, e.at).Cmp(bigInt(s.period)) < 0 {
			free -= e.n
		}
	}
	return free
}

func (s *plainLog) when(t *big.Int, n int) *big.Int { return firstFree(s, t, n, s.period) }

func (s *plainLog) taken(t *big.Int, n int) plainState {
	after := *s
	gone := func(e plainEntry) bool { return minus(t, e.at).Cmp(bigInt(s.period)) >= 0 }
	after.log = append(slices.DeleteFunc(slices.Clone(s.log), gone), plainEntry{t, n})
	return &after
}

// plainCounter weighs the previous window by what of it is still in view.
type plainCounter struct{ plainWindow }

func (s *plainCounter) free(t *big.Int) int {
	period := bigInt(s.period)
	i := s.number(t)
	inView := minus(period, new(big.Int).Mod(t, period))
	weighted := new(big.Rat).SetFrac(inView, period)
	weighted.Mul(weighted, big.NewRat(int64(s.used[i-1]), 1))
	free := new(big.Rat).Sub(big.NewRat(int64(s.count-s.used[i]), 1), weighted)
	return int(floorDiv(free.Num(), free.Denom()).Int64())
}

func (s *plainCounter) when(t *big.Int, n int) *big.Int { return firstFree(s, t, n, 2*s.period) }

func (s *plainCounter) taken(t *big.Int, n int) plainState {
	return &plainCounter{*s.plainWindow.taken(t, n).(*plainWindow)}
}

// plainSame always has the same number free: nothing, or everything.
type plainSame int

func (s plainSame) free(*big.Int) int               { return int(s) }
func (s plainSame) when(t *big.Int, _ int) *big.Int { return t }
func (s plainSame) taken(*big.Int, int) plainState  { return s }

// plainPolicy is a tree of states. It is never changed: taking makes another.
type plainPolicy struct {
	algorithm weir.Algorithm
	parts     []*plainPolicy // of a combination

	state    plainState // of a leaf, as all below
	name     string
	capacity int
	period   time.Duration
	interval *big.Rat
}

func newPlainPolicy(p weir.Policy) *plainPolicy {
	m := &plainPolicy{algorithm: p.Algorithm(), name: p.Name()}
	for _, part := range p.Parts() {
		m.parts = append(m.parts, newPlainPolicy(part))
	}
	l, isLeaf := p.Limit()
	switch {
	case !isLeaf:
		return m
	case l == weir.Unlimited():
		m.capacity, m.state = math.MaxInt, plainSame(math.MaxInt)
		return m
	case l.Count() == 0 || l.Burst() == 0:
		m.state = plainSame(0)
		return m
	}
	m.capacity, m.period, m.interval = l.Count(), l.Period(), roundedInterval(l)
	window := plainWindow{count: l.Count(), period: int64(l.Period()), used: map[int64]int{}}
	switch m.algorithm {
	case weir.AlgorithmTokenBucket:
		m.capacity = l.Burst()
		m.state = newPlainTokens(l.Burst(), m.interval)
	case weir.AlgorithmLeakyBucket:
		m.capacity = 1
		m.state = newPlainTokens(1, m.interval)
	case weir.AlgorithmFixedWindow:
		m.state = &window
	case weir.AlgorithmSlidingWindow:
		m.state = &plainLog{count: l.Count(), period: int64(l.Period())}
	case weir.AlgorithmSlidingCounter:
		m.state = &plainCounter{window}
	}
	return m
}

// leaves lists them from left to right.
func (p *plainPolicy) leaves() []*plainPolicy {
	if p.state != nil {
		return []*plainPolicy{p}
	}
	var all []*plainPolicy
	for _, part := range p.parts {
		all = append(all, part.leaves()...)
	}
	return all
}

// free is the least of All's parts, the most of FirstOf's.
func (p *plainPolicy) free(t *big.Int) int {
	if p.state != nil {
		return p.state.free(t)
	}
	free := p.parts[0].free(t)
	for _, part := range p.parts[1:] {
		if p.algorithm == weir.AlgorithmAll {
			free = min(free, part.free(t))
		} else {
			free = max(free, part.free(t))
		}
	}
	return free
}

func (p *plainPolicy) taken(t *big.Int, n int) *plainPolicy {
	after := *p
	if p.state != nil {
		after.state = p.state.taken(t, n)
		return &after
	}
	after.parts = slices.Clone(p.parts)
	for i, part := range p.parts {
		if p.algorithm == weir.AlgorithmAll {
			after.parts[i] = part.taken(t, n)
		} else if part.free(t) >= n {
			after.parts[i] = part.taken(t, n)
			break
		}
	}
	return &after
}

// full says whether nothing that was taken is still felt at t.
func (p *plainPolicy) full(t *big.Int) bool {
	for _, leaf := range p.leaves() {
		if leaf.state.free(t) < leaf.capacity {
			return false
		}
	}
	return true
}

// scarcest is the leaf that sets what is free.
func (p *plainPolicy) scarcest(t *big.Int) *plainPolicy {
	if p.state != nil {
		return p
	}
	for _, part := range p.parts {
		if part.free(t) == p.free(t) {
			return part.scarcest(t)
		}
	}
	panic("unreachable")
}

// slowest is the leaf that sets how long n has to wait after t, and that wait.
func (p *plainPolicy) slowest(t *big.Int, n int) (*plainPolicy, time.Duration) {
	if p.state != nil {
		switch {
		case n < 0 || n > p.capacity:
			return p, weir.Never
		case p.state.free(t) >= n:
			return p, 0
		}
		return p, between(t, p.state.when(t, n))
	}
	binding, wait := p.parts[0].slowest(t, n)
	for _, part := range p.parts[1:] {
		leaf, w := part.slowest(t, n)
		if p.algorithm == weir.AlgorithmAll && w > wait || p.algorithm == weir.AlgorithmFirstOf && w < wait {
			binding, wait = leaf, w
		}
	}
	return binding, wait
}

// between is the time from a to b, or the most that is not yet Never.
func between(a, b *big.Int) time.Duration {
	d := minus(b, a)
	if d.Cmp(bigInt(int64(weir.Never))) >= 0 {
		return weir.Never - 1
	}
	return time.Duration(d.Int64())
}

// plainKey is one client: a policy's state and the newest reading at which it was charged.
type plainKey struct {
	policy *plainPolicy
	newest *big.Int // nil: never charged
}

func newPlainKey(p weir.Policy) *plainKey { return &plainKey{policy: newPlainPolicy(p)} }

// instant is what a reading counts as.
func (k *plainKey) instant(reading int64) *big.Int {
	t := bigInt(reading)
	if k.newest != nil && t.Cmp(k.newest) < 0 {
		return k.newest
	}
	return t
}

// take decides on n at a reading: what to answer, and the client after it.
func (k *plainKey) take(reading int64, n int) (weir.Decision, *plainKey) {
	now, t := bigInt(reading), k.instant(reading)
	after, binding := k, (*plainPolicy)(nil)
	d := weir.Decision{Allowed: n == 0 || n > 0 && k.policy.free(t) >= n}
	if d.Allowed {
		if n > 0 {
			after = &plainKey{k.policy.taken(t, n), t}
		}
		binding = after.policy.scarcest(t)
	} else {
		binding, d.RetryAfter = k.policy.slowest(t, n)
		if d.RetryAfter < weir.Never { // from the reading, not from what it counts as
			d.RetryAfter = between(now, plus(t, bigInt(int64(d.RetryAfter))))
		}
	}
	d.Remaining = after.policy.free(t)
	d.Policy, d.Limit = binding.name, binding.capacity
	if binding.state.free(t) < binding.capacity {
		d.ResetAfter = between(now, binding.state.when(t, binding.capacity))
	}
	return d, after
}
