// Package arena keeps runs of bytes of many sizes without a pointer to each:
// blocks of a class lie side by side in one piece of memory.
package arena

import (
	"math/bits"
	"slices"
)

// A Ref names a block of an Arena. The zero Ref is no block.
//
// It is the class and the number of the block in it.
type Ref uint32

const (
	numberBits = 26
	classes    = 1 << (32 - numberBits)
)

func (r Ref) class() int  { return int(r >> numberBits) }
func (r Ref) number() int { return int(r & (1<<numberBits - 1)) }

// largeBytes is the size from which a block is a piece of memory of its own:
// one that large is not worth moving when its class grows.
const largeBytes = 4096

// An Arena holds blocks of so many units of so many bytes. Make it with New. It
// is not safe for concurrent use.
type Arena struct {
	unit   int
	slabs  []slab // by class
	blocks int    // in use
	keeps  bool   // the memory of large blocks, too, that are no longer in use
}

// A slab holds the blocks of one class.
type slab struct {
	bytes []byte   // of all blocks, or
	large [][]byte // of each
	count int      // blocks, free ones too
	free  []uint32 // the numbers of those
}

// New returns an empty arena of units of so many bytes.
func New(unit int) *Arena { return &Arena{unit: unit} }

// NewScratch returns an arena that keeps its memory, for who clears it and fills
// it again many times.
func NewScratch(unit int) *Arena { return &Arena{unit: unit, keeps: true} }

// Clear empties a scratch arena.
func (a *Arena) Clear() {
	for i := range a.slabs {
		a.slabs[i].count, a.slabs[i].free = 0, a.slabs[i].free[:0]
	}
	a.blocks = 0
}

// Unit returns the bytes of a unit.
func (a *Arena) Unit() int { return a.unit }

// Len returns how many units a block holds.
func (a *Arena) Len(r Ref) int { return units(r.class()) }

// Bytes returns a block, nil for no block. It is valid until the next Resize
// or Pack.
func (a *Arena) Bytes(r Ref) []byte {
	if r == 0 {
		return nil
	}
	s, size := &a.slabs[r.class()], a.size(r.class())
	if size >= largeBytes {
		return s.large[r.number()]
	}
	return s.bytes[r.number()*size : (r.number()+1)*size : (r.number()+1)*size]
}

// size returns the bytes of a block of a class.
func (a *Arena) size(class int) int { return units(class) * a.unit }

// Resize returns a block of at least n units, the least there is, that holds
// what r held, as much as fits; r is no block any more. For n of 0 that is no
// block.
func (a *Arena) Resize(r Ref, n int) Ref {
	class := classFor(n)
	if class == r.class() {
		return r
	}
	var to Ref
	if n > 0 {
		to = a.alloc(class)
		copy(a.Bytes(to), a.Bytes(r))
	}
	if r != 0 {
		a.release(r)
	}
	return to
}

func (a *Arena) alloc(class int) Ref {
	a.blocks++
	for len(a.slabs) <= class {
		a.slabs = append(a.slabs, slab{})
	}
	s := &a.slabs[class]
	number := s.count
	if last := len(s.free) - 1; last >= 0 {
		number, s.free = int(s.free[last]), s.free[:last]
	} else {
		s.count++
	}
	if number >= 1<<numberBits {
		panic("arena: more than 2^26 blocks of a class")
	}
	switch size := a.size(class); {
	case size >= largeBytes && number == len(s.large):
		s.large = append(s.large, make([]byte, size))
	case size >= largeBytes && s.large[number] == nil:
		s.large[number] = make([]byte, size)
	case size >= largeBytes:
	case s.count*size > len(s.bytes):
		// A sixteenth more at a time: to copy is cheap, and slack is not.
		s.bytes = grown(s.bytes, (s.count+s.count/16)*size)
	}
	return Ref(class<<numberBits | number)
}

// release keeps the place of a block for the next, as what shrinks often grows again:
// Pack gives back what is left of them.
func (a *Arena) release(r Ref) {
	s := &a.slabs[r.class()]
	s.free = append(s.free, uint32(r.number()))
	a.blocks--
	if s.large != nil && !a.keeps {
		s.large[r.number()] = nil
	}
}

// Empty reports whether no block is in use.
func (a *Arena) Empty() bool { return a.blocks == 0 }

// Sparse reports whether so much of the arena is free that it is worth packing.
func (a *Arena) Sparse() bool {
	for i := range a.slabs {
		if a.slabs[i].sparse() {
			return true
		}
	}
	return false
}

// A quarter is more than what growth leaves unused anyway, and rare enough that
// a block is not moved often.
func (s *slab) sparse() bool { return 4*len(s.free) > s.count }

// Pack moves all blocks together and gives back the rest of the memory. It
// calls each, which calls move with every Ref in use and keeps what that returns
// in its place.
func (a *Arena) Pack(each func(move func(Ref) Ref)) {
	packed := Arena{unit: a.unit, slabs: make([]slab, len(a.slabs))}
	for class, s := range a.slabs {
		if size := a.size(class); size < largeBytes {
			packed.slabs[class].bytes = grown(nil, (s.count-len(s.free))*size)
		}
	}
	each(func(r Ref) Ref {
		to := packed.alloc(r.class())
		copy(packed.Bytes(to), a.Bytes(r))
		return to
	})
	*a = packed
}

// grown returns a copy of b of at least n bytes: as many as the allocator gives
// for them.
func grown(b []byte, n int) []byte {
	larger := slices.Grow([]byte(nil), n)
	larger = larger[:cap(larger)]
	copy(larger, b)
	return larger
}

// units returns how many units a block of that class holds: 0, 1, 2, 3, 4, 6, 8,
// 12, 16, 24 and so on.
func units(class int) int {
	switch {
	case class < 3:
		return class
	case class%2 == 1:
		return 3 << (class/2 - 1)
	default:
		return 2 << (class/2 - 1)
	}
}

// classFor returns the least class with that many units.
func classFor(n int) int {
	if n < 3 {
		return n
	}
	log := bits.Len(uint(n - 1)) // 2^(log-1) < n <= 2^log
	if n <= 3<<(log-2) {
		return 2*log - 1
	}
	return 2 * log
}
