package arena

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks returns that many blocks of so many units.
func blocks(a *Arena, count, n int) (refs []Ref) {
	for range count {
		refs = append(refs, a.Resize(0, n))
	}
	return refs
}

func TestABlockStaysWhereItIsIfItsSizeDoes(t *testing.T) {
	a := New(4)
	refs := blocks(a, 3, 5)
	require.Equal(t, refs[1], a.Resize(refs[1], 6))
	require.NotEqual(t, refs[1], a.Resize(refs[1], 7))
}

// TestFreeBlocksAreUsedAgain: all of them, before there are any more.
func TestFreeBlocksAreUsedAgain(t *testing.T) {
	for _, unit := range []int{7, largeBytes / 3} { // small blocks and large ones
		a := New(unit)
		refs := blocks(a, 6, 3)
		for _, r := range refs[1:5] {
			a.Resize(r, 0)
		}
		require.ElementsMatch(t, refs[1:5], blocks(a, 4, 3))
		require.Equal(t, 6, a.slabs[3].count)
	}
}

// TestALargeBlockIsAPieceOfItsOwn: which is given back with it, and made again if
// need be, but not in an arena that keeps its memory.
func TestALargeBlockIsAPieceOfItsOwn(t *testing.T) {
	for _, size := range []int{largeBytes, 2 * largeBytes} {
		for _, keeps := range []bool{false, true} {
			a := New(size)
			a.keeps = keeps
			refs := blocks(a, 2, 1)
			a.Resize(refs[0], 0)
			require.Equal(t, keeps, a.slabs[1].large[0] != nil)
			require.Equal(t, refs[0], a.Resize(0, 1))
			require.Len(t, a.Bytes(refs[0]), size)
			require.Len(t, a.slabs[1].large, 2)
			require.Nil(t, a.slabs[1].bytes)
		}
	}
}

// TestAClassIsKeptUntilItIsPacked: what comes and goes allocates nothing. While there are
// others.
func TestAClassIsKeptUntilItIsPacked(t *testing.T) {
	a := New(8)
	small, large := blocks(a, 10, 1), blocks(a, 10, 2)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, r := range small {
			a.Resize(r, 0)
		}
		for i := range small {
			small[i] = a.Resize(0, 1)
		}
	}))
	for _, r := range small {
		a.Resize(r, 0)
	}
	require.NotNil(t, a.slabs[1].bytes)
	a.Pack(func(move func(Ref) Ref) {
		for i, r := range large {
			large[i] = move(r)
		}
	})
	require.Empty(t, a.slabs[1].bytes)
	require.Len(t, a.Bytes(large[9]), 16)
}

// TestAClassGrowsByASixteenth: so that it is seldom copied.
func TestAClassGrowsByASixteenth(t *testing.T) {
	const size = 2048
	a := New(size)
	for n := 1; n <= 1000; n++ {
		var before []byte
		if len(a.slabs) > 1 {
			before = a.slabs[1].bytes
		}
		blocks(a, 1, 1)
		if after := a.slabs[1].bytes; len(after) != len(before) {
			require.Greater(t, n*size, len(before), "there was room")
			require.GreaterOrEqual(t, len(after), (n+n/16)*size)
		}
	}
}

// TestPackLeavesNothingOver: no more than the allocator gives for it.
func TestPackLeavesNothingOver(t *testing.T) {
	for _, size := range []int{64, largeBytes / 2, largeBytes, 2 * largeBytes} {
		a := New(size)
		refs := blocks(a, 1000, 1)
		for _, r := range refs[:700] {
			a.Resize(r, 0)
		}
		require.True(t, a.Sparse())
		a.Pack(func(move func(Ref) Ref) {
			for i, r := range refs[700:] {
				refs[700+i] = move(r)
			}
		})
		require.False(t, a.Sparse())
		if size >= largeBytes {
			require.Nil(t, a.slabs[1].bytes)
			require.Len(t, a.slabs[1].large, 300)
		} else {
			require.Len(t, a.slabs[1].bytes, len(grown(nil, 300*size)))
		}
		for _, r := range refs[700:] {
			require.Len(t, a.Bytes(r), size)
		}
	}
}
