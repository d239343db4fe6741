package table

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// hashes are ways to make a hash of a small number: the second to fifth are as
// bad as can be.
var hashes = map[string]func(n uint64) uint64{
	"good":          func(n uint64) uint64 { return (n + 1) * 0x9e3779b97f4a7c15 },
	"one home":      func(n uint64) uint64 { return n },
	"two homes":     func(n uint64) uint64 { return n&1<<63 | n },
	"last place":    func(n uint64) uint64 { return ^n },
	"one per shard": func(n uint64) uint64 { return n << 59 },
}

// verify checks the invariants of every shard.
func verify[A any](t *testing.T, table *Table[A]) {
	t.Helper()
	sum := 0
	for i := range table.shards {
		s := &table.shards[i]
		a := s.array().Load()
		used, live := 0, 0
		for place := range uint64(a.places) {
			k := a.entries[place*uint64(a.width)]
			if k != empty {
				used++
			}
			if k < leastKey {
				continue
			}
			live++
			require.Equal(t, uint64(i), k>>table.shift, "a key in another's shard")
			for at := a.home(k); at != place*uint64(a.width); at = a.next(at) {
				require.NotZero(t, a.entries[at], "an empty place between a key and its home")
			}
		}
		require.Equal(t, s.used, used)
		require.Equal(t, s.Len(), live)
		require.LessOrEqual(t, used, s.most)
		require.True(t, a.places == 0 || used < int(a.places), "no empty place to end a search")
		sum += live
	}
	require.Equal(t, sum, table.Len())
}

// TestAgainstAMap does at random what can be done to a table, to one and to a
// map.
func TestAgainstAMap(t *testing.T) {
	for name, hash := range hashes {
		for _, shards := range []int{1, 2, 16} {
			for _, words := range []int{1, 3} {
				for _, most := range []int{0, 100} {
					t.Run(fmt.Sprintf("%s, %d shards, %d words, most %d", name, shards, words, most), func(t *testing.T) {
						againstAMap(t, hash, shards, words, most)
					})
				}
			}
		}
	}
}

func againstAMap(t *testing.T, hash func(uint64) uint64, shards, words, most int) {
	random := rand.New(rand.NewPCG(1, 2))
	table := New[struct{}](shards, words, most)
	model := map[uint64][]uint64{}
	seen := map[uint64]uint64{} // hash by key as the table has it: 0 and 1 share one with 2
	pick := func() uint64 {
		n := random.Uint64N(32)
		if shards == 16 && hash(1) == 1<<59 {
			return n
		}
		return random.Uint64N(300)
	}
	fresh := func() []uint64 {
		slot := make([]uint64, words)
		for i := range slot {
			slot[i] = random.Uint64N(1000)
		}
		return slot
	}
	for range 4000 {
		h := Key(hash(pick()))
		seen[h] = h
		shard := table.Shard(h)
		shard.Lock()
		place, found := shard.Find(h)
		slot := slotAt(place, found)
		require.Equal(t, model[h], clone(slot))
		switch action := random.IntN(20); {
		case slot == nil && action < 12:
			words := fresh()
			if slot = shard.Insert(h, place, words); slot == nil {
				require.True(t, table.Full())
				require.Len(t, model, most)
				break
			}
			require.Equal(t, words, clone(slot))
			model[h] = words
		case slot != nil && action < 8:
			words := fresh()
			require.True(t, atomic.CompareAndSwapUint64(&slot[0], slot[0], words[0]))
			copy(slot[1:], words[1:])
			model[h] = words
		case slot != nil && action < 12:
			require.False(t, shard.Delete(h, slot[0]+1), "its word is another")
			require.True(t, shard.Delete(h, slot[0]))
			require.Equal(t, uint64(Moved), slot[0])
			delete(model, h)
		case slot != nil && action < 14:
			other := h ^ 1<<20
			if _, there := model[other]; there || table.Shard(other) != shard {
				break
			}
			words := fresh()
			require.Nil(t, shard.Replace(h, slot[0]+1, other, words))
			require.Equal(t, words, clone(shard.Replace(h, slot[0], other, words)))
			delete(model, h)
			model[other] = words
		case action == 18:
			bound := random.Uint64N(1000)
			want := 0
			for k, words := range model {
				if table.Shard(k) == shard && words[0] < bound {
					delete(model, k)
					want++
				}
			}
			released := 0
			got := shard.Sweep(func(_ uint64, words []uint64, stopped bool) bool {
				if stopped && words[0] < bound {
					released++
				}
				return words[0] < bound
			})
			require.Equal(t, want, got)
			require.Equal(t, want, released)
		case action == 19:
			n := random.IntN(8)
			sampled := map[uint64]bool{}
			shard.Sample(random.Uint64(), n, func(h uint64, words []uint64) {
				require.Equal(t, model[h], clone(words))
				sampled[h] = true
			})
			require.Len(t, sampled, min(n, shard.Len()))
		}
		shard.Unlock()
		require.Equal(t, model[h], clone(find(table, h)))
		require.Equal(t, len(model), table.Len())
	}
	verify(t, table)
	for h, words := range model {
		require.Equal(t, words, clone(find(table, h)))
	}
	for i := range table.Shards() {
		shard := &table.Shards()[i]
		shard.Sweep(func(uint64, []uint64, bool) bool { return true })
	}
	require.Zero(t, table.Len())
	verify(t, table)
}

func find[A any](table *Table[A], hash uint64) []uint64 {
	return slotAt(table.Find(hash))
}

func slotAt(p Place, found bool) []uint64 {
	if !found {
		return nil
	}
	return p.Slot()
}

func clone(slot []uint64) []uint64 {
	if slot == nil {
		return nil
	}
	return append([]uint64{}, slot...)
}

// TestASweepAsksAgain: a word that is changed between the two looks of a sweep
// is kept, however many of them, and with its last value.
func TestASweepAsksAgain(t *testing.T) {
	table := New[struct{}](1, 1, 0)
	shard := table.Shard(0)
	good := hashes["good"]
	for n := range uint64(1000) {
		shard.Insert(good(n), Place{}, []uint64{7})
	}
	asked := 0
	dropped := shard.Sweep(func(_ uint64, words []uint64, stopped bool) bool {
		if asked++; asked == 1000 {
			for n := range uint64(990) {
				slot := find(table, good(n))
				require.True(t, atomic.CompareAndSwapUint64(&slot[0], 7, n+8))
			}
		}
		return words[0] == 7
	})
	require.Equal(t, 10, dropped)
	require.Equal(t, 2000, asked)
	for n := range uint64(990) {
		require.Equal(t, []uint64{n + 8}, find(table, good(n)))
	}
	verify(t, table)
}

// TestNothingIsLostBesideGrowthAndSweeps: goroutines count in slots without a
// lock while others insert, delete, replace and sweep all at once.
func TestNothingIsLostBesideGrowthAndSweeps(t *testing.T) {
	for name, hash := range map[string]func(uint64) uint64{
		"good":     hashes["good"],
		"one home": func(n uint64) uint64 { return n + leastKey },
	} {
		for _, shards := range []int{1, 8} {
			t.Run(fmt.Sprintf("%s, %d shards", name, shards), func(t *testing.T) {
				nothingIsLost(t, hash, shards)
			})
		}
	}
}

func nothingIsLost(t *testing.T, hash func(uint64) uint64, shards int) {
	const (
		kept     = 50 // keys that are counted in, and never deleted
		counting = 4
		times    = 20_000
	)
	table := New[struct{}](shards, 2, 0)
	insert := func(h uint64) {
		shard := table.Shard(h)
		shard.Lock()
		defer shard.Unlock()
		if place, found := shard.Find(h); !found {
			shard.Insert(h, place, []uint64{2, 2}) // 2: may go once it is odd, which kept keys never are
		}
	}
	for n := range uint64(kept) {
		insert(hash(n))
	}
	var counts, churn sync.WaitGroup
	var stop atomic.Bool
	for i := range uint64(2) {
		churn.Go(func() {
			random := rand.New(rand.NewPCG(i, 9))
			for !stop.Load() {
				h := hash(kept + random.Uint64N(500))
				insert(h)
				shard := table.Shard(h)
				shard.Lock()
				switch slot := slotAt(shard.Find(h)); {
				case slot == nil:
				case random.IntN(3) == 0:
					shard.Delete(h, atomic.LoadUint64(&slot[0]))
				case random.IntN(3) == 0:
					if other := h ^ 1<<21; table.Shard(other) == shard && find(table, other) == nil {
						shard.Replace(h, atomic.LoadUint64(&slot[0]), other, []uint64{3, 3})
					}
				case random.IntN(20) == 0:
					shard.Sweep(func(_ uint64, words []uint64, _ bool) bool { return words[0]%2 == 1 })
				}
				shard.Unlock()
				runtime.Gosched()
			}
		})
	}
	for i := range uint64(counting) {
		counts.Go(func() {
			random := rand.New(rand.NewPCG(i, 10))
			for range times {
				h := hash(random.Uint64N(kept))
				for done := false; !done; {
					slot := find(table, h)
					if slot == nil { // its array is being left
						shard := table.Shard(h)
						shard.Lock()
						slot = slotAt(shard.Find(h))
						shard.Unlock()
					}
					if word := atomic.LoadUint64(&slot[0]); word != Moved {
						done = atomic.CompareAndSwapUint64(&slot[0], word, word+2)
					}
				}
			}
		})
	}
	counts.Wait()
	stop.Store(true)
	churn.Wait()
	sum := uint64(0)
	for n := range uint64(kept) {
		sum += find(table, hash(n))[0] - 2
	}
	require.EqualValues(t, 2*counting*times, sum)
	verify(t, table)
}

// TestMostIsNeverExceeded: many goroutines insert into a table with a bound.
func TestMostIsNeverExceeded(t *testing.T) {
	table := New[struct{}](16, 1, 100)
	var group sync.WaitGroup
	var inserted atomic.Int64
	for i := range uint64(8) {
		group.Go(func() {
			for n := range uint64(200) {
				h := hashes["good"](i*200 + n)
				shard := table.Shard(h)
				shard.Lock()
				if shard.Insert(h, Place{}, []uint64{1}) != nil {
					inserted.Add(1)
				}
				shard.Unlock()
				require.LessOrEqual(t, table.Len(), 100)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 100, inserted.Load())
	require.True(t, table.Full())
	verify(t, table)
}

// TestMemoryFitsTheUse: however many keys there are, a key of one word takes at
// most 22 bytes, and a table that was swept empty next to nothing.
func TestMemoryFitsTheUse(t *testing.T) {
	table := New[struct{}](1024, 1, 0)
	n := uint64(0)
	for _, keys := range []uint64{300_000, 350_000, 400_000, 450_000, 600_000} {
		for ; n < keys; n++ {
			h := hashes["good"](n)
			shard := table.Shard(h)
			shard.Lock()
			shard.Insert(h, Place{}, []uint64{1})
			shard.Unlock()
		}
		bytes := 0
		for i := range table.shards {
			bytes += 8 * cap(table.shards[i].array().Load().entries)
		}
		require.Less(t, float64(bytes)/float64(keys), 22.0, "%d keys", keys)
	}
	for i := range table.shards {
		table.shards[i].Sweep(func(uint64, []uint64, bool) bool { return true })
		require.Empty(t, table.shards[i].array().Load().entries)
	}
}
