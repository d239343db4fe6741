package weir_test

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/goweir/weir"
)

// The models of what reservations, settlements, charges, refunds and changes of policy make of a bucket
// and of a log: lists that are walked through in order of time, with tokens as rationals. The clock does
// not step back in them.

// mixState is what was consumed up to some instant. It can be asked about an instant before that:
// what is consumed later counts as used already.
type mixState interface {
	clone() mixState
	take(t int64, n, id int)
	free(t int64) int           // not below 0
	when(t int64, n int) int64  // the first instant from t on at which n is free
	full(t int64) time.Duration // from t until everything is free
	charge(t int64, n int)
	refund(t int64, n int)
	giveBack(t int64, id, n int) // of what was taken as id, its end, as far as it is there
	carry(t int64, p weir.Policy) mixState
}

func newMixState(p weir.Policy) mixState {
	l, _ := p.Limit()
	switch p.Algorithm() {
	case weir.AlgorithmTokenBucket:
		return &mixTokens{burst: l.Burst(), interval: roundedInterval(l)}
	case weir.AlgorithmLeakyBucket:
		return &mixTokens{burst: 1, interval: roundedInterval(l)}
	}
	return &mixLog{count: l.Count(), period: int64(l.Period())}
}

// mixTokens is a queue of what was taken and is not refilled yet. Time drains it from its head.
type mixTokens struct {
	burst    int
	interval *big.Rat
	last     int64
	queue    []mixChunk
}

type mixChunk struct {
	id     int
	tokens *big.Rat
}

func (s *mixTokens) clone() mixState {
	c := *s
	c.queue = slices.Clone(s.queue)
	return &c
}

func (s *mixTokens) drain(t int64) {
	if t <= s.last {
		return
	}
	flow := new(big.Rat).SetInt64(t - s.last)
	flow.Quo(flow, s.interval)
	for s.last = t; len(s.queue) > 0; s.queue = s.queue[1:] {
		head := s.queue[0].tokens
		if head.Cmp(flow) > 0 {
			s.queue = append([]mixChunk{{s.queue[0].id, new(big.Rat).Sub(head, flow)}}, s.queue[1:]...)
			return
		}
		flow = new(big.Rat).Sub(flow, head)
	}
}

func (s *mixTokens) sum() *big.Rat {
	sum := new(big.Rat)
	for _, c := range s.queue {
		sum.Add(sum, c.tokens)
	}
	return sum
}

// debt is what is missing at t, in tokens.
func (s *mixTokens) debt(t int64) *big.Rat {
	c := s.clone().(*mixTokens)
	c.drain(t)
	debt := c.sum()
	if t < s.last && debt.Sign() > 0 {
		ahead := new(big.Rat).SetInt64(s.last - t)
		debt.Add(debt, ahead.Quo(ahead, s.interval))
	}
	return debt
}

func (s *mixTokens) take(t int64, n, id int) {
	s.drain(t)
	s.queue = append(slices.Clone(s.queue), mixChunk{id, new(big.Rat).SetInt64(int64(n))})
}

func (s *mixTokens) free(t int64) int {
	free := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(s.burst)), s.debt(t))
	return max(0, int(floorDiv(free.Num(), free.Denom()).Int64()))
}

func (s *mixTokens) when(t int64, n int) int64 {
	missing := s.debt(t)
	missing.Add(missing, new(big.Rat).SetInt64(int64(n-s.burst)))
	if missing.Sign() <= 0 {
		return t
	}
	return t + ceilRat(missing.Mul(missing, s.interval)).Int64()
}

func (s *mixTokens) full(t int64) time.Duration {
	debt := s.debt(t)
	return time.Duration(ceilRat(debt.Mul(debt, s.interval)).Int64())
}

func (s *mixTokens) charge(t int64, n int) { s.take(t, n, -1) }

func (s *mixTokens) refund(t int64, n int) {
	s.drain(t)
	rest := new(big.Rat).SetInt64(int64(n))
	for i := len(s.queue) - 1; i >= 0; i-- {
		rest = s.shorten(i, rest)
	}
}

func (s *mixTokens) giveBack(t int64, id, n int) {
	s.drain(t)
	if i := slices.IndexFunc(s.queue, func(c mixChunk) bool { return c.id == id }); i >= 0 {
		s.shorten(i, new(big.Rat).SetInt64(int64(n)))
	}
}

// shorten takes up to n tokens off the end of a chunk, and returns the rest.
func (s *mixTokens) shorten(i int, n *big.Rat) *big.Rat {
	s.queue = slices.Clone(s.queue)
	was := s.queue[i].tokens
	if was.Cmp(n) >= 0 {
		s.queue[i].tokens = new(big.Rat).Sub(was, n)
		return new(big.Rat)
	}
	s.queue[i].tokens = new(big.Rat)
	return new(big.Rat).Sub(n, was)
}

func (s *mixTokens) carry(t int64, p weir.Policy) mixState {
	next := newMixState(p)
	s.drain(t)
	if is, ok := next.(*mixTokens); ok {
		is.last = t
		was := &plainTokens{burst: s.burst, interval: s.interval, last: bigInt(t)}
		was.level = new(big.Rat).Sub(new(big.Rat).SetInt64(int64(s.burst)), s.sum())
		if is.interval.Cmp(s.interval) == 0 && is.burst == s.burst {
			is.queue = s.queue
			return is
		}
		level := lawTokens(was, &plainTokens{burst: is.burst, interval: is.interval}, bigInt(t))
		is.queue = []mixChunk{{-1, level.Sub(new(big.Rat).SetInt64(int64(is.burst)), level)}}
		return is
	}
	if use := ceilRat(s.sum()); use.Sign() > 0 {
		log := next.(*mixLog)
		log.take(t, min(log.count, int(use.Int64())), -1)
	}
	return next
}

// mixLog is the list of what was taken, and when.
type mixLog struct {
	count  int
	period int64
	stamps []mixStamp
}

type mixStamp struct {
	at    int64
	n, id int
}

func (s *mixLog) clone() mixState {
	c := *s
	c.stamps = slices.Clone(s.stamps)
	return &c
}

func (s *mixLog) used(t int64) (used int) {
	for _, e := range s.stamps {
		if e.at > t-s.period {
			used += e.n
		}
	}
	return used
}

func (s *mixLog) take(t int64, n, id int) { s.stamps = append(s.stamps, mixStamp{t, n, id}) }

func (s *mixLog) free(t int64) int { return max(0, s.count-s.used(t)) }

func (s *mixLog) when(t int64, n int) int64 {
	at := []int64{t}
	for _, e := range s.stamps {
		if e.at+s.period > t {
			at = append(at, e.at+s.period)
		}
	}
	slices.Sort(at)
	return at[slices.IndexFunc(at, func(t int64) bool { return s.used(t)+n <= s.count })]
}

func (s *mixLog) full(t int64) time.Duration { return time.Duration(s.when(t, s.count) - t) }

func (s *mixLog) charge(t int64, n int) {
	s.take(t, min(n, s.count), -1)
	s.trim(t)
}

// trim pushes out the oldest of what is above the count after a charge.
func (s *mixLog) trim(t int64) {
	for i := range s.stamps {
		excess := s.used(t) - s.count
		if excess <= 0 {
			return
		}
		if s.stamps[i].at > t-s.period {
			s.stamps[i].n -= min(excess, s.stamps[i].n)
		}
	}
}

func (s *mixLog) refund(t int64, n int) {
	for i := range slices.Backward(s.stamps) {
		if s.stamps[i].at > t-s.period {
			back := min(n, s.stamps[i].n)
			s.stamps[i].n -= back
			n -= back
		}
	}
}

func (s *mixLog) giveBack(t int64, id, n int) {
	for i, e := range s.stamps {
		if e.id == id && e.at > t-s.period {
			s.stamps[i].n -= min(n, e.n)
		}
	}
}

func (s *mixLog) carry(t int64, p weir.Policy) mixState {
	next := newMixState(p)
	switch is := next.(type) {
	case *mixTokens:
		if used := s.used(t); used > 0 {
			is.take(t, min(used, is.burst), -1)
		}
	case *mixLog:
		if is.count == s.count && is.period == s.period {
			is.stamps = s.stamps
			return is
		}
		was := &plainLog{count: s.count, period: s.period}
		for _, e := range s.stamps {
			was.log = append(was.log, plainEntry{bigInt(e.at), e.n})
		}
		for _, e := range lawStamps(was, &plainLog{count: is.count, period: is.period}, bigInt(t)) {
			is.take(e.at.Int64(), e.n, -1)
		}
	}
	return next
}

// mixKey is a client of the model: what was taken, and beside it what is still to come.
type mixKey struct {
	policy  weir.Policy
	queue   int // of a leaky bucket; -1 for no bound
	state   mixState
	pending []mixStamp // by instant
}

func newMixKey(p weir.Policy, queue int) *mixKey {
	return &mixKey{policy: p, queue: queue, state: newMixState(p)}
}

// pass folds in what has come.
func (k *mixKey) pass(now int64) {
	for len(k.pending) > 0 && k.pending[0].at <= now {
		k.state.take(k.pending[0].at, k.pending[0].n, k.pending[0].id)
		if log, ok := k.state.(*mixLog); ok {
			log.trim(k.pending[0].at)
		}
		k.pending = k.pending[1:]
	}
}

// view is the state with what is pending in it.
func (k *mixKey) view() mixState {
	view := k.state.clone()
	for _, e := range k.pending {
		view.take(e.at, e.n, e.id)
	}
	return view
}

func (k *mixKey) take(now int64, n int) weir.Decision {
	k.pass(now)
	capacity := newPlainPolicy(k.policy).capacity
	view := k.view()
	d := weir.Decision{Policy: k.policy.Name(), Limit: capacity}
	switch {
	case n < 0 || n > capacity:
		d.RetryAfter = weir.Never
	case n > 0:
		d.RetryAfter = time.Duration(view.when(now, n) - now)
		if d.RetryAfter == 0 {
			k.state.take(now, n, -1)
			view = k.view()
		}
	}
	d.Allowed = d.RetryAfter == 0
	d.Remaining, d.ResetAfter = view.free(now), view.full(now)
	return d
}

// reserve returns the instant, or why there is none.
func (k *mixKey) reserve(now int64, n, id int, most time.Duration) (int64, error) {
	k.pass(now)
	if n < 0 || n > newPlainPolicy(k.policy).capacity {
		return 0, weir.ErrNever
	}
	if n == 0 {
		return now, nil
	}
	at := k.view().when(now, n)
	switch {
	case at == now:
		k.state.take(now, n, id)
	case k.queue >= 0 && len(k.pending) >= k.queue:
		return 0, weir.ErrQueueFull
	case time.Duration(at-now) > most:
		return 0, weir.ErrTooLong
	default:
		k.insert(mixStamp{at, n, id})
	}
	return at, nil
}

func (k *mixKey) insert(e mixStamp) {
	i, _ := slices.BinarySearchFunc(k.pending, e.at+1, func(e mixStamp, t int64) int { return cmp.Compare(e.at, t) })
	k.pending = slices.Insert(slices.Clone(k.pending), i, e)
}

// waiting is where in the list a reservation is, or -1.
func (k *mixKey) waiting(now int64, id int) int {
	k.pass(now)
	return slices.IndexFunc(k.pending, func(e mixStamp) bool { return e.id == id })
}

func (k *mixKey) cancel(now int64, id int) {
	if i := k.waiting(now, id); i >= 0 {
		k.pending = slices.Delete(slices.Clone(k.pending), i, i+1)
	}
}

// settle says that id cost actual and not n. What was carried meanwhile gives nothing back.
func (k *mixKey) settle(now int64, id, n, actual int, carried bool) {
	i := k.waiting(now, id)
	switch {
	case actual > n:
		k.state.charge(now, actual-n)
	case i >= 0 && actual == 0:
		k.cancel(now, id)
	case i >= 0:
		k.pending = slices.Clone(k.pending)
		k.pending[i].n = actual
	case !carried:
		k.state.giveBack(now, id, n-actual)
	}
}

// setPolicy returns the ids of those that no longer fit.
func (k *mixKey) setPolicy(now int64, p weir.Policy, queue int) (struck []int) {
	k.pass(now)
	if k.policy.Equal(p) {
		return nil
	}
	pending := k.pending
	k.policy, k.queue, k.state, k.pending = p, queue, k.state.carry(now, p), nil
	for _, e := range pending {
		if e.n > newPlainPolicy(p).capacity {
			struck = append(struck, e.id)
			continue
		}
		e.at = k.view().when(now, e.n)
		k.insert(e)
	}
	return struck
}
