package arena

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClasses(t *testing.T) {
	for n := range 5000 {
		class := classFor(n)
		require.GreaterOrEqual(t, units(class), n)
		require.LessOrEqual(t, units(class), n+n/2)
		if class > 0 {
			require.Less(t, units(class-1), n)
		}
	}
	require.Less(t, classFor(1<<30), classes)
}

// TestAgainstAMap resizes, packs and releases blocks at random, small and
// large, and compares their bytes with a map's.
func TestAgainstAMap(t *testing.T) {
	for _, unit := range []int{1, 7, 16} {
		random := rand.New(rand.NewPCG(3, uint64(unit)))
		a := New(unit)
		model := map[int][]byte{}
		refs := map[int]Ref{}
		for step := range 20_000 {
			i := random.IntN(60)
			n := random.IntN(20)
			switch random.IntN(100) {
			case 0:
				n = random.IntN(3 * largeBytes / unit)
			case 1, 2, 3, 4:
				if n < 10 {
					n = 0
				}
			}
			refs[i] = a.Resize(refs[i], n)
			require.Equal(t, n == 0, refs[i] == 0)
			block := a.Bytes(refs[i])
			require.Len(t, block, a.Len(refs[i])*unit)
			require.GreaterOrEqual(t, len(block), n*unit)
			kept := model[i][:min(len(model[i]), n*unit)]
			require.True(t, bytes.Equal(kept, block[:len(kept)]), "step %d", step)
			block = block[:n*unit]
			for j := range block {
				block[j] = byte(random.Uint32())
			}
			model[i] = bytes.Clone(block)
			if step%500 == 0 {
				a.Pack(func(move func(Ref) Ref) {
					for i, r := range refs {
						if r != 0 {
							refs[i] = move(r)
						}
					}
				})
				require.False(t, a.Sparse())
			}
			for i, want := range model {
				require.True(t, bytes.Equal(want, a.Bytes(refs[i])[:len(want)]))
			}
		}
		for i := range refs {
			require.Zero(t, a.Resize(refs[i], 0))
		}
		require.True(t, a.Empty())
	}
}

func TestSlackIsSmall(t *testing.T) {
	a := New(7)
	var refs []Ref
	for n := 1; n <= 2000; n++ {
		refs = append(refs, a.Resize(0, 3))
		if n >= 500 {
			require.LessOrEqual(t, cap(a.slabs[3].bytes), n*21*130/100, "%d blocks", n)
		}
	}
	for _, r := range refs[:1500] {
		a.Resize(r, 0)
	}
	require.True(t, a.Sparse())
	a.Pack(func(move func(Ref) Ref) {
		for i := range refs[1500:] {
			refs[1500+i] = move(refs[1500+i])
		}
	})
	require.LessOrEqual(t, cap(a.slabs[3].bytes), 500*21*130/100)
}
