// Package table keeps a few words for each of many hashed keys, without
// pointers, so that the garbage collector never walks them. It does not know
// what the words mean, nor the keys: of those it has only a 64-bit hash.
package table

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// Moved stands in place of a slot's first word when the slot is no longer that
// of its key: it has been moved, or deleted. Owners never store it there.
const Moved = math.MaxUint64

// A Table maps hashes to slots of words. It is divided into shards, each of
// which has a lock. Everything that changes which keys there are is done under
// it. Finding a slot is not, and neither is changing its first word: that is
// done by compare-and-swap, which fails once the slot has Moved. The other words
// are the lock's.
//
// A is what its owner keeps beside each shard, under the same lock.
type Table[A any] struct {
	arrays []atomic.Pointer[array] // of each shard; together, as every Find reads one
	shards []Shard[A]
	shift  uint8 // of a hash, to the number of its shard
	most   int64
	len    atomic.Int64 // kept if there is a most
}

// New returns an empty table of that many shards, rounded up to a power of
// two, of that many words a slot, and of at most so many slots, any number if
// most is 0.
func New[A any](shards, words, most int) *Table[A] {
	log := uint8(bits.Len(uint(max(1, shards) - 1)))
	t := &Table[A]{
		arrays: make([]atomic.Pointer[array], 1<<log),
		shards: make([]Shard[A], 1<<log),
		shift:  64 - log,
		most:   int64(most),
	}
	for i := range t.shards {
		t.arrays[i].Store(new(array))
		t.shards[i] = Shard[A]{table: t, array: &t.arrays[i], width: 1 + words, skip: log, step: stepOf(i)}
	}
	return t
}

// Len returns how many slots are in use.
func (t *Table[A]) Len() int {
	if t.most > 0 {
		return int(t.len.Load())
	}
	var sum int64
	for i := range t.shards {
		sum += t.shards[i].live.Load()
	}
	return int(sum)
}

// Full reports whether there are as many as there may be.
func (t *Table[A]) Full() bool { return t.most > 0 && t.len.Load() >= t.most }

// Shard returns the shard of a hash.
func (t *Table[A]) Shard(hash uint64) *Shard[A] { return &t.shards[hash>>t.shift] }

// Shards returns all of them.
func (t *Table[A]) Shards() []Shard[A] { return t.shards }

// Find returns the slot of a hash, nil if there is none. It takes no lock. The
// slot is the key's for as long as its first word is not Moved.
func (t *Table[A]) Find(hash uint64) []uint64 {
	return t.arrays[hash>>t.shift].Load().find(key(hash))
}

// An array holds a shard's entries: a key, then the words of its slot. Keys lie
// by open addressing, and never move within an array:
//
//	every place from a key's home up to its own is in use.
type array struct {
	entries []uint64
	places  uint64 // len(entries) / width
	width   uint32 // words of an entry, its key included
	skip    uint8  // bits of a key that named the shard
}

// What stands in place of a key.
const (
	empty    = 0 // never used
	dead     = 1 // was deleted; used again only in another array
	leastKey = 2
)

// key makes a hash one that an entry can have.
func key(hash uint64) uint64 { return max(leastKey, hash) }

// home returns where the search for a key begins.
func (a *array) home(key uint64) uint64 {
	place, _ := bits.Mul64(key<<a.skip, a.places)
	return place * uint64(a.width)
}

// find returns the slot of a key, nil if it is not there.
func (a *array) find(key uint64) []uint64 {
	entries, width := a.entries, uint64(a.width)
	if len(entries) == 0 {
		return nil
	}
	at := a.home(key)
	for {
		switch atomic.LoadUint64(&entries[at]) {
		case key:
			return entries[at+1 : at+width : at+width]
		case empty:
			return nil
		}
		at = a.next(at)
	}
}

// next returns the index of the entry behind the one at an index, around the
// end.
func (a *array) next(at uint64) uint64 {
	if at += uint64(a.width); at < uint64(len(a.entries)) {
		return at
	}
	return 0
}

// put adds a key that is not there to an array that has a place for it. Its
// words are in place before it can be found.
func (a *array) put(key uint64, words []uint64) []uint64 {
	width := uint64(a.width)
	at := a.home(key)
	for a.entries[at] != empty {
		at = a.next(at)
	}
	slot := a.entries[at+1 : at+width : at+width]
	copy(slot, words)
	atomic.StoreUint64(&a.entries[at], key)
	return slot
}
