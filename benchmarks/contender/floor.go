package contender

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"time"
)

// A floor does what every limiter has to and decides nothing. Its one
// compare-and-swap is not tried again if another core was first: a limiter that
// is right has to, so what it costs then is above the floor.

var start = time.Now()

// A line is a word alone on its cache lines, of which processors fetch two.
type line struct {
	_    [128]byte
	word atomic.Uint64
	_    [120]byte
}

// FloorSingle reads the clock and swaps one word.
var FloorSingle = Contender{
	Name: "floor", How: "clock reading + one compare-and-swap",
	New: func(Limit, int) Limiter {
		word := &new(line).word
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				old := word.Load()
				word.CompareAndSwap(old, uint64(time.Since(start)))
				allowed++
			}
			return allowed
		})
	},
}

// FloorHot hashes the key, reads the clock and swaps the one word there is.
var FloorHot = Contender{
	Name: "floor", How: "hash + clock reading + one compare-and-swap on a hot line",
	New: func(Limit, int) Limiter {
		word, seed := &new(line).word, maphash.MakeSeed()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				hash := maphash.String(seed, key)
				old := word.Load()
				word.CompareAndSwap(old, hash+uint64(time.Since(start)))
				allowed++
			}
			return allowed
		})
	},
}

// FloorHotRetried is FloorHot that tries until it is first.
var FloorHotRetried = Contender{
	Name: "floor, until swapped", How: "the same, repeated from the load until the swap succeeds",
	New: func(Limit, int) Limiter {
		word, seed := &new(line).word, maphash.MakeSeed()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				hash := maphash.String(seed, key) + uint64(time.Since(start))
				for !word.CompareAndSwap(word.Load(), hash) {
				}
				allowed++
			}
			return allowed
		})
	},
}

// FloorTable hashes the key, reads the clock and swaps a word of the 16-byte
// entry that the hash leads to, in a table of an entry for each client.
var FloorTable = Contender{
	Name: "floor", How: "hash + clock reading + one compare-and-swap on a random line",
	New: func(_ Limit, clients int) Limiter {
		table, seed := make([]uint64, 2*clients), maphash.MakeSeed()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				hash := maphash.String(seed, key)
				entry, _ := bits.Mul64(hash, uint64(clients))
				word := &table[2*entry+1]
				old := atomic.LoadUint64(word)
				atomic.CompareAndSwapUint64(word, old, uint64(time.Since(start)))
				allowed++
			}
			return allowed
		})
	},
}
