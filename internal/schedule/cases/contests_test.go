package cases

import (
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// contests are all choices of a number of threads, each of which does one of
// several things.
type contests struct {
	do      [][]operation
	threads int
	with    [][]operation // that there are as well
	sleep   time.Duration
	endless bool // a run may have no end
	world   func() *world
}

// run explores them, up to the first failure.
func (c contests) run(t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		var sum row
		for threads := range choices(c.do, c.threads) {
			one := &contest{world: c.world, threads: append(threads, c.with...), sleep: c.sleep, endless: c.endless}
			r, err := one.explore()
			sum.add(r)
			explored.add(t.Name(), one.name(), r)
			if err != nil {
				t.Errorf("%s: %v", one.name(), err)
				break
			}
			require.True(t, r.Done || c.endless || *runs > 0, one.name())
		}
		t.Log(&sum)
	})
}

// choices yields each n of some, with repetition.
func choices[T any](from []T, n int) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		if n == 0 {
			yield(nil)
			return
		}
		for i, one := range from {
			for rest := range choices(from[i:], n-1) {
				if !yield(append([]T{one}, rest...)) {
					return
				}
			}
		}
	}
}

// TestEveryInterleaving: of two who take all are run, and come to what those come to
// that are run otherwise.
func TestEveryInterleaving(t *testing.T) {
	worlds := map[string]func(k kind) *world{"limiter": newLimiter}
	if *large {
		worlds["client"] = func(k kind) *world { return newClients(k) }
	}
	for name, of := range worlds {
		for _, k := range kinds[:2] {
			for threads := range choices(subjects[:3], 2) {
				c := contest{world: func() *world { return starts[1].of(of(k)) }, threads: threads, every: true}
				every, err := c.explore()
				require.NoError(t, err, c.name())
				c.every, c.count = false, true
				some, err := c.explore()
				require.NoError(t, err, c.name())
				require.EqualValues(t, every.Runs, some.Interleavings)
				every.Interleavings = some.Interleavings
				explored.add(t.Name(), c.name(), every)
				t.Logf("%s on a %s of a %s: %d interleavings, %d runs", c.name(), name, k.name, every.Runs, some.Runs)
			}
		}
	}
}

// TestTwoOnALimiter: each operation beside each, from each state.
func TestTwoOnALimiter(t *testing.T) {
	for _, k := range kinds {
		for _, s := range starts {
			c := contests{do: subjects, threads: 2, world: func() *world { return s.of(newLimiter(k)) }}
			c.run(t, k.name+"/"+s.name)
		}
	}
}

func TestTwoOnClients(t *testing.T) {
	for i, k := range kinds {
		states := clientStarts
		if i >= 2 {
			states = states[:sized(2, len(states))]
		}
		for _, s := range states {
			c := contests{do: all, threads: 2, world: func() *world { return s.of(newClients(k)) }}
			c.run(t, k.name+"/"+s.name)
		}
	}
}

// TestTwoAsTimeGoesBy: each may read the clock before it goes and be done after.
func TestTwoAsTimeGoesBy(t *testing.T) {
	for _, k := range kinds[:sized(1, len(kinds))] {
		for _, s := range clientStarts[:sized(2, len(clientStarts))] {
			c := contests{do: near, threads: 2, sleep: 30 * time.Minute, world: func() *world { return s.of(newClients(k)) }}
			c.run(t, k.name+"/"+s.name)
		}
	}
}

// TestThreeOnClients: each operation beside two that take; with -large also any
// three of a few.
func TestThreeOnClients(t *testing.T) {
	for _, k := range kinds[:sized(2, len(kinds))] {
		for _, s := range clientStarts {
			c := contests{do: all, threads: 1, with: subjects[:2], world: func() *world { return s.of(newClients(k)) }}
			c.run(t, k.name+"/"+s.name)
			if *large {
				c.do, c.threads, c.with = few, 3, nil
				c.run(t, k.name+"/"+s.name+"/any three")
			}
		}
	}
}

// TestTwoInACrowd: of clients of which only one or two are held, in one shard or
// two; with -large also three.
func TestTwoInACrowd(t *testing.T) {
	for overflow, name := range []string{"EvictFullest", "DenyNew", "ShareOverflow"} {
		for most := 1; most <= 2; most++ {
			for _, k := range kinds[:sized(2, len(kinds))] {
				for _, s := range crowdStarts {
					c := contests{do: crowd, threads: 2, world: func() *world {
						w := s.of(newClients(k, weir.WithMaxClients(most, weir.Overflow(overflow))))
						// Who finds its own shard empty has another lose any client.
						w.most, w.anyVictim = most, weir.Overflow(overflow) == weir.EvictFullest && most > 1
						return w
					}}
					c.run(t, fmt.Sprintf("%s of %d/%s/%s", name, most, k.name, s.name))
					if *large {
						c.do, c.threads = crowdFew, 3
						c.run(t, fmt.Sprintf("%s of %d/%s/%s/three", name, most, k.name, s.name))
					}
				}
			}
		}
	}
}

// TestTwoOnLayers: two that charge in opposite order may give way to each other for
// ever.
func TestTwoOnLayers(t *testing.T) {
	for _, k := range kinds[:sized(2, len(kinds))] {
		for _, s := range layersStarts {
			c := contests{do: layered, threads: 2, endless: true, world: func() *world { return s.of(newLayers(k)) }}
			c.run(t, k.name+"/"+s.name)
		}
	}
}

// sized returns one size for all days, and another for -large.
func sized(small, big int) int {
	if *large {
		return big
	}
	return small
}
