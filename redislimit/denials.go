package redislimit

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// denials remembers, of at least so many clients, what was denied last.
//
//	found(key, n, t)  =>  the store denied (key, n) at some u, t < u + RetryAfter,
//	                      and nothing was given back here since
type denials struct {
	seed   maphash.Seed
	shards []denialShard
	most   int // in a generation of a shard
}

// A denialShard has two generations: once the young one is full it becomes the old
// one, and what that had is forgotten. Who only looks writes nothing.
type denialShard struct {
	mu         sync.RWMutex
	young, old map[string]denial
	given      uint64 // how often anything was given back
	_          [64]byte
}

type denial struct {
	n        int
	plan     *plan
	asked    asked
	decision weir.Decision
}

// asked is when a question began.
type asked struct {
	at    time.Time
	given uint64
}

func newDenials(clients int) *denials {
	shards := 1
	for shards < 64 && clients/(2*shards) >= 64 {
		shards *= 2
	}
	d := &denials{seed: maphash.MakeSeed(), shards: make([]denialShard, shards), most: clients / shards}
	if shards > 1 {
		d.most += d.most / 4 // not all have as many
	}
	for i := range d.shards {
		d.shards[i].young = make(map[string]denial)
	}
	return d
}

func (d *denials) shard(key string) *denialShard {
	return &d.shards[maphash.String(d.seed, key)&uint64(len(d.shards)-1)]
}

func (d *denials) find(key string, n int, pl *plan) (weir.Decision, bool) {
	s := d.shard(key)
	s.mu.RLock()
	last, ok := s.young[key]
	if !ok {
		last, ok = s.old[key]
	}
	s.mu.RUnlock()
	if !ok || last.n != n || last.plan != pl {
		return weir.Decision{}, false
	}
	since := time.Since(last.asked.at)
	if since >= last.decision.RetryAfter {
		return weir.Decision{}, false
	}
	again := last.decision
	again.RetryAfter -= since
	again.ResetAfter = max(0, again.ResetAfter-since)
	return again, true
}

// ask is to be called before the store is asked.
func (d *denials) ask(key string) asked {
	if d == nil {
		return asked{}
	}
	s := d.shard(key)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return asked{time.Now(), s.given}
}

// add remembers a denial of the store. One for good is asked again: what is left may
// change.
func (d *denials) add(key string, n int, pl *plan, decision weir.Decision, asked asked) {
	if d == nil || decision.Allowed || decision.RetryAfter == weir.Never {
		return
	}
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.given != s.given {
		return
	}
	if len(s.young) >= d.most {
		s.young, s.old = make(map[string]denial), s.young
	}
	s.young[key] = denial{n, pl, asked, decision}
}

// forget is to be called once something was given back.
func (d *denials) forget(key string) {
	if d == nil {
		return
	}
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given++
	delete(s.young, key)
	delete(s.old, key)
}
