package weir

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir/internal/arena"
)

// A plainLog is a sliding window as a list of what was taken, the oldest first.
type plainLog struct {
	count, period int64
	keeps         bool
	taken         []takenAt
}

type takenAt struct{ at, n int64 }

func (l *plainLog) used(now int64) (used int64) {
	for _, t := range l.taken {
		if now-t.at < l.period {
			used += t.n
		}
	}
	return used
}

func (l *plainLog) wait(now, n int64) int64 {
	if n <= l.count-l.used(now) {
		return 0
	}
	for _, t := range l.taken {
		if out := t.at + l.period; out > now && n <= l.count-l.used(out) {
			return out - now
		}
	}
	panic("never")
}

func (l *plainLog) take(now, n int64) {
	if !l.keeps {
		n = min(n, l.count)
		for i, over := 0, l.used(now)+n-l.count; over > 0; i++ {
			if t := &l.taken[i]; now-t.at < l.period {
				less := min(over, t.n)
				t.n, over = t.n-less, over-less
			}
		}
	}
	l.taken = append(l.taken, takenAt{now, n})
}

func (l *plainLog) refund(now, n int64) (given int64) {
	for i := len(l.taken) - 1; i >= 0; i-- {
		if t := &l.taken[i]; now-t.at < l.period {
			less := min(n-given, t.n)
			t.n, given = t.n-less, given+less
		}
	}
	return given
}

// giveBack takes from what was taken at an instant, which is one stamp.
func (l *plainLog) giveBack(now, at, n int64) {
	for i := range l.taken {
		if t := &l.taken[i]; t.at == at && now-at < l.period {
			less := min(n, t.n)
			t.n, n = t.n-less, n-less
		}
	}
}

// last returns when what was taken last goes out of view.
func (l *plainLog) last(now int64) int64 {
	for i := len(l.taken) - 1; i >= 0; i-- {
		if t := l.taken[i]; t.n > 0 {
			return max(0, t.at+l.period-now)
		}
	}
	return 0
}

// TestALogIsTheListOfWhatWasTaken: whatever is charged, given back and moved in memory, and beside logs of other
// formats. What is released leaves nothing behind.
func TestALogIsTheListOfWhatWasTaken(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, limits := range [][]Limit{
		{Per(1, 1), Per(3, 10)},
		{Per(5, 1000), Per(1000, time.Hour)},
		{Per(1<<30, maxSpan/2), PerSecond(7)},
	} {
		for _, keeps := range []bool{false, true} {
			testLogs(t, random, limits, keeps)
		}
	}
}

// A keptLog is a log, and what it should be.
type keptLog struct {
	state
	policy *spec
	window slidingWindow
	plain  plainLog
}

func testLogs(t *testing.T, random *rand.Rand, limits []Limit, keeps bool) {
	var book logbook
	kept := make([]keptLog, 20)
	for i := range kept {
		l := limits[i%len(limits)]
		p := SlidingWindow(l).spec
		if keeps {
			p = p.ahead
		}
		kept[i] = keptLog{
			state{0, make([]uint64, 1), &book}, p, p.meter.(slidingWindow),
			plainLog{int64(l.count), int64(l.period), keeps, nil},
		}
	}
	now := int64(1e18)
	for step := range 1500 {
		k := &kept[random.IntN(len(kept))]
		period := k.plain.period
		if random.IntN(4) == 0 {
			now += []int64{1, period / 7, period / 3, period - 1, period, 2 * period, 2*period + 1, 5 * period}[random.IntN(8)] % (1 << 50)
		}
		k.change(t, random, now)
		if step%50 == 1 {
			book.pack(func(bytes int, move func(arena.Ref) arena.Ref) {
				for _, k := range kept {
					k.policy.moveLogs(k.words, bytes, move)
				}
			})
			for _, a := range book.arenas {
				require.False(t, a.Sparse())
			}
		}
		k.check(t, random, now)
		for i := range kept {
			if step%50 < 2 { // before it is packed, and after
				kept[i].check(t, random, now)
			}
		}
	}
	for _, k := range kept {
		k.window.release(k.state)
	}
	book.trim()
	require.Empty(t, book.arenas)
}

func (k *keptLog) change(t *testing.T, random *rand.Rand, now int64) {
	n := 1 + random.Int64N(k.plain.count)
	switch random.IntN(12) {
	case 0:
		k.window.release(k.state)
		k.words[0], k.plain.taken = 0, nil
	case 1:
		k.window.refresh(k.state, now)
		require.Equal(t, k.plain.refund(now, n), k.window.refund(k.state, now, n))
	case 2, 3:
		at := now
		if len(k.plain.taken) > 0 {
			at = k.plain.taken[random.IntN(len(k.plain.taken))].at
		}
		k.window.refresh(k.state, now)
		k.plain.giveBack(now, at, n)
		k.window.giveBack(k.state, now, at, n)
	case 4:
		n += random.Int64N(3 * k.plain.count)
		fallthrough
	default:
		if k.plain.keeps {
			n = min(n, k.plain.count-k.plain.used(now))
		}
		if n > 0 {
			k.plain.take(now, n)
			k.window.take(k.state, now, n)
		}
	}
	k.newest = mark(now)
	k.plain.taken = slices.DeleteFunc(k.plain.taken, func(x takenAt) bool { return now-x.at >= k.plain.period })
}

func (k *keptLog) check(t *testing.T, random *rand.Rand, now int64) {
	require.Equal(t, k.plain.used(now), k.window.used(k.state, now))
	for _, n := range []int64{1, 1 + random.Int64N(k.plain.count), k.plain.count} {
		require.EqualValues(t, k.plain.wait(now, n), k.window.wait(k.state, now, n), "%d", n)
	}
	require.Equal(t, k.plain.count-k.plain.used(now), k.window.room(k.state, now, 0))
	require.EqualValues(t, k.plain.last(now), k.window.reset(k.state, now, 0))
}

// TestAStampIsAsSmallAsItsLimitAllows: its instant is told apart over two periods, its sum up to the count.
func TestAStampIsAsSmallAsItsLimitAllows(t *testing.T) {
	for _, c := range []struct {
		count, period int64
		want          stampFormat
	}{
		{1, 1, stampFormat{1, 1}},          // 2 bits and 1
		{1000, 3600e9, stampFormat{7, 10}}, // 43 and 10
		{15, 1 << 2, stampFormat{1, 4}},    // 4 and 4
		{16, 1 << 2, stampFormat{2, 5}},
		{7, 1 << 3, stampFormat{1, 3}},
		{7, 1 << 4, stampFormat{2, 3}},
		{7, 1 << 59, stampFormat{8, 3}}, // 61 and 3
		{8, 1 << 59, wideStamp},
		{7, 1<<60 - 1, stampFormat{8, 3}},
		{7, 1 << 60, wideStamp},
	} {
		require.Equal(t, c.want, newStampFormat(c.count, c.period), "%d in %d", c.count, c.period)
	}
	require.Equal(t, stampFormat{16, 64}, wideStamp)
}
