package model

import (
	"time"

	"github.com/goweir/weir"
)

// A PerClient is the model of weir.PerClient with states that are side by side
// in one shard, as they are with a WithMaxClients below 1024: where the others are
// matters only for when a key is decided that is not held, after the clock has
// stepped back.
type PerClient[K comparable] struct {
	Options
	// Choose is asked which of several clients is forgotten of which the least is
	// used, if there is more than one.
	Choose func(among []K) K
	// Late says that who is forgotten may be looked for at a reading before the
	// instants at which some of them were charged, as it is: a word of weir's does
	// not know its newest instant.
	Late bool
	// Sharing, if not nil, is called when a client is found to have no place: where
	// the clock never steps back, weir reads it again for the shared state.
	Sharing func()

	policy  weir.Policy
	held    map[K]*Key
	lives   map[K]*life
	swept   number // the newest reading at which a key was dropped; nil for none
	shared  *Key   // by those who do not fit, with ShareOverflow
	changes int
	// sharedChanges is changes as the shared state knows it.
	sharedChanges int
	counted       weir.Stats
}

// NewPerClient returns a PerClient that holds nobody.
func NewPerClient[K comparable](p weir.Policy, o Options) *PerClient[K] {
	return &PerClient[K]{Options: o, policy: p, held: map[K]*Key{}, lives: map[K]*life{}, shared: NewKey(p)}
}

// fresh is the state of a key that is not held: it is decided no earlier than the
// newest reading at which another was dropped, as it might be that one.
func (c *PerClient[K]) fresh(key K) *Key {
	if c.lives[key] == nil {
		c.lives[key] = new(life)
	}
	k := newKey(c.policy, c.lives[key])
	k.newest = c.swept
	return k
}

// Take is weir's.
func (c *PerClient[K]) Take(key K, n int) weir.Decision { return c.TakeAs(key, n, c.policy) }

// TakeAs is weir's, for a valid policy.
func (c *PerClient[K]) TakeAs(key K, n int, p weir.Policy) weir.Decision {
	var d weir.Decision
	s := c.decided(key, p)
	c.countOverflow(s, n)
	switch s.fate {
	case refused:
		d = s.denial(n, s.key.PeekAs(c.reading(), n, p))
	case shares:
		d = s.key.Take(c.reading(), n)
	default:
		d = s.key.TakeAs(c.reading(), n, p)
		c.sit(s, d.Allowed && n > 0)
	}
	count(&c.counted, n, d.Allowed, c.Shadow)
	return c.verdict(d)
}

// countOverflow counts a decision about a new client that there was no room for.
func (c *PerClient[K]) countOverflow(s seat[K], n int) {
	if s.overflowed && n > 0 {
		c.counted.Overflowed++
	}
}

// remember has a key remember that it was denied n.
func (c *PerClient[K]) remember(key K, n int) {
	if k := c.held[key]; k != nil {
		k.TakeAs(c.reading(), n, c.policy)
	}
}

// Peek is weir's.
func (c *PerClient[K]) Peek(key K, n int) weir.Decision {
	s := c.decided(key, c.policy)
	d := s.key.PeekAs(c.reading(), n, c.policy)
	if s.fate == refused {
		d = s.denial(n, d)
	}
	return c.verdict(d)
}

// Reserve is weir's ReserveWithin.
func (c *PerClient[K]) Reserve(key K, n int, within time.Duration) *Reservation {
	s := c.seat(key, c.policy)
	c.countOverflow(s, n)
	if s.fate == refused && n > 0 && !less(capacity(c.policy), whole(n)) {
		count(&c.counted, n, false, c.Shadow)
		if c.Shadow {
			return &Reservation{keeper: client[K]{c, key}, n: n, stage: stageSpent}
		}
		return &Reservation{n: n, err: weir.ErrQueueFull}
	}
	var k keeper = client[K]{c, key}
	if s.fate == shares && n > 0 { // of nothing, nothing is anybody's yet
		k = sharing[K]{c}
	}
	r := c.reserve(&c.counted, s.key, k, n, within, c.policy)
	c.sit(s, r.stage == stageTaken && n > 0)
	return r
}

// Charge is weir's.
func (c *PerClient[K]) Charge(key K, n int) {
	if n <= 0 {
		return
	}
	if s := c.seat(key, c.policy); s.fate != refused {
		s.key.Charge(c.reading(), n)
		c.sit(s, capacity(c.policy).Sign() > 0)
	}
}

// Refund is weir's.
func (c *PerClient[K]) Refund(key K, n int) {
	switch {
	case n <= 0:
	case c.held[key] != nil:
		c.held[key].Refund(c.reading(), n)
	case c.MaxClients > 0 && c.Overflow == weir.ShareOverflow && c.crowded():
		c.share().Refund(c.reading(), n)
	}
}

// Reset is weir's.
func (c *PerClient[K]) Reset(key K) {
	if k := c.held[key]; k != nil {
		k.Reset(c.reading())
		if k.newest == nil && len(k.pending) == 0 {
			delete(c.held, key)
		}
	}
}

// Policy is the one in force.
func (c *PerClient[K]) Policy() weir.Policy { return c.policy }

// SetShared is the first step of SetPolicy, to which it makes no difference if it
// was done before. The shared state is brought to a policy, at an instant of its
// own, while all others are still under the last one.
func (c *PerClient[K]) SetShared(p weir.Policy) {
	was := c.shared.Policy()
	if was.Equal(p) {
		return
	}
	if !alike(was, p) {
		c.sharedChanges++
	}
	c.shared.carry(p, c.shared.notice(c.reading()))
}

// SetPolicy is weir's, for a valid policy. Keys under a policy of their own keep
// that.
func (c *PerClient[K]) SetPolicy(p weir.Policy) {
	was := c.policy
	if was.Equal(p) {
		return
	}
	c.SetShared(p)
	if !alike(was, p) {
		c.changes++
	}
	c.policy = p
	for _, k := range c.held {
		if !k.Policy().Equal(was) {
			continue
		}
		now := k.notice(c.reading())
		k.carry(p, now)
		k.newest = now
		if k.tree.full(now).Sign() == 0 {
			k.linger()
		}
	}
}

// Sweep is weir's.
func (c *PerClient[K]) Sweep() (evicted int) {
	for key, k := range c.held {
		if k.stale(c.reading(), c.StaleAfter) {
			delete(c.held, key)
			evicted++
		}
	}
	if evicted > 0 {
		c.drop()
	}
	c.counted.Evicted += uint64(evicted)
	return evicted
}

// Lingers reports whether it is open if a key that is full is held: Sweep's answer is
// then a bound, and so are Len and what Stats count of it.
func (c *PerClient[K]) Lingers() bool {
	then := minus(whole(c.reading()), whole(c.StaleAfter))
	for _, k := range c.held {
		if k.lingers != nil && less(then, k.lingers) {
			return true
		}
	}
	return false
}

// drop notes that a key was dropped.
func (c *PerClient[K]) drop() {
	if reading := whole(c.reading()); c.swept == nil || less(c.swept, reading) {
		c.swept = reading
	}
}

// Len is how many clients are held.
func (c *PerClient[K]) Len() int { return len(c.held) }

// Stats is weir's.
func (c *PerClient[K]) Stats() weir.Stats {
	s := c.counted
	s.Clients = len(c.held)
	s.Waiting = c.shared.waiting(c.reading())
	for _, k := range c.held {
		s.Waiting += k.waiting(c.reading())
	}
	return s
}

// A client keeps what a key has reserved.
type client[K comparable] struct {
	*PerClient[K]
	of K
}

func (c client[K]) now() int64   { return c.reading() }
func (c client[K]) key() *Key    { return c.held[c.of] }
func (c client[K]) charge(n int) { c.Charge(c.of, n) }
func (c client[K]) era() int     { return c.changes }

// A sharing keeps what is reserved of the state that clients share.
type sharing[K comparable] struct{ *PerClient[K] }

func (c sharing[K]) now() int64   { return c.reading() }
func (c sharing[K]) key() *Key    { return c.shared }
func (c sharing[K]) charge(n int) { c.shared.Charge(c.reading(), n) }
func (c sharing[K]) era() int     { return c.sharedChanges }
