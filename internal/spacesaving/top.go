package spacesaving

import (
	"runtime"
	"sync"

	"github.com/goweir/weir/internal/striped"
)

// maxStripes bounds the memory where there are many cores.
const maxStripes = 16

// A Top counts the most frequent keys for any number of goroutines. Make it with New.
type Top[K comparable] struct {
	size    int
	stripes []stripe[K]
}

// A stripe is a part of all that was counted. Goroutines that count at once, the same
// key perhaps, do so in different ones.
type stripe[K comparable] struct {
	mu sync.Mutex
	summary[K]
	_ [64]byte // another's lock is on another cache line
}

// New returns a Top of size counters for each core, of which it returns size.
func New[K comparable](size int) *Top[K] {
	t := &Top[K]{size: size, stripes: make([]stripe[K], min(runtime.GOMAXPROCS(0), maxStripes))}
	for i := range t.stripes {
		t.stripes[i].size = size
	}
	return t
}

// Add counts a key once.
func (t *Top[K]) Add(key K) {
	s := t.lock()
	s.add(key)
	s.mu.Unlock()
}

// lock locks a stripe that nobody else has locked, if there is one.
func (t *Top[K]) lock() *stripe[K] {
	first := int(striped.Here()>>48) % len(t.stripes)
	for i := range t.stripes {
		if s := &t.stripes[(first+i)%len(t.stripes)]; s.mu.TryLock() {
			return s
		}
	}
	s := &t.stripes[first]
	s.mu.Lock()
	return s
}

// Counts returns the keys that came most often, the most frequent first. With n counted in
// all, every key is among them that came more than n / size times, and no Error
// is more than that.
func (t *Top[K]) Counts() []Count[K] {
	counts, least := make([][]Count[K], len(t.stripes)), make([]uint64, len(t.stripes))
	for i := range t.stripes {
		s := &t.stripes[i]
		s.mu.Lock()
		counts[i], least[i] = append([]Count[K](nil), s.heap...), s.least()
		s.mu.Unlock()
	}
	return merged(t.size, counts, least)
}
