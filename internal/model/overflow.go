package model

import (
	"math/big"
	"time"

	"github.com/goweir/weir"
)

// A seat is where a client is decided about, and what has to be done if it stays.
type seat[K comparable] struct {
	of         K
	key        *Key
	found      bool // it was held already
	passing    bool // it is not held, whatever comes
	fate       fate
	overflowed bool // it was not, and there was no room
	victim     victim[K]
}

// A fate is what becomes of a client.
type fate int

const (
	stays    fate = iota // in a place of its own
	replaces             // the victim
	shares               // the state of those who do not fit
	refused
)

// A victim is the client that could make room: the one of whose capacity the least
// is used.
type victim[K comparable] struct {
	among []K    // of several, one
	reset number // how long until it is full
}

// decided is the seat of a client that is decided about.
func (c *PerClient[K]) decided(key K, p weir.Policy) seat[K] {
	if constantly(p) && p.Equal(c.policy) {
		return seat[K]{of: key, key: NewKey(p), passing: true} // no state is looked for
	}
	return c.seat(key, p)
}

// seat finds the place of a client under a policy.
func (c *PerClient[K]) seat(key K, p weir.Policy) seat[K] {
	s := seat[K]{of: key, key: c.held[key], found: c.held[key] != nil}
	if s.found {
		return s
	}
	s.key, s.passing = c.fresh(key), constantly(p)
	if s.passing || !c.crowded() {
		return s
	}
	s.overflowed, s.victim = true, c.victim()
	switch full := s.victim.reset.Sign() == 0; {
	case c.Overflow == weir.ShareOverflow && (!full || c.owes()):
		s.fate, s.key = shares, c.share()
	case full || c.Overflow == weir.EvictFullest:
		s.fate = replaces
	default:
		s.fate = refused
	}
	return s
}

// sit holds a client that was charged, in the place of the victim if it takes that.
func (c *PerClient[K]) sit(s seat[K], charged bool) {
	if s.found || s.passing || s.fate == shares || !charged {
		return
	}
	if s.fate == replaces {
		c.forget(s.victim)
	}
	c.held[s.of] = s.key
}

// forget drops a client for another. What is reserved of it stays reserved, of
// nothing.
func (c *PerClient[K]) forget(v victim[K]) {
	of := v.among[0]
	if len(v.among) > 1 && c.Choose != nil {
		of = c.Choose(v.among)
	}
	k := c.held[of]
	delete(c.held, of)
	k.life.n++
	for _, e := range k.pending {
		e.by.stage = stageAbandoned
	}
	if c.drop(); v.reset.Sign() == 0 {
		c.counted.Evicted++
	}
}

// crowded reports whether a new client gets no place of its own for the asking:
// there are as many as there may be, or what those share who did not fit is owed
// for still, maybe by this one.
func (c *PerClient[K]) crowded() bool {
	return c.MaxClients > 0 && (len(c.held) >= c.MaxClients || c.Overflow == weir.ShareOverflow && c.owes())
}

// owes reports whether anything of the shared state is used.
func (c *PerClient[K]) owes() bool {
	now := c.shared.notice(c.reading())
	return len(c.shared.pending) > 0 || c.shared.tree.full(now).Sign() > 0
}

// share is the shared state for a client that has no place, decided no earlier than
// a key that was dropped.
func (c *PerClient[K]) share() *Key {
	if c.Sharing != nil {
		c.Sharing()
	}
	if k := c.shared; c.swept != nil && (k.newest == nil || less(k.newest, c.swept)) {
		k.newest = c.swept
	}
	return c.shared
}

// A rank says how much a client is used: the one with the least is forgotten.
type rank struct{ share, reset number }

// before reports whether one with this rank is forgotten sooner.
func (r rank) before(other rank) bool {
	return rankLess(r.share, other.share) || !rankLess(other.share, r.share) && less(r.reset, other.reset)
}

// rank is that of a key, and the one that it may seem to have at a late reading.
func (c *PerClient[K]) rank(k *Key) (is, seems rank) {
	now := k.notice(c.reading())
	is = rank{k.tree.share(now), k.tree.full(now)}
	if len(k.pending) > 0 {
		is = rank{plus(is.share, whole(2)), most(one, is.reset)}
	}
	if reading := whole(c.reading()); c.Late && less(reading, now) {
		return is, rank{k.tree.share(reading), k.tree.full(reading)}
	}
	return is, is
}

// victim looks at all clients, as weir does at up to eight. One that somebody waits
// for comes after all others.
func (c *PerClient[K]) victim() victim[K] {
	ranks := map[K]rank{}
	var first, least *rank
	for key, k := range c.held {
		is, seems := c.rank(k)
		ranks[key] = is
		if first == nil || is.before(*first) {
			first = &is
		}
		if least == nil || seems.before(*least) {
			least = &seems
		}
	}
	if first == nil {
		return victim[K]{reset: one} // there is no one
	}
	var among []K
	for key, r := range ranks {
		if !least.before(r) {
			among = append(among, key)
		}
	}
	return victim[K]{among, first.reset}
}

// rankLess is less for shares, which weir has as floats.
func rankLess(a, b number) bool {
	return less(plus(a, new(big.Rat).SetFrac64(1, 1<<50)), b)
}

// leastRetry is how long a client that is refused is told to wait at least.
const leastRetry = time.Millisecond

// denial is what a client is told that is refused, of the decision that it would
// have got: to come back when the victim is full.
func (s *seat[K]) denial(n int, d weir.Decision) weir.Decision {
	d.Remaining = 0
	if d.Allowed && n > 0 {
		d.Allowed, d.RetryAfter, d.ResetAfter = false, max(asDuration(s.victim.reset), leastRetry), 0
	}
	return d
}
