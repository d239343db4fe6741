package weir_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// Reservations that are cancelled before their instants never were: a program with them goes on as
// the one without, to the last field.
func TestMixCancelledReservationsNeverWere(t *testing.T) {
	for seed := range programs(600) {
		c := randomly(seed + 1<<30)
		p, keys := choosePolicy(c, 2), int(seed%3)
		with, without := newMixWorld(p, keys), newMixWorld(p, keys)
		leaves := newPlainPolicy(p).leaves()
		var mine, theirs []weir.Reservation
		var last weir.Decision
		var history []string
		for range 40 {
			key, n := int(c(int64(len(with.keys)))), chooseN(c, last, leaves)
			if c.oneIn(3) {
				history = append(history, mixCancelled(c, with, without, key, last, leaves)...)
			}
			o := mixOp{verb: pick(c, "Take", "Take", "Take", "Peek", "Advance", "Reserve", "Cancel", "Settle", "Charge", "Refund"), key: key, n: n}
			switch o.verb {
			case "Advance":
				now := int64(with.clock.Now())
				o.d = max(0, time.Duration(chooseReading(c, now, last, leaves, false)-now))
			case "Reserve":
				mine, theirs = append(mine, with.keys[key].Reserve(n)), append(theirs, without.keys[key].Reserve(n))
			case "Cancel", "Settle":
				if len(mine) == 0 {
					continue
				}
				i, actual := c(int64(len(mine))), int(c(4))
				for _, r := range []weir.Reservation{mine[i], theirs[i]} {
					if o.verb == "Cancel" {
						r.Cancel()
					} else {
						r.Settle(actual)
					}
				}
			}
			history = append(history, o.String())
			if o.verb != "Reserve" && o.verb != "Cancel" && o.verb != "Settle" {
				want := without.do(o)
				lawRequire(t, want, with.do(o), seed, append(history, p.String()))
				if o.verb != "Advance" {
					last = want
				}
			}
			for i := range mine {
				if mine[i].Delay() != theirs[i].Delay() || mine[i].Err() != theirs[i].Err() {
					t.Fatalf("seed %d, %v:\n%s\nreceipt %d: %d, not %d", seed, p, strings.Join(history, "\n"), i, mine[i].Delay(), theirs[i].Delay())
				}
			}
		}
	}
}

// mixCancelled makes a few reservations that have to wait, lets some time go by, and cancels them.
func mixCancelled(c choose, with, without *mixWorld, key int, last weir.Decision, leaves []*plainPolicy) (history []string) {
	var made []weir.Reservation
	soonest := weir.Never
	for range 1 + c(4) {
		n := chooseN(c, last, leaves)
		if n <= 0 || with.keys[key].Peek(n).Allowed {
			continue
		}
		r := with.keys[key].Reserve(n)
		soonest = min(soonest, r.Delay())
		made = append(made, r)
		history = append(history, fmt.Sprintf("  reserve %d of key %d: in %d, %v", n, key, r.Delay(), r.Err()))
	}
	if soonest > 0 && soonest < weir.Never && c.oneIn(2) {
		d := time.Duration(c(int64(soonest)))
		with.clock.Advance(d)
		without.clock.Advance(d)
		history = append(history, fmt.Sprintf("  %d go by", d))
	}
	rand.New(rand.NewPCG(uint64(c(1<<40)), 3)).Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
	for _, r := range made {
		r.Cancel()
	}
	return append(history, fmt.Sprintf("  %d cancelled", len(made)))
}

// mixLeaf draws a policy that there is a model of, and its queue.
func mixLeaf(c choose) (weir.Policy, int) {
	l := weir.Per(1+int(c(12)), pick(c, time.Second, 10*time.Second, 13*time.Second, 7*time.Millisecond, 997, time.Hour))
	switch c(5) {
	case 0, 1:
		return weir.TokenBucket(l.WithBurst(1 + int(c(15)))), -1
	case 2:
		queue := int(c(5))
		return weir.LeakyBucket(l, queue), queue
	}
	return weir.SlidingWindow(l), -1
}

// mixReceipt is a reservation of the model's, and those of a limiter and a client.
type mixReceipt struct {
	made      []weir.Reservation
	under     weir.Policy
	n         int
	at        int64
	err       error
	spent     bool // cancelled or settled
	spoiled   bool // not to be settled
	carried   bool
	cancelled bool
}

// mixPair is a limiter and a client, and what should become of them.
type mixPair struct {
	clock    *weir.ManualClock
	subjects []mixVerbs
	clients  *weir.PerClient[int]
	key      *mixKey
	receipts []*mixReceipt
	last     weir.Decision
	stats    weir.Stats
	history  []string
}

func (m *mixPair) now() int64 { return int64(m.clock.Now()) }

func (m *mixPair) each(f func(mixVerbs)) {
	for _, s := range m.subjects {
		f(s)
	}
}

func (m *mixPair) require(t *testing.T, want any, got func(mixVerbs) any) {
	t.Helper()
	for _, s := range m.subjects {
		if got := got(s); got != want {
			t.Fatalf("%T is not the model, %v\nmodel: %+v\nis:    %+v\n%s", s, m.key.policy, want, got, strings.Join(m.history, "\n"))
		}
	}
}

func (m *mixPair) advance(c choose) {
	d := pick(c, m.last.RetryAfter, m.last.ResetAfter, time.Duration(c(int64(time.Second))), time.Duration(c(int64(m.last.ResetAfter)+2)))
	if len(m.receipts) > 0 && c.oneIn(2) {
		d = time.Duration(max(0, m.receipts[c(int64(len(m.receipts)))].at-m.now()))
	}
	if d > time.Hour*100 {
		d = 1
	}
	d = max(0, d+time.Duration(c(3)-1))
	m.clock.Advance(d)
	m.history = append(m.history, fmt.Sprintf("%d later", d))
}

func (m *mixPair) take(t *testing.T, n int) {
	want := m.key.take(m.now(), n)
	m.history = append(m.history, fmt.Sprintf("take %d: %+v", n, want))
	m.last = want
	m.count(n, want.Allowed)
	m.require(t, want, func(s mixVerbs) any { return s.Take(n) })
}

func (m *mixPair) count(n int, ok bool) {
	switch {
	case n == 0:
	case ok:
		m.stats.Allowed++
	case n > 0:
		m.stats.Denied++
	}
}

func (m *mixPair) reserve(c choose, n int) {
	most := pick(c, 40*365*24*time.Hour, 40*365*24*time.Hour, m.last.ResetAfter/2)
	r := &mixReceipt{n: n, under: m.key.policy}
	r.at, r.err = m.key.reserve(m.now(), n, len(m.receipts), most)
	m.count(n, r.err == nil)
	m.each(func(s mixVerbs) { r.made = append(r.made, s.ReserveWithin(n, most)) })
	m.history = append(m.history, fmt.Sprintf("receipt %d: reserve %d within %d: at %d, %v", len(m.receipts), n, most, r.at, r.err))
	m.receipts = append(m.receipts, r)
}

func (m *mixPair) cancel(i int64) {
	r := m.receipts[i]
	m.history = append(m.history, fmt.Sprintf("cancel receipt %d", i))
	if r.err == nil && !r.spent && m.key.waiting(m.now(), int(i)) >= 0 {
		m.key.cancel(m.now(), int(i))
		r.cancelled, r.spent = true, true
	}
	for _, made := range r.made {
		made.Cancel()
	}
}

func (m *mixPair) settle(i int64, actual int) {
	r := m.receipts[i]
	if !r.spent && (r.spoiled || r.carried && actual <= r.n && (r.at > m.now() || r.under.Equal(m.key.policy))) {
		return // what should come of it is not said
	}
	m.history = append(m.history, fmt.Sprintf("settle receipt %d at %d", i, actual))
	if r.err == nil && !r.spent {
		if actual > r.n {
			m.spoil()
		}
		r.cancelled = r.cancelled || r.at > m.now() && actual <= 0
		m.key.settle(m.now(), int(i), r.n, max(0, actual), r.carried)
	}
	r.spent = true
	for _, made := range r.made {
		made.Settle(actual)
	}
}

// spoil has no receipt of a log settled any more of which others may have given back something: which
// of what was taken at one instant that was is not said.
func (m *mixPair) spoil() {
	if _, log := m.key.state.(*mixLog); log {
		for _, r := range m.receipts {
			r.spoiled = true
		}
	}
}

func (m *mixPair) setPolicy(t *testing.T, p weir.Policy, queue int) {
	m.history = append(m.history, fmt.Sprintf("set policy %v", p))
	if !p.Equal(m.key.policy) {
		for _, r := range m.receipts {
			r.carried = true
		}
	}
	for _, id := range m.key.setPolicy(m.now(), p, queue) {
		m.receipts[id].err = weir.ErrNever
	}
	for _, e := range m.key.pending {
		m.receipts[e.id].at = e.at
	}
	m.each(func(s mixVerbs) { require.NoError(t, s.SetPolicy(p)) })
}

func (m *mixPair) check(t *testing.T) {
	t.Helper()
	for _, n := range []int{0, 1} {
		copied := *m.key
		copied.state, copied.pending = m.key.state.clone(), slices.Clone(m.key.pending)
		m.require(t, copied.take(m.now(), n), func(s mixVerbs) any { return s.Peek(n) })
	}
	for i, r := range m.receipts {
		delay := time.Duration(max(0, r.at-m.now()))
		if r.err != nil {
			delay = weir.Never
		}
		if r.spent && r.carried {
			continue // what was settled is not followed into another policy
		}
		for k, made := range r.made {
			if got := made.Delay(); got != delay && !r.cancelled || made.Err() != r.err || made.OK() != (r.err == nil) {
				t.Fatalf("receipt %d of %T: delay %d, not %d, %v, not %v\n%s", i, m.subjects[k], got, delay, made.Err(), r.err, strings.Join(m.history, "\n"))
			}
		}
	}
	m.key.pass(m.now())
	m.stats.Waiting = len(m.key.pending)
	if got := m.subjects[0].Stats(); got != m.stats {
		t.Fatalf("%+v, not %+v\n%s", got, m.stats, strings.Join(m.history, "\n"))
	}
}

// A limiter, and a client beside one that is asked now and then, do what the models do, to the last
// field of each decision.
func TestMixDecidesAsTheModels(t *testing.T) {
	for seed := range programs(800) {
		c := randomly(seed + 1<<40)
		p, queue := mixLeaf(c)
		m := &mixPair{clock: weir.NewManualClock(), key: newMixKey(p, queue), history: []string{fmt.Sprint("seed ", seed, ", ", p)}}
		m.clients = lawClients[int](t, seed, p, m.clock)
		m.subjects = []mixVerbs{mixLimiter{weir.New(p, weir.WithClock(m.clock))}, mixClient{m.clients, 0}}
		changes := c.oneIn(2)
		for range 60 {
			n, receipts := int(c(8)), int64(len(m.receipts))
			if c.oneIn(8) {
				n = m.last.Remaining + int(c(2))
			}
			switch k := c(24); {
			case k < 6:
				m.advance(c)
			case k < 10:
				m.take(t, n)
			case k < 15:
				m.reserve(c, n)
			case k < 17 && receipts > 0:
				m.cancel(c(receipts))
			case k < 20 && receipts > 0:
				m.settle(c(receipts), int(c(9))-1)
			case k == 20 && c.oneIn(2):
				m.history = append(m.history, fmt.Sprintf("charge %d", n))
				m.spoil()
				m.key.pass(m.now())
				m.key.state.charge(m.now(), n)
				m.each(func(s mixVerbs) { s.Charge(n) })
			case k == 21 && c.oneIn(2):
				m.history = append(m.history, fmt.Sprintf("refund %d", n))
				m.key.pass(m.now())
				m.key.state.refund(m.now(), n)
				for _, r := range m.receipts {
					r.spoiled = true
				}
				m.each(func(s mixVerbs) { s.Refund(n) })
			case k == 22 && changes:
				p, queue := mixLeaf(c)
				m.setPolicy(t, p, queue)
			case k == 23:
				m.clients.Sweep()
				m.clients.AllowN(1, n)
			}
			m.check(t)
		}
	}
}

// Goroutines take, reserve, cancel and settle at one instant: what they had in the end and what is left
// are the capacity. If the policy changes meanwhile, receipts may give back less, never more.
func TestMixUnderLoadKeepsCount(t *testing.T) {
	const keys, rounds = 10, 600
	for _, changes := range []bool{false, true} {
		for i, p := range lawTwenties() {
			clock := weir.NewManualClock()
			clock.Advance(20 * time.Hour)
			clients := newClients[int](t, p, clock)
			var had [keys]atomic.Int64
			var changed atomic.Int64
			stop := make(chan struct{})
			var reloads sync.WaitGroup
			if changes {
				reloads.Go(func() { lawReload(t, clients.SetPolicy, lawTwenties(), true, &changed, stop) })
			}
			together(8, func(g int) {
				random := rand.New(rand.NewPCG(uint64(g), uint64(i)))
				for range rounds {
					key, n := random.IntN(keys), 1+random.IntN(4)
					switch verb := random.IntN(4); {
					case verb == 0 && changes:
						if clients.TakeAs(key, n, weir.SlidingWindow(weir.PerDay(20))).Allowed {
							had[key].Add(int64(n))
						}
					case verb <= 1:
						if clients.AllowN(key, n) {
							had[key].Add(int64(n))
						}
					default:
						r := clients.Reserve(key, n)
						if !r.OK() || r.Delay() > 0 {
							r.Cancel()
							break
						}
						actual := random.IntN(n + 1)
						r.Settle(actual)
						had[key].Add(int64(actual))
					}
				}
			})
			close(stop)
			reloads.Wait()
			for key := range keys {
				if left := 20 - int(had[key].Load()); changes {
					require.LessOrEqual(t, clients.Tokens(key), left, "%v", p)
				} else {
					require.Equal(t, left, clients.Tokens(key), "%v", p)
				}
			}
			require.Zero(t, clients.Stats().Waiting)
		}
	}
}
