package table

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// filled returns a table of one shard with keys 0 to n-1, whose words are their
// number, over and over.
func filled(t *testing.T, words, n int) (*Table[struct{}], *Shard[struct{}]) {
	t.Helper()
	table := New[struct{}](1, words, 0)
	shard := table.Shard(0)
	for i := range uint64(n) {
		shard.Insert(hashes["good"](i), Place{}, repeated(i, words))
	}
	verify(t, table)
	return table, shard
}

func repeated(word uint64, words int) []uint64 { return slices.Repeat([]uint64{word}, words) }

// TestASizeIsTheLeastThatIsNotTooFull: of those 4 * growth^(i + step).
func TestASizeIsTheLeastThatIsNotTooFull(t *testing.T) {
	table := New[struct{}](8, 0, 0)
	for i := range table.shards {
		for _, words := range []int{1, 2, 3, 9} {
			s := &table.shards[i]
			s.width = int32(1 + words)
			growth := 1 + 1/float64(2*s.width)
			require.Zero(t, s.placesFor(0))
			for keys := 1; keys < 1000; keys++ {
				size := func(step int) float64 { return 4 * math.Pow(growth, float64(step)+s.step()) }
				step := 0
				for size(step)*0.9 < float64(keys) {
					step++
				}
				require.Equal(t, int(math.Ceil(size(step))), s.placesFor(keys), "%d keys of %d words", keys, words)
			}
		}
	}
}

// TestShardsGrowOutOfStep: their steps lie evenly between 0 and 1.
func TestShardsGrowOutOfStep(t *testing.T) {
	const shards = 64
	var steps []float64
	table := New[struct{}](shards, 1, 0)
	for i := range table.shards {
		steps = append(steps, table.shards[i].step())
	}
	slices.Sort(steps)
	require.Zero(t, steps[0])
	for i, step := range append(steps[1:], 1) {
		require.Less(t, step-steps[i], 2.7/shards)
	}
}

// TestAnArrayFillsItsMemory: it is of whole cache lines, and wastes less than one.
func TestAnArrayFillsItsMemory(t *testing.T) {
	for words := 1; words < 10; words++ {
		_, shard := filled(t, words, 0)
		perLine := map[int]int{1: 4, 3: 2}[words] // entries
		for places := 1; places < 200; places++ {
			a := shard.newArray(places)
			require.GreaterOrEqual(t, int(a.places), places)
			require.Len(t, a.entries, int(a.places)*(1+words))
			require.Zero(t, int(a.places)%max(1, perLine))
			require.Less(t, cap(a.entries)-len(a.entries), max(1, perLine)*(1+words))
		}
	}
}

// TestKeysAreAtHand: in an array that is nearly full, too, a key is a few entries
// from its home on average, and the homes are first in a cache line.
func TestKeysAreAtHand(t *testing.T) {
	for _, shards := range []int{1, 16} {
		for _, words := range []int{1, 2, 3} {
			table := New[struct{}](shards, words, 0)
			distance, keys := 0, 20_000
			for n := range uint64(keys) {
				h := hashes["good"](n)
				shard := table.Shard(h)
				shard.Insert(h, Place{}, repeated(n, words))
			}
			for n := range uint64(keys) {
				h := hashes["good"](n)
				p, found := table.Find(h)
				require.True(t, found)
				home := p.array.home(h)
				require.Zero(t, home/uint64(1+words)%max(1, uint64(map[int]int{1: 4, 3: 2}[words])))
				for at := home; at != p.at; at = p.array.next(at) {
					distance++
				}
			}
			require.Less(t, float64(distance)/float64(keys), 10.0, "%d shards, %d words", shards, words)
		}
	}
}

func TestShardsAreAPowerOfTwoAndAllInUse(t *testing.T) {
	for shards, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 16: 16} {
		table := New[struct{}](shards, 1, 0)
		require.Len(t, table.Shards(), want)
		require.Len(t, table.arrays, want)
		insert(table, 0, 1000)
		for i := range table.Shards() {
			require.NotZero(t, table.Shards()[i].Len())
		}
	}
}

func TestASlotOfTooManyWordsIsRefused(t *testing.T) {
	require.Equal(t, 65535, entryWidth(65534))
	require.PanicsWithValue(t, "table: a slot of 65535 words", func() { New[struct{}](1, 65535, 0) })
}

// TestAnArrayIsKeptWhileItHasRoom: the next has room for a sixteenth more keys.
func TestAnArrayIsKeptWhileItHasRoom(t *testing.T) {
	for _, words := range []int{1, 2, 9} { // sizes are a quarter, a sixth and a twentieth apart
		_, shard := filled(t, words, 0)
		for n := range 3000 {
			full, before := shard.used >= shard.most, shard.array().Load()
			shard.Insert(hashes["good"](uint64(n)), Place{}, repeated(0, words))
			if after := shard.array().Load(); full {
				live := n + 1
				require.Equal(t, shard.newArray(shard.placesFor(live+1+live/16)).places, after.places)
			} else {
				require.Same(t, before, after)
			}
		}
	}
}

func TestALineHoldsAPowerOfTwoEntriesOrIsNotLookedAt(t *testing.T) {
	for width, more := range map[int]uint8{1: 7, 2: 3, 3: 0, 4: 1, 5: 0, 6: 0, 7: 0, 8: 0, 9: 0, 16: 0} {
		require.Equal(t, more, lineOf(width), "entries of %d words", width)
	}
}

// TestEveryKeyIsCounted: of shards that count at once, each under its own lock.
func TestEveryKeyIsCounted(t *testing.T) {
	const each = 100_000
	table := New[struct{}](4, 1, math.MaxInt)
	var group sync.WaitGroup
	for i := range table.Shards() {
		s := &table.Shards()[i]
		group.Go(func() {
			for range each {
				s.Lock()
				require.True(t, s.add())
				s.Unlock()
			}
		})
	}
	group.Wait()
	require.Equal(t, 4*each, table.Len())
}

func TestAFreePlaceIsFreeUntilItIsTaken(t *testing.T) {
	_, shard := filled(t, 1, 100)
	h := hashes["good"](100)
	p, found := shard.Find(h)
	require.False(t, found)
	require.True(t, shard.Free(p))
	require.False(t, shard.Free(Place{}))

	shard.Insert(h, p, []uint64{1})
	require.False(t, shard.Free(p), "it is taken")

	other, _ := shard.Find(hashes["good"](101))
	shard.rebuild(shard.placesFor(200), nil)
	require.False(t, shard.Free(other), "it is in an array that was left")

	empty := New[struct{}](1, 1, 0)
	p, found = empty.Find(h)
	require.False(t, found)
	require.False(t, empty.Shard(h).Free(p), "there is no place yet")
}

// TestADeletedSlotSaysSo: who still has its word sees that it moved.
func TestADeletedSlotSaysSo(t *testing.T) {
	table, shard := filled(t, 2, 100)
	h, other := hashes["good"](5), hashes["good"](100)
	place, _ := table.Find(h)
	require.False(t, shard.Delete(h, 6), "its word is another")
	require.Nil(t, shard.Replace(h, 6, other, repeated(7, 2)))
	require.Equal(t, repeated(5, 2), find(table, h))
	require.Equal(t, 100, table.Len())

	require.Equal(t, repeated(7, 2), shard.Replace(h, 5, other, repeated(7, 2)))
	require.Equal(t, uint64(Moved), *place.Word())
	require.Nil(t, find(table, h))
	require.Equal(t, repeated(7, 2), find(table, other))
	require.Equal(t, 100, table.Len())

	place, _ = table.Find(other)
	require.True(t, shard.Delete(other, 7))
	require.Equal(t, uint64(Moved), *place.Word())
	require.Nil(t, find(table, other))
	require.Equal(t, 99, table.Len())
	verify(t, table)
}

func TestATableOfAtMostOneHasOneAtATime(t *testing.T) {
	table := New[struct{}](1, 1, 1)
	shard := table.Shard(0)
	require.False(t, table.Full())
	for n := range uint64(3) {
		require.NotNil(t, shard.Insert(hashes["good"](n), Place{}, []uint64{n}))
		require.True(t, table.Full())
		require.Nil(t, shard.Insert(hashes["good"](9), Place{}, []uint64{9}))
		require.Equal(t, 1, table.Len())
		require.True(t, shard.Delete(hashes["good"](n), n))
		require.False(t, table.Full())
		require.Zero(t, table.Len())
	}
	require.NotNil(t, shard.Insert(hashes["good"](0), Place{}, []uint64{0}))
	require.Equal(t, 1, shard.Sweep(func(uint64, []uint64, bool) bool { return true }))
	require.False(t, table.Full())
}

func TestATableOfAnyNumberIsNeverFull(t *testing.T) {
	require.False(t, New[struct{}](1, 1, 0).Full())
	table, _ := filled(t, 1, 100)
	require.False(t, table.Full())
}

// TestASweepAsksTwice: first while the words go on changing, then, when they have
// stopped, of each key again, with all of its words both times.
func TestASweepAsksTwice(t *testing.T) {
	const keys = 1000
	for _, words := range []int{1, 3} {
		table, shard := filled(t, words, keys)
		var asked []string
		stale := func(h uint64, got []uint64, stopped bool) bool {
			require.Equal(t, hashes["good"](got[0]), h)
			require.Equal(t, repeated(got[0], words), got)
			asked = append(asked, fmt.Sprint(stopped))
			return got[0]%2 == 0
		}
		require.Equal(t, keys/2, shard.Sweep(stale))
		want := append(slices.Repeat([]string{"false"}, keys), slices.Repeat([]string{"true"}, keys)...)
		require.Equal(t, want, asked)
		require.Equal(t, shard.newArray(shard.placesFor(keys/2)).places, shard.array().Load().places)
		for n := range uint64(keys) {
			require.Equal(t, n%2 == 1, find(table, hashes["good"](n)) != nil)
		}
		verify(t, table)
	}
}

// TestAFifthOfDeadIsWorthASweep: that is more than a quarter of the living.
func TestAFifthOfDeadIsWorthASweep(t *testing.T) {
	table, shard := filled(t, 1, 1000)
	for n := range uint64(200) {
		require.True(t, shard.Delete(hashes["good"](n), n))
	}
	before := shard.array().Load()
	require.Equal(t, 1000, shard.used, "nothing was made anew while they went")
	require.Zero(t, shard.Sweep(never))
	require.Same(t, before, shard.array().Load())

	require.True(t, shard.Delete(hashes["good"](200), 200))
	require.Zero(t, shard.Sweep(never))
	require.NotSame(t, before, shard.array().Load())
	require.Equal(t, 799, shard.used)
	verify(t, table)
}

// TestASweepThatKeepsMoreThanItThoughtGrows: each time by as little as it can.
func TestASweepThatKeepsMoreThanItThoughtGrows(t *testing.T) {
	for words := 1; words < 5; words++ {
		for keys := range 100 {
			table, shard := filled(t, words, keys)
			dropped := shard.Sweep(func(_ uint64, _ []uint64, stopped bool) bool { return !stopped })
			require.Zero(t, dropped)
			want := shard.newArray(0)
			for n := range keys {
				if n >= want.most() {
					want = shard.newArray(shard.placesFor(n + 1))
				}
			}
			require.Equal(t, want.places, shard.array().Load().places, "%d keys of %d words", keys, words)
			for n := range uint64(keys) {
				require.Equal(t, repeated(n, words), find(table, hashes["good"](n)))
			}
			verify(t, table)
		}
	}
}

// TestConvertGivesEveryKeyASlotOfTheNewKind: and who has one of the old kind sees
// that it moved.
func TestConvertGivesEveryKeyASlotOfTheNewKind(t *testing.T) {
	const keys = 300
	for _, c := range []struct{ from, to int }{{1, 1}, {1, 3}, {3, 1}, {2, 5}} {
		table, shard := filled(t, c.from, keys)
		require.True(t, shard.Delete(hashes["good"](keys-1), keys-1))
		old, _ := table.Find(hashes["good"](0))
		require.Zero(t, old.Epoch())
		converted := 0
		shard.Convert(c.to, 7, func(h uint64, from, to []uint64) {
			require.Equal(t, repeated(from[0], c.from), from)
			require.Equal(t, hashes["good"](from[0]), h)
			require.Equal(t, make([]uint64, c.to), to)
			to[c.to-1] = from[0] + 1
			converted++
		})
		require.Equal(t, keys-1, converted)
		require.Equal(t, keys-1, shard.used)
		require.Equal(t, uint64(Moved), atomic.LoadUint64(old.Word()))
		for n := range uint64(keys - 1) {
			p, found := table.Find(hashes["good"](n))
			require.True(t, found)
			require.EqualValues(t, 7, p.Epoch())
			want := make([]uint64, c.to)
			want[c.to-1] = n + 1
			require.Equal(t, want, p.Slot())
		}
		insert(table, keys, 2*keys)
		p, _ := table.Find(hashes["good"](keys))
		require.EqualValues(t, 7, p.Epoch(), "an array made later has the epoch too")
		verify(t, table)
	}
}

func TestEachComesByEverySlot(t *testing.T) {
	table, shard := filled(t, 2, 100)
	seen := map[uint64]bool{}
	shard.Each(func(h uint64, slot []uint64) {
		require.Equal(t, hashes["good"](slot[0]), h)
		require.Len(t, slot, 2)
		slot[1] = 8
		seen[slot[0]] = true
	})
	require.Len(t, seen, 100)
	require.Equal(t, []uint64{3, 8}, find(table, hashes["good"](3)))
}

func TestASampleIsOfDifferentKeys(t *testing.T) {
	_, shard := filled(t, 2, 100)
	began := map[uint64]bool{}
	for n := range 120 {
		seen := map[uint64]bool{}
		first := true
		shard.Sample(uint64(n)*0x9e3779b97f4a7c15, n, func(h uint64, words []uint64) {
			require.Equal(t, hashes["good"](words[0]), h)
			require.Equal(t, repeated(words[0], 2), words)
			seen[h] = true
			if first {
				began[h], first = true, false
			}
		})
		require.Len(t, seen, min(n, 100))
	}
	require.Greater(t, len(began), 30, "it begins anywhere")
}
