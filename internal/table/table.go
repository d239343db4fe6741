// Package table keeps a few words for each of many hashed keys, without
// pointers, so that the garbage collector never walks them. It does not know
// what the words mean, nor the keys: of those it has only a 64-bit hash.
package table

import (
	"iter"
	"math"
	"math/bits"
	"strconv"
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
	log := bits.Len(uint(max(1, shards) - 1))
	t := &Table[A]{
		arrays: make([]atomic.Pointer[array], 1<<log),
		shards: make([]Shard[A], 1<<log),
		shift:  uint8(64 - log),
		most:   int64(most),
	}
	none := new(array)
	for i := range t.shards {
		t.arrays[i].Store(none)
		t.shards[i].table, t.shards[i].number, t.shards[i].width = t, int32(i), int32(entryWidth(words))
	}
	return t
}

// entryWidth returns the words of an entry with a slot of that many.
func entryWidth(words int) int {
	if words >= math.MaxUint16 {
		panic("table: a slot of " + strconv.Itoa(words) + " words")
	}
	return 1 + words
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

// Find returns the place of a hash, or where it would be put if it is not there.
// It takes no lock.
func (t *Table[A]) Find(hash uint64) (p Place, found bool) {
	return t.arrays[hash>>t.shift].Load().find(Key(hash))
}

// A Place is where a key is, for as long as its first word is not Moved; or
// where one that is not there would be put, as long as nothing else is. The zero
// Place is of no use.
type Place struct {
	array *array
	at    uint64
}

// Word returns the first word of the key's slot.
func (p Place) Word() *uint64 { return &p.array.entries[p.at+1] }

// Epoch returns the last one that Convert gave to the key's shard, 0 before: it
// says what the words mean.
func (p Place) Epoch() uint32 { return p.array.epoch }

// Slot returns all words of the key's slot.
func (p Place) Slot() []uint64 { return p.array.slot(p.at) }

// An array holds a shard's entries: a key, then the words of its slot. Keys lie
// by open addressing, and never move within an array:
//
//	every place from a key's home up to its own is in use.
type array struct {
	entries []uint64
	places  uint32 // len(entries) / width
	epoch   uint32
	width   uint16 // words of an entry, its key included
	skip    uint8  // bits of a key that named the shard
	line    uint8  // entries of a cache line, less 1, if it holds a power of two
}

// cacheLine is in words. Large pieces of memory begin at one.
const cacheLine = 8

// lineOf returns what array.line is for entries of that width.
func lineOf(width int) uint8 {
	if cacheLine%width == 0 {
		return uint8(cacheLine/width - 1)
	}
	return 0
}

// What stands in place of a key.
const (
	empty    = 0 // never used
	dead     = 1 // was deleted; used again only in another array
	leastKey = 2
)

// Key returns the hash that stands for one in a table: it is what Sweep, Each,
// Sample and Convert call it.
func Key(hash uint64) uint64 { return max(leastKey, hash) }

// home returns where the search for a key begins: at the first entry of a cache
// line, so that the entries that are at hand are looked at first.
func (a *array) home(key uint64) uint64 {
	place, _ := bits.Mul64(key<<a.skip, uint64(a.places))
	return place &^ uint64(a.line) * uint64(a.width)
}

// find returns the place of a key, or the empty one where its search ended.
func (a *array) find(key uint64) (p Place, found bool) {
	if len(a.entries) == 0 {
		return Place{}, false
	}
	for at := a.home(key); ; at = a.next(at) {
		switch atomic.LoadUint64(&a.entries[at]) {
		case key:
			return Place{a, at}, true
		case empty:
			return Place{a, at}, false
		}
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

// free returns where a key that is not there is to be put.
func (a *array) free(key uint64) uint64 {
	at := a.home(key)
	for a.entries[at] != empty {
		at = a.next(at)
	}
	return at
}

// put adds a key in a free place. Its words are in place before it can be found.
func (a *array) put(key, at uint64, words []uint64) []uint64 {
	slot := a.slot(at)
	copy(slot, words)
	atomic.StoreUint64(&a.entries[at], key)
	return slot
}

// putUnseen is put where a key belongs, in an array that nobody else sees yet.
func (a *array) putUnseen(key uint64, words []uint64) {
	at := a.free(key)
	a.entries[at] = key
	copy(a.slot(at), words)
}

// slot returns the slot of the entry at an index.
func (a *array) slot(at uint64) []uint64 {
	end := at + uint64(a.width)
	return a.entries[at+1 : end : end]
}

// keysFrom yields the index of each live entry, once around from a place.
func (a *array) keysFrom(place uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		at := place * uint64(a.width)
		for range a.places {
			if a.entries[at] >= leastKey && !yield(at) {
				return
			}
			at = a.next(at)
		}
	}
}
