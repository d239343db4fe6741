package redislimit

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// denials remembers, of at least so many clients, what was denied last.
//
//	found(key, n, t)  =>  the store denied (key, n) at some u, t < u + RetryAfter,
//	                      and nothing was given back here since
//
// Of a key it knows a hash of 64 bits, with a secret seed, as memory does.
type denials struct {
	seed   maphash.Seed
	start  time.Time
	shards []denialShard
	most   int // in a generation of a shard
}

// A denialShard has two generations: once the young one is full it becomes the old
// one, and what that had is forgotten. Who only looks writes nothing.
type denialShard struct {
	mu         sync.RWMutex
	young, old denialTable
	held       int    // in the young one
	given      uint64 // how often anything was given back
	_          [64]byte
}

// A denialTable is open-addressed, and has a free place.
type denialTable []denial

// A denial is a cache line: of what it takes to find one of many, most is to wait for
// memory.
type denial struct {
	hash, plan   uint64 // hash is 0 where the place is free
	leaf         int64
	n, remaining int64
	retry, full  time.Duration // when, since start
	_            uint64
}

// find returns the denial of a hash, or zero.
func (t denialTable) find(hash uint64) (d denial) {
	if len(t) > 0 {
		d = *t.place(hash)
	}
	return d
}

// place returns where a hash is, or would be. The table is not empty.
func (t denialTable) place(hash uint64) *denial {
	i, _ := bits.Mul64(hash, uint64(len(t)))
	for t[i].hash != hash && t[i].hash != 0 {
		if i++; i == uint64(len(t)) {
			i = 0
		}
	}
	return &t[i]
}

// grown returns a copy with twice as many places, and at most so many.
func (t denialTable) grown(most int) denialTable {
	larger := make(denialTable, min(2*len(t)+4, most))
	for _, d := range t {
		if d.hash != 0 {
			*larger.place(d.hash) = d
		}
	}
	return larger
}

// asked is when a question began.
type asked struct {
	at    time.Duration // since start
	given uint64
}

func newDenials(clients int) *denials {
	shards := 1
	for shards < 64 && clients/(2*shards) >= 64 {
		shards *= 2
	}
	d := &denials{seed: maphash.MakeSeed(), start: time.Now(), shards: make([]denialShard, shards), most: clients / shards}
	if shards > 1 {
		d.most += d.most / 4 // not all have as many
	}
	return d
}

func (d *denials) shard(key string) (s *denialShard, hash uint64) {
	hash = max(1, maphash.String(d.seed, key))
	return &d.shards[hash&uint64(len(d.shards)-1)], hash
}

func (d *denials) find(key string, n int, pl *plan) (weir.Decision, bool) {
	s, hash := d.shard(key)
	s.mu.RLock()
	last := s.young.find(hash)
	if last.hash == 0 {
		last = s.old.find(hash)
	}
	s.mu.RUnlock()
	if last.n != int64(n) || last.plan != pl.number {
		return weir.Decision{}, false
	}
	now := time.Since(d.start)
	if now >= last.retry {
		return weir.Decision{}, false
	}
	leaf := pl.leaves[last.leaf]
	return weir.Decision{
		Remaining:  int(last.remaining),
		RetryAfter: last.retry - now,
		Policy:     leaf.name,
		Limit:      leaf.limit,
		ResetAfter: max(0, last.full-now),
	}, true
}

// ask is to be called before the store is asked.
func (d *denials) ask(key string) asked {
	if d == nil {
		return asked{}
	}
	s, _ := d.shard(key)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return asked{time.Since(d.start), s.given}
}

// add remembers a denial of the store. One for good is asked again: what is left may
// change.
func (d *denials) add(key string, n int, pl *plan, decision weir.Decision, asked asked) {
	if d == nil || decision.Allowed || decision.RetryAfter == weir.Never {
		return
	}
	s, hash := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.given != s.given {
		return
	}
	switch {
	case s.held == d.most:
		s.young, s.old, s.held = make(denialTable, len(s.young)), s.young, 0
	case s.held >= len(s.young)*3/4:
		s.young = s.young.grown(d.most + d.most/3 + 1)
	}
	last := s.young.place(hash)
	if last.hash == 0 {
		s.held++
	}
	leaf := slices.IndexFunc(pl.leaves, func(l leaf) bool { return l.name == decision.Policy && l.limit == decision.Limit })
	*last = denial{
		hash: hash, plan: pl.number, leaf: int64(leaf), n: int64(n), remaining: int64(decision.Remaining),
		retry: asked.at + decision.RetryAfter, full: asked.at + decision.ResetAfter,
	}
}

// forget is to be called once something was given back.
func (d *denials) forget(key string) {
	if d == nil {
		return
	}
	s, hash := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given++
	for _, t := range []denialTable{s.young, s.old} {
		if len(t) > 0 {
			t.place(hash).retry = 0 // it keeps its place
		}
	}
}
