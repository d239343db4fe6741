package table

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
)

// A Shard is a part of a table, with the lock that all its methods want held.
type Shard[A any] struct {
	sync.Mutex
	Annex A

	table  *Table[A]
	live   atomic.Int64 // keys
	used   int          // places that are not empty: live and dead
	most   int          // places that may be used
	number int32
	width  int32 // words of an entry; with an A of ten words a shard is two cache lines
}

// An array is at most 9/10 full, which put sees to, and the next is larger by
// half of one part in as many as an entry has words: by a quarter for entries of
// two words, by an eighth for those of four, which lose more to a free place.
// The shards grow out of step, so that at no number of keys all of them have
// just grown: on average the arrays of two-word entries are 80 % full, and a key
// of one word takes 20 bytes.
const (
	leastPlaces = 4
	fullest     = 0.9
)

// step is the fraction of a step by which a shard's sizes are out of step with
// the first one's. The golden ratio spreads them evenly over [0, 1).
func (s *Shard[A]) step() float64 {
	_, step := math.Modf(float64(s.number) * math.Phi)
	return step
}

// array returns where the shard's array is.
func (s *Shard[A]) array() *atomic.Pointer[array] { return &s.table.arrays[s.number] }

// placesFor returns the size of an array for that many keys: the least of the
// shard's sizes, leastPlaces * growth^(i + step), that is not too full.
func (s *Shard[A]) placesFor(keys int) int {
	if keys == 0 {
		return 0
	}
	growth := 1 + 0.5/float64(s.width)
	steps := math.Log(float64(keys)/fullest/leastPlaces) / math.Log(growth)
	return int(math.Ceil(leastPlaces * math.Pow(growth, max(0, math.Ceil(steps-s.step()))+s.step())))
}

// newArray returns an array of at least that many places: as many as fit into
// what the allocator gives for them.
func (s *Shard[A]) newArray(places int) *array {
	width := int(s.width)
	line := int(lineOf(width)) // whole lines only
	entries := slices.Grow([]uint64(nil), (places+line)&^line*width)
	places = cap(entries) / width &^ line
	return &array{
		entries: entries[:places*width],
		places:  uint32(places),
		epoch:   s.array().Load().epoch,
		width:   uint16(width),
		skip:    64 - s.table.shift,
		line:    lineOf(width),
	}
}

// most returns how many places of the array may be used.
func (a *array) most() int { return int(float64(a.places) * fullest) }

// Len returns how many keys the shard has.
func (s *Shard[A]) Len() int { return int(s.live.Load()) }

// Find returns the place of a hash, or where it would be put if it is not there.
// Under the lock a slot's first word is not Moved.
func (s *Shard[A]) Find(hash uint64) (p Place, found bool) {
	return s.array().Load().find(Key(hash))
}

// Free reports whether a place that was found free without the lock still is, so
// that the hash it was found for is still not there.
func (s *Shard[A]) Free(p Place) bool {
	return p.array != nil && p.array == s.array().Load() && p.array.entries[p.at] == empty
}

// Insert makes a slot of those words for a hash that has none, in the place that
// was found for it, and returns it, or nil if the table is full.
func (s *Shard[A]) Insert(hash uint64, p Place, words []uint64) []uint64 {
	if !s.add() {
		return nil
	}
	return s.put(hash, p, words)
}

func (s *Shard[A]) put(hash uint64, p Place, words []uint64) []uint64 {
	if s.used >= s.most {
		// A new array leaves the dead behind. It has a sixteenth to spare, so that
		// one full of live keys is not made again for each of the next few.
		live := s.Len()
		s.rebuild(s.placesFor(live+1+live/16), nil)
	}
	a := s.array().Load()
	if p.array != a {
		p.at = a.free(Key(hash))
	}
	s.used++
	return a.put(Key(hash), p.at, words)
}

// add counts a key in, if that is not one too many.
func (s *Shard[A]) add() bool {
	if most := s.table.most; most > 0 {
		for {
			n := s.table.len.Load()
			if n >= most {
				return false
			}
			if s.table.len.CompareAndSwap(n, n+1) {
				break
			}
		}
	}
	s.live.Add(1)
	return true
}

func (s *Shard[A]) sub(n int) {
	s.live.Add(-int64(n))
	if s.table.most > 0 {
		s.table.len.Add(-int64(n))
	}
}

// Delete removes a hash that is there if its first word is still the one that
// was seen, and reports whether it was.
func (s *Shard[A]) Delete(hash, seen uint64) bool {
	if !s.bury(hash, seen) {
		return false
	}
	s.sub(1)
	return true
}

// Replace deletes a hash as Delete does and makes a slot for another that is
// not there, in a full table too. It returns nil if it did not.
func (s *Shard[A]) Replace(old, seen, hash uint64, words []uint64) []uint64 {
	if !s.bury(old, seen) {
		return nil
	}
	return s.put(hash, Place{}, words)
}

// bury leaves a dead entry in place of a key.
func (s *Shard[A]) bury(hash, seen uint64) bool {
	p, _ := s.Find(hash)
	if !atomic.CompareAndSwapUint64(p.Word(), seen, Moved) {
		return false
	}
	atomic.StoreUint64(&p.array.entries[p.at], dead)
	return true
}

// Sweep removes the keys whose words stale says, gives back the memory that
// they took and that of the dead, and returns how many went. It asks once
// beforehand, while the words go on changing, and again when they have stopped:
// then stale may release what belongs to them if it says so again.
func (s *Shard[A]) Sweep(stale func(hash uint64, words []uint64, stopped bool) bool) int {
	found := 0
	words := make([]uint64, s.width-1)
	a := s.array().Load()
	for at := range a.keysFrom(0) {
		copyWords(words, a.slot(at))
		if stale(a.entries[at], words, false) {
			found++
		}
	}
	before := s.Len()
	if buried := s.used - before; found == 0 && 4*buried <= before {
		return 0
	}
	s.rebuild(s.placesFor(before-found), func(hash uint64, words []uint64) bool { return stale(hash, words, true) })
	return before - s.Len()
}

// rebuild moves all keys but those that drop says to a new array.
func (s *Shard[A]) rebuild(places int, drop func(hash uint64, words []uint64) bool) {
	old, a := s.array().Load(), s.newArray(places)
	words := make([]uint64, s.width-1)
	used, dropped := 0, 0
	for at := range old.keysFrom(0) {
		slot := old.slot(at)
		copy(words[1:], slot[1:])
		words[0] = atomic.SwapUint64(&slot[0], Moved)
		if drop != nil && drop(old.entries[at], words) {
			dropped++
			continue
		}
		if used >= a.most() {
			a = s.enlarge(a, used+1)
		}
		a.putUnseen(old.entries[at], words)
		used++
	}
	s.sub(dropped)
	s.used, s.most = used, a.most()
	s.array().Store(a)
}

// Convert gives all keys slots of another number of words and another epoch, and
// has convert fill each, which is all 0, from the old one. That one has stopped
// changing.
func (s *Shard[A]) Convert(words int, epoch uint32, convert func(hash uint64, from, to []uint64)) {
	old := s.array().Load()
	from, to := make([]uint64, s.width-1), make([]uint64, words)
	s.width = int32(entryWidth(words))
	a := s.newArray(s.placesFor(s.Len()))
	a.epoch = epoch
	for at := range old.keysFrom(0) {
		slot := old.slot(at)
		copy(from[1:], slot[1:])
		from[0] = atomic.SwapUint64(&slot[0], Moved)
		clear(to)
		convert(old.entries[at], from, to)
		a.putUnseen(old.entries[at], to)
	}
	s.used, s.most = s.Len(), a.most()
	s.array().Store(a)
}

// enlarge copies an array that nobody sees yet to one for that many keys.
func (s *Shard[A]) enlarge(old *array, keys int) *array {
	a := s.newArray(s.placesFor(keys))
	for at := range old.keysFrom(0) {
		a.putUnseen(old.entries[at], old.slot(at))
	}
	return a
}

func copyWords(words, slot []uint64) {
	words[0] = atomic.LoadUint64(&slot[0])
	copy(words[1:], slot[1:])
}

// Each calls f with every slot. It may change all but its first word.
func (s *Shard[A]) Each(f func(hash uint64, slot []uint64)) {
	a := s.array().Load()
	for at := range a.keysFrom(0) {
		f(a.entries[at], a.slot(at))
	}
}

// Sample calls f with up to n different keys, found from a random number on,
// and with what their words are.
func (s *Shard[A]) Sample(random uint64, n int, f func(hash uint64, words []uint64)) {
	a := s.array().Load()
	words := make([]uint64, s.width-1)
	place, _ := bits.Mul64(random, uint64(a.places))
	for at := range a.keysFrom(place) {
		if n--; n < 0 {
			return
		}
		copyWords(words, a.slot(at))
		f(a.entries[at], words)
	}
}
