package arena

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// fill makes blocks of many sizes, writes to each, and returns them.
func fill(a *Arena, refs []Ref) []Ref {
	for n := 1; n < 600; n += 7 {
		r := a.Resize(0, n)
		for i := range a.Bytes(r) {
			a.Bytes(r)[i] = byte(n)
		}
		refs = append(refs, r)
	}
	return refs
}

// TestAScratchArenaBeginsAnewInTheSameMemory: once cleared it gives the same blocks
// again, and needs no more memory for them.
func TestAScratchArenaBeginsAnewInTheSameMemory(t *testing.T) {
	a := NewScratch(16)
	require.Equal(t, 16, a.Unit())
	first := fill(a, nil)
	for _, r := range first[:20] {
		a.Resize(r, 0)
	}
	require.False(t, a.Empty())
	a.Clear()
	require.True(t, a.Empty())

	again := make([]Ref, 0, len(first))
	require.Equal(t, first, fill(a, again))
	for i, r := range first {
		for _, b := range a.Bytes(r) {
			require.Equal(t, byte(1+7*i), b, "block %d shares memory with another", i)
		}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		a.Clear()
		fill(a, again)
	}))
	require.Zero(t, testing.AllocsPerRun(10, func() {
		for _, r := range fill(a, again) {
			a.Resize(r, 0)
		}
		a.Clear()
	}), "blocks that were given back are used again")
}

// TestAnArenaIsSparseWhereMoreThanAQuarterIsFree: of one class of blocks.
func TestAnArenaIsSparseWhereMoreThanAQuarterIsFree(t *testing.T) {
	a := New(8)
	require.False(t, a.Sparse())
	var refs []Ref
	for range 100 {
		a.Resize(0, 2)
		refs = append(refs, a.Resize(0, 5))
	}
	for _, r := range refs[:25] {
		require.False(t, a.Sparse())
		a.Resize(r, 0)
	}
	require.False(t, a.Sparse())
	a.Resize(refs[25], 0)
	require.True(t, a.Sparse())
}

func TestTooManyBlocksOfAClassAreRefused(t *testing.T) {
	a := New(1)
	a.Resize(0, 1)
	a.slabs[1].count = 1 << numberBits
	require.PanicsWithValue(t, "arena: more than 2^26 blocks of a class", func() { a.Resize(0, 1) })
}
