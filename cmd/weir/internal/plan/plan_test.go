package plan

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/goweir/weir/cmd/weir/internal/replay"
	"github.com/stretchr/testify/require"
)

var byAddress = []accesslog.Field{accesslog.Address}

// traffic returns some clients that ask more or less often, in whole seconds.
func traffic(t *testing.T, n, clients int) *Traffic {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	spool, err := NewSpool()
	require.NoError(t, err)
	t.Cleanup(func() {
		spool.Close()
		left, err := os.ReadDir(os.TempDir())
		require.NoError(t, err)
		require.Empty(t, left)
	})
	random := rand.New(rand.NewPCG(7, 8))
	count := map[uint64]int{}
	at := uint64(1e18)
	for range n {
		at += uint64(random.IntN(3)) * 1e9
		client := 1 + uint64(random.ExpFloat64()*random.ExpFloat64()*float64(clients)/4)%uint64(clients)
		count[client]++
		require.NoError(t, spool.Add([]uint64{at, client}))
	}
	busiest := 0
	for _, k := range count {
		busiest = max(busiest, k)
	}
	return &Traffic{Spool: spool, Client: accesslog.Address, Fields: byAddress, Requests: n, Clients: len(count), Busiest: busiest}
}

func TestSearchFindsTheLeastCountThatDoes(t *testing.T) {
	x := traffic(t, 3000, 60)
	for _, a := range Algorithms {
		for _, g := range []Goal{{Percent: 0}, {Percent: 5}, {Percent: 50}, {Percent: 2, OfRequests: true}} {
			f := Family{Algorithm: a, Period: time.Minute}
			r, err := Search(context.Background(), x, f, g)
			require.NoError(t, err)
			require.True(t, r.Found)
			var counts []int
			for n := range r.Best.Count {
				counts = append(counts, n+1)
			}
			points, err := try(context.Background(), x, f, counts) // all of them
			require.NoError(t, err)
			for i, p := range points {
				require.Equal(t, i == len(points)-1, g.meets(x, p), "%v %v: %+v, found %+v", a, g, p, r.Best)
			}
			require.Equal(t, points[len(points)-1], r.Best)
			for i := 1; i < len(r.Curve); i++ {
				require.Less(t, r.Curve[i-1].Count, r.Curve[i].Count)
			}
		}
	}
}

func TestTryIsAReplay(t *testing.T) {
	x := traffic(t, 5000, 40)
	f := Family{Algorithm: weir.AlgorithmTokenBucket, Period: time.Minute, Burst: 3}
	points, err := try(context.Background(), x, f, []int{2, 7})
	require.NoError(t, err)
	trials := replay.NewTrials([]replay.Candidate{replay.New(f.Policy(2), x.Client), replay.New(f.Policy(7), x.Client)}, x.Client, x.Fields)
	require.NoError(t, x.Spool.Each(context.Background(), 2, func(rows []uint64) { replay.Each(trials, rows) }))
	for i, trial := range trials {
		figures := trial.Tally.Figures(0, func(accesslog.Key) string { return "" })
		require.Equal(t, Point{f2(i), int(figures.Denied), figures.ClientsDenied}, points[i])
		require.NotZero(t, figures.Denied)
		require.Equal(t, x.Busiest, figures.Busiest)
		require.Equal(t, x.Clients, figures.Clients)
	}
}

func f2(i int) int { return []int{2, 7}[i] }

func TestNoLeakyBucketAdmitsTwoAtOnce(t *testing.T) {
	x := traffic(t, 300, 5)
	r, err := Search(context.Background(), x, Family{Algorithm: weir.AlgorithmLeakyBucket, Period: time.Second}, Goal{})
	require.NoError(t, err)
	require.False(t, r.Found)
	require.NotEmpty(t, r.Curve)
}

func TestASearchThatIsInterruptedHasWhatItTried(t *testing.T) {
	x := traffic(t, 300, 5)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Search(ctx, x, Family{Algorithm: weir.AlgorithmTokenBucket, Period: time.Minute}, Goal{})
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, r.Found)
}

func TestASpoolKeepsEveryRow(t *testing.T) {
	x := traffic(t, 0, 1)
	const rows = batchWords/3*2 + 7
	for i := range uint64(rows) {
		require.NoError(t, x.Spool.Add([]uint64{i, i + 1, i + 2}))
	}
	for range 2 {
		next := uint64(0)
		require.NoError(t, x.Spool.Each(context.Background(), 3, func(got []uint64) {
			for ; len(got) > 0; got = got[3:] {
				require.Equal(t, []uint64{next, next + 1, next + 2}, got[:3])
				next++
			}
		}))
		require.EqualValues(t, rows, next)
	}
}

func TestStepsAndWhatIsBetween(t *testing.T) {
	require.Equal(t, []int{1}, steps(1))
	require.Equal(t, []int{1, 2, 5, 10, 20}, steps(11))
	require.Equal(t, []int{6}, between(5, 7))
	require.Empty(t, between(5, 6))
	require.Equal(t, []int{11, 22, 33, 44, 55, 66, 77, 88}, between(0, 100))
}

func TestOnlyAlgorithmsWithALimitArePlannedFor(t *testing.T) {
	for _, text := range []string{"token-bucket", "leaky-bucket", "fixed-window", "sliding-window", "sliding-counter"} {
		a, err := ParseAlgorithm(text)
		require.NoError(t, err)
		require.Equal(t, text+" 7/m", Family{Algorithm: a, Period: time.Minute}.Policy(7).String())
	}
	_, err := ParseAlgorithm("all")
	require.ErrorContains(t, err, `algorithm "all": it is one of`)
}
