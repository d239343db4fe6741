package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func insert[A any](table *Table[A], from, to uint64) {
	for n := from; n < to; n++ {
		h := hashes["good"](n)
		shard := table.Shard(h)
		shard.Lock()
		shard.Insert(h, Place{}, []uint64{1})
		shard.Unlock()
	}
}

func remove[A any](t *testing.T, table *Table[A], from, to uint64) {
	for n := from; n < to; n++ {
		h := hashes["good"](n)
		shard := table.Shard(h)
		shard.Lock()
		if !shard.Delete(h, 1) {
			t.Fatalf("key %d is not there", n)
		}
		shard.Unlock()
	}
}

func never(uint64, []uint64, bool) bool { return false }

// words returns how many words all the arrays have.
func words[A any](table *Table[A]) (sum int) {
	for i := range table.shards {
		sum += cap(table.shards[i].array().Load().entries)
	}
	return sum
}

// TestASweepGivesBackWhatDeletedKeysTook: it does so where nobody is stale, too.
func TestASweepGivesBackWhatDeletedKeysTook(t *testing.T) {
	const keys = 500_000
	for _, most := range []int{0, keys} {
		table := New[struct{}](512, 1, most)
		insert(table, 0, keys)
		full := words(table)

		remove(t, table, 0, keys*3/4)
		for i := range table.shards {
			require.Zero(t, table.shards[i].Sweep(never))
		}
		require.Equal(t, keys/4, table.Len())
		require.Less(t, words(table), full/2)
		verify(t, table)
		for n := range uint64(keys) {
			require.Equal(t, n >= keys*3/4, find(table, hashes["good"](n)) != nil)
		}

		remove(t, table, keys*3/4, keys)
		for i := range table.shards {
			require.Zero(t, table.shards[i].Sweep(never))
			require.Nil(t, table.shards[i].array().Load().entries)
		}
		require.Zero(t, table.Len())
		verify(t, table)
		insert(table, 0, 1000)
		require.Equal(t, 1000, table.Len())
		verify(t, table)
	}
}

// TestAFewDeadAreNotWorthASweep: a table where little happens is not copied at every sweep.
func TestAFewDeadAreNotWorthASweep(t *testing.T) {
	table := New[struct{}](1, 1, 0)
	shard := table.Shard(0)
	insert(table, 0, 1000)
	remove(t, table, 0, 100)
	before := shard.array().Load()
	require.Zero(t, shard.Sweep(never))
	require.Same(t, before, shard.array().Load())
}
