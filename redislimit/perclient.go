package redislimit

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/redis/go-redis/v9"
)

// A PerClient is one policy and a state per key in a store that several processes
// share. It is safe for concurrent use. Its methods return the error of a store
// that did not decide, or did not answer within WithTimeout or ctx: an error is
// never a denial, and names no client.
type PerClient struct {
	options
	store    Store
	keys     namespace
	breakers breakers
	plan     atomic.Pointer[plan]
	known    *knowledge
	batches  *batches
	denials  *denials // nil without WithDenyCache
	leases   *leases  // nil without WithLease
	local    fallbacks
	lines    lines
	counted  stats
	took     atomic.Int64 // by the store's last answer, in nanoseconds
	setting  sync.Mutex   // SetPolicy, one at a time

	at string // in tests, the instant that counts; otherwise the server's
}

// New returns a PerClient that keeps its states where a client of go-redis says, a
// *redis.Client, *redis.ClusterClient or *redis.Ring of Redis 7 or later, or Valkey. It
// panics, as weir.NewPerClient does, on an invalid policy, and on one with a count or
// burst above 2^40, or a window of more than 52 days that is not whole
// microseconds; and on a nil client. Set ContextTimeoutEnabled in the client's options: else each
// decision needs a goroutine to keep to its time, of at most 1024. Even so go-redis
// sees a context's deadline, and not that it is canceled before.
func New(client redis.UniversalClient, p weir.Policy, opts ...Option) *PerClient {
	if isNil(client) {
		panic("redislimit: New needs a client of Redis, and it is nil")
	}
	return NewWith(newGoRedis(client), p, opts...)
}

// NewWith is New for another client library.
func NewWith(store Store, p weir.Policy, opts ...Option) *PerClient {
	if isNil(store) {
		panic("redislimit: NewWith needs a Store, and it is nil")
	}
	c := &PerClient{options: newOptions(opts), store: store, known: newKnowledge()}
	if c.fallback.isShare() {
		c.local.share = fraction(float64(c.fallback))
	}
	first, err := c.local.plan(p)
	if err != nil {
		panic(err.Error())
	}
	if c.keys, err = newNamespace(c.prefix); err != nil {
		panic(err.Error())
	}
	c.plan.Store(first)
	one, ok := store.(Colocator)
	if together := c.keys.tagged || ok && one.Colocated(); together {
		c.batches, c.breakers = newBatches(c, true), newBreakers(1)
	} else {
		c.batches, c.breakers = newBatches(c, false), newBreakers(clusterParts)
	}
	if c.denyCache > 0 {
		c.denials = newDenials(c.denyCache)
	}
	if c.lease > 0 {
		c.leases = newLeases(c)
	}
	return c
}

func isNil(it any) bool {
	v := reflect.ValueOf(it)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Allow reports whether one of key's may go on now, and consumes it.
func (c *PerClient) Allow(ctx context.Context, key string) (bool, error) {
	return c.AllowN(ctx, key, 1)
}

// AllowN is Allow for n at once, all or nothing.
func (c *PerClient) AllowN(ctx context.Context, key string, n int) (bool, error) {
	d, err := c.Take(ctx, key, n)
	return d.Allowed, err
}

// Take consumes n of key's, or nothing, and says more about it.
func (c *PerClient) Take(ctx context.Context, key string, n int) (weir.Decision, error) {
	return c.take(ctx, key, n, c.plan.Load())
}

// TakeAs is Take under a policy of the key's own: a plan, or an exception. Make the
// policies once: each new one is hashed, if it is equal to another, too. A key brings with
// it what it has used under another. Once a request under another policy than that
// was denied, it is admitted when it was said to, unless it was denied under a third
// meanwhile. The error is also that of a policy that New would panic on.
func (c *PerClient) TakeAs(ctx context.Context, key string, n int, p weir.Policy) (weir.Decision, error) {
	pl := c.plan.Load()
	if p != pl.policy {
		var err error
		if pl, err = c.known.plan(c, p); err != nil {
			return weir.Decision{}, err
		}
	}
	return c.take(ctx, key, n, pl)
}

func (c *PerClient) take(ctx context.Context, key string, n int, pl *plan) (weir.Decision, error) {
	if n <= 0 {
		return c.peek(ctx, key, n, pl)
	}
	if err := ctx.Err(); err != nil {
		return weir.Decision{}, c.failed(&abandoned{error: err})
	}
	leased := c.leases != nil && n <= c.lease && pl == c.plan.Load()
	if leased {
		if d, ok := c.leases.spend(key, n, pl); ok {
			c.counted.local.Add(1)
			return c.verdict(n, d), nil
		}
	}
	if c.denials != nil {
		if d, ok := c.denials.find(key, n, pl); ok {
			c.counted.local.Add(1)
			return c.verdict(n, c.leases.with(key, pl, d)), nil
		}
	}
	if leased {
		return c.leases.take(ctx, key, n, pl)
	}
	d, err := c.ask(ctx, key, n, pl)
	if err == nil && !d.Fallback {
		d = c.leases.with(key, pl, d)
	}
	return d, err
}

// ask has the store take n, or who stands in for it.
func (c *PerClient) ask(ctx context.Context, key string, n int, pl *plan) (weir.Decision, error) {
	d, _, err := c.answer(ctx, key, n, 0, 0, pl)
	if err != nil {
		return d, err
	}
	return c.verdict(n, d), nil
}

// answer has the store take what is missing of n, or of want if there are so many, and
// returns how many it took: none where something else decided.
func (c *PerClient) answer(ctx context.Context, key string, n, had, want int, pl *plan) (weir.Decision, int, error) {
	asked := c.denials.ask(key)
	d, taken, err := c.decide(ctx, "take", key, n-had, max(0, want-had), pl)
	if err != nil {
		d, err = c.local.decide(c, key, n, pl, err)
		return d, 0, err
	}
	c.denials.add(key, n, pl, d, asked)
	return d, taken, nil
}

// verdict counts a decision, and lets it pass in shadow.
func (c *PerClient) verdict(n int, d weir.Decision) weir.Decision {
	if n > 0 && d.Fallback {
		c.counted.fallback.Add(1)
	}
	switch {
	case n <= 0:
	case d.Allowed:
		c.counted.allowed.Add(1)
	default:
		c.counted.denied.Add(1)
		if c.shadow {
			c.counted.shadowed.Add(1)
		}
	}
	if c.shadow && !d.Allowed {
		d.Allowed, d.Shadowed = true, true
	}
	return d
}

// Peek says what Take would. It consumes and counts nothing.
func (c *PerClient) Peek(ctx context.Context, key string, n int) (weir.Decision, error) {
	return c.peek(ctx, key, n, c.plan.Load())
}

func (c *PerClient) peek(ctx context.Context, key string, n int, pl *plan) (weir.Decision, error) {
	leased, had := c.leases.look(key, n, pl)
	if leased.Allowed {
		return c.verdict(0, leased), nil
	}
	missing := n
	if 0 < n && n <= c.lease {
		missing = n - had
	}
	d, _, err := c.decide(ctx, "peek", key, missing, 0, pl)
	if err != nil {
		if d, err = c.local.look(c, key, n, pl, err); err != nil {
			return d, err
		}
		return c.verdict(0, d), nil
	}
	if d.Allowed {
		had -= n - missing
	}
	return c.verdict(0, plus(d, had)), nil
}

// Refund gives back up to n of what key consumed last, never above full. A negative
// n is ignored. Do not give back what a Decision with Fallback admitted: nothing of
// that was consumed in the store.
func (c *PerClient) Refund(ctx context.Context, key string, n int) error {
	if n <= 0 {
		return nil
	}
	_, _, err := c.decide(ctx, "refund", key, n, 0, c.plan.Load())
	c.denials.forget(key)
	return err
}

// Reset forgets key, and what it has leased here.
func (c *PerClient) Reset(ctx context.Context, key string) error {
	if c.leases != nil {
		c.leases.forget(key)
	}
	within, cancel := c.within(ctx)
	defer cancel()
	_, err := c.run(within, library, []string{c.keys.state(key)}, []string{"", "", "", "reset"})
	c.denials.forget(key)
	return err
}

// Policy returns the policy in force.
func (c *PerClient) Policy() weir.Policy { return c.plan.Load().policy }

// SetPolicy puts another policy in force, here: other processes go on under theirs,
// and a key is brought from one to the other, with what it has used, as it is asked
// about. The error is that of a policy on which New would panic; then nothing
// changes.
func (c *PerClient) SetPolicy(p weir.Policy) error {
	c.setting.Lock()
	defer c.setting.Unlock()
	if p.Equal(c.Policy()) {
		return nil
	}
	next, err := c.local.plan(p)
	if err != nil {
		return err
	}
	c.plan.Store(next)
	c.local.setPolicy(next)
	return nil
}

// Close gives back what is leased, 32 at once, and returns the first error. Each takes
// WithTimeout at most, and next to nothing once the store is known not to answer.
// Decisions work after it, without leases.
func (c *PerClient) Close() error {
	if c.leases == nil {
		return nil
	}
	return c.leases.close()
}

// decide calls the function, and tells it the policies that it asks for.
func (c *PerClient) decide(ctx context.Context, verb, key string, n, want int, pl *plan) (weir.Decision, int, error) {
	within, cancel := c.within(ctx)
	defer cancel()
	c.known.tell(within, c, pl)
	state, called := c.keys.state(key), library
	if verb == "take" && want == 0 && pl.buckets && n <= pl.capacity {
		d, ok, err := c.batches.take(within, state, n, pl)
		switch {
		case err != nil:
			return weir.Decision{}, 0, err
		case ok && d.Allowed:
			return d, n, nil
		case ok:
			return d, 0, nil
		}
	}
	if verb == "refund" {
		called = giving
	}
	var before *plan
	for told, tries := false, 0; tries < 8; tries++ { // others may bring it from one to another meanwhile
		keys, args := c.call(verb, state, n, want, pl, before, told)
		reply, err := c.run(within, called, keys, args)
		switch {
		case err != nil:
			return weir.Decision{}, 0, err
		case pl.decided(reply.Numbers):
			d, taken := pl.decision(reply.Numbers)
			return d, taken, nil
		case verb == "refund" && reply.is(1):
			return weir.Decision{}, 0, nil
		case reply.untold():
			told = true
			c.known.lost(pl)
			continue
		case !reply.is(2):
			return weir.Decision{}, 0, fmt.Errorf("redislimit: the function answered %v", reply)
		}
		if before, err = c.known.find(within, c, reply.Text); err != nil {
			return weir.Decision{}, 0, err
		}
		if told = before.unknown(); verb == "refund" { // under its own, whatever that is
			if told {
				return weir.Decision{}, 0, nil
			}
			pl, before = before, nil
		}
	}
	return weir.Decision{}, 0, fmt.Errorf("redislimit: %s*: a client is under another policy each time", c.prefix)
}

// call returns what the function is called with.
func (c *PerClient) call(verb, state string, n, want int, pl, before *plan, told bool) (keys, args []string) {
	number := strconv.FormatInt(min(int64(n), mostAsked), 10)
	args = append(make([]string, 0, 16), pl.id, number, c.at, verb, strconv.Itoa(want), "")
	if told {
		args = append(args, pl.words...)
	}
	if before == nil {
		return c.keys.keys(state, pl.logs), args
	}
	args[5] = before.id
	if told {
		args = append(args, before.words...)
	}
	return append(c.keys.keys(state, max(pl.logs, before.logs)), c.keys.beside(state, "?")), args
}

// mostAsked stands for any n above all capacities but that of no limit.
const mostAsked = 1 << 53

// decided reports whether numbers are a decision, and not what an odd store answers.
func (pl *plan) decided(r []int64) bool {
	return len(r) == 6 && (r[0] == 0 || r[0] == 1) && r[1] >= -1 && r[2] >= -1 &&
		1 <= r[3] && r[3] <= int64(len(pl.leaves)) && r[4] >= 0 && r[5] >= 0
}

// decision is what the function's numbers say.
func (pl *plan) decision(r []int64) (d weir.Decision, taken int) {
	leaf := pl.leaves[r[3]-1]
	d = weir.Decision{
		Allowed:    r[0] == 1,
		Remaining:  int(r[1]),
		RetryAfter: time.Duration(r[2]) * time.Microsecond,
		Policy:     leaf.name,
		Limit:      leaf.limit,
		ResetAfter: time.Duration(r[4]) * time.Microsecond,
	}
	if r[1] < 0 {
		d.Remaining = math.MaxInt
	}
	if r[2] < 0 {
		d.RetryAfter = weir.Never
	}
	return d, int(r[5])
}
