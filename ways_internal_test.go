package weir

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// allWays returns who pays in each way: of All a way of each part, the first part's varying the quickest, of FirstOf one
// part's.
func allWays(p *spec, number int) (ways [][]int) {
	if !p.combined() {
		return [][]int{{number}}
	}
	for i, part := range p.parts {
		more := allWays(part.spec, number)
		number += part.leaves
		if i == 0 || p.algorithm == AlgorithmFirstOf {
			ways = append(ways, more...)
			continue
		}
		var both [][]int
		for _, m := range more {
			for _, w := range ways {
				both = append(both, append(append([]int(nil), w...), m...))
			}
		}
		ways = both
	}
	return ways
}

// payers returns who pays n, and how long that has to wait: in FirstOf the first of those who wait least.
func payers(p *spec, s state, number int, now, n int64) (who []int, wait int64) {
	if !p.combined() {
		return []int{number}, int64(p.wait(s, now, n))
	}
	from := 0
	for i, part := range p.parts {
		of, w := payers(part.spec, s.part(from, from+part.size), number, now, n)
		switch {
		case p.algorithm == AlgorithmAll:
			who, wait = append(who, of...), max(wait, w)
		case i == 0 || w < wait:
			who, wait = of, w
		}
		from, number = from+part.size, number+part.leaves
	}
	return who, wait
}

func paying(p *spec, w way, s state) (who []int) {
	p.eachPayer(w, s, func(number int, leaf *spec, s state) {
		who = append(who, number)
		if len(s.words) != leaf.size {
			panic("another leaf's words")
		}
	})
	return who
}

// TestAWayIsWhoPays: the least wait in each FirstOf, wherever it is.
func TestAWayIsWhoPays(t *testing.T) {
	a, b, c := TokenBucket(PerSecond(1)), FixedWindow(PerSecond(2)), SlidingCounter(PerMinute(3))
	d, e := SlidingWindow(PerSecond(2)), TokenBucket(PerMinute(4))
	random := rand.New(rand.NewPCG(3, 4))
	for _, p := range []Policy{
		a, All(a, b), FirstOf(a, b), FirstOf(b, c, a),
		All(FirstOf(a, b), c, FirstOf(d, e, b)),
		FirstOf(All(a, b), FirstOf(c, d), All(FirstOf(e, a), FirstOf(b, c))),
		All(FirstOf(All(FirstOf(a, b), c), d), All(FirstOf(e, a), FirstOf(c, b))),
	} {
		ways := allWays(p.spec, 0)
		require.EqualValues(t, len(ways), p.ways, "%v", p)
		var book logbook
		s := state{words: make([]uint64, p.size), logs: &book}
		for w, want := range ways {
			require.Equal(t, want, paying(p.spec, uint64(w), s), "way %d of %v", w, p)
		}
		now := int64(0)
		for range 200 {
			now += random.Int64N(1e9)
			n := 1 + random.Int64N(2)
			who, _ := payers(p.spec, s, 0, now, n)
			w := p.way(nil, 0, s, now, n)
			require.Equal(t, who, paying(p.spec, w, s), "%v", p)
			if random.IntN(3) > 0 {
				p.pay(w, s, now, n)
				s.newest = mark(now)
			}
		}
	}
}

// TestWaysAreCountedUpTo2To63: more are too many, which is 0.
func TestWaysAreCountedUpTo2To63(t *testing.T) {
	const most = 1 << 63
	for _, c := range []struct {
		a                Algorithm
		ways, more, want uint64
	}{
		{AlgorithmAll, 3, 5, 15},
		{AlgorithmAll, 1 << 32, 1 << 31, most},
		{AlgorithmAll, 1 << 32, 1<<31 + 1, 0},
		{AlgorithmAll, most, 1, most},
		{AlgorithmAll, most, 2, 0},
		{AlgorithmAll, most, 3, 0},
		{AlgorithmAll, most, 4, 0},
		{AlgorithmAll, 1 << 33, 1 << 33, 0},
		{AlgorithmAll, 3, most / 2, 0},
		{AlgorithmFirstOf, 3, 5, 8},
		{AlgorithmFirstOf, most - 1, 1, most},
		{AlgorithmFirstOf, most, 1, 0},
		{AlgorithmFirstOf, most - 1, 3, 0},
	} {
		require.Equal(t, c.want, waysOf(c.a, c.ways, c.more, false), "%v %d %d", c.a, c.ways, c.more)
	}
	require.EqualValues(t, 7, waysOf(AlgorithmAll, 0, 7, true))
}
