package contender

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/striped"
	"github.com/goweir/weir/internal/table"
)

// Steps are floors with more of what weir does: what stands between the two.

// FloorSingleCounted is FloorSingle that says afterwards how often it was asked.
var FloorSingleCounted = Contender{
	Name: "floor + count", How: "the same, and an atomic addition in a line of the goroutine's own",
	New: func(Limit, int) Limiter {
		word, counters := &new(line).word, striped.New()
		return limiter(func(keys []string) (allowed int) {
			for range keys {
				old := word.Load()
				word.CompareAndSwap(old, uint64(time.Since(start)))
				counters.Add(0)
				allowed++
			}
			return allowed
		})
	},
}

// FloorHotCounted is FloorHot that says so.
var FloorHotCounted = Contender{
	Name: "floor + count", How: "the same, and an atomic addition in a line of the goroutine's own",
	New: func(Limit, int) Limiter {
		word, seed, counters := &new(line).word, maphash.MakeSeed(), striped.New()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				hash := maphash.String(seed, key)
				old := word.Load()
				word.CompareAndSwap(old, hash+uint64(time.Since(start)))
				counters.Add(0)
				allowed++
			}
			return allowed
		})
	},
}

// FloorTableCounted is FloorTable that says so.
var FloorTableCounted = Contender{
	Name: "floor + count", How: "the same, and an atomic addition in a line of the goroutine's own",
	New: func(_ Limit, clients int) Limiter {
		table, seed, counters := make([]uint64, 2*clients), maphash.MakeSeed(), striped.New()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				hash := maphash.String(seed, key)
				entry, _ := bits.Mul64(hash, uint64(clients))
				word := &table[2*entry+1]
				old := atomic.LoadUint64(word)
				atomic.CompareAndSwapUint64(word, old, uint64(time.Since(start)))
				counters.Add(0)
				allowed++
			}
			return allowed
		})
	},
}

// FloorFound counts, and swaps the word of the key and of no other, which it finds
// where weir has its own, and puts there the first time: all but deciding.
var FloorFound = Contender{
	Name: "floor + count + find", How: "the same in weir's own table, in the entry of the key, which is made if there is none",
	New: func(Limit, int) Limiter {
		table, seed, counters := table.New[struct{}](1024, 1, 0), maphash.MakeSeed(), striped.New()
		return limiter(func(keys []string) (allowed int) {
			for _, key := range keys {
				hash := maphash.String(seed, key)
				if place, found := table.Find(hash); found {
					old := atomic.LoadUint64(place.Word())
					atomic.CompareAndSwapUint64(place.Word(), old, uint64(time.Since(start)))
				} else {
					insert(table.Shard(hash), hash)
				}
				counters.Add(0)
				allowed++
			}
			return allowed
		})
	},
}

func insert(shard *table.Shard[struct{}], hash uint64) {
	shard.Lock()
	defer shard.Unlock()
	if place, found := shard.Find(hash); !found {
		shard.Insert(hash, place, []uint64{uint64(time.Since(start))})
	}
}
