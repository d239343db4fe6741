package replay

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/stretchr/testify/require"
)

const second = int64(time.Second)

var byAddress = []accesslog.Field{accesslog.Address}

func name(k accesslog.Key) string { return fmt.Sprint(uint64(k)) }

func candidate(t testing.TB, text string) Candidate {
	t.Helper()
	c, err := ParseCandidate(text, accesslog.Address)
	require.NoError(t, err)
	return c
}

// traffic returns rows of n requests of some clients, with bursts.
func traffic(n, clients int) []uint64 {
	random := rand.New(rand.NewPCG(5, 6))
	var rows []uint64
	at := int64(1_431_857_100) * second
	for range n {
		if random.IntN(3) == 0 {
			at += random.Int64N(2 * second)
		}
		rows = append(rows, uint64(at), 1+uint64(random.ExpFloat64()*float64(clients)/3))
	}
	return rows
}

func TestDecisionsAreThoseOfAPlainLoop(t *testing.T) {
	rows := traffic(5_000, 50)
	for _, text := range []string{
		"token-bucket 1/s burst 3", "leaky-bucket 1/s", "fixed-window 20/m", "sliding-window 20/m", "sliding-counter 20/m",
		"all(5/s, sliding-window 30/m)", "first-of(1/s, fixed-window 10/h)", "unlimited", "0",
	} {
		clock := weir.NewManualClock()
		plain := weir.NewPerClient[string](weir.MustParsePolicy(text), weir.WithClock(clock))
		var want []bool
		for i := 0; i < len(rows); i += 2 {
			clock.Advance(time.Duration(rows[i]) - clock.Now())
			want = append(want, plain.Allow(fmt.Sprint("client ", rows[i+1])))
		}
		plain.Close()
		require.Equal(t, want, NewDecider(candidate(t, text), byAddress).Decide(rows, nil), text)
	}
}

func TestLayersAreDecidedTogether(t *testing.T) {
	c := candidate(t, `address: 3/s as "a;b:c"; user: 2/s; global: 4/s`)
	fields := Fields([]Candidate{c}, accesslog.Address)
	require.Len(t, fields, 2)
	const ann, bob = 7, 8
	at := uint64(1000 * second)
	rows := []uint64{at, 1, ann, at, 1, ann, at, 2, ann, at, 1, bob, at, 1, bob, at, 3, 0, at, 4, bob}
	// ann has spent her 2; the address 1 its 3; then the 4 of all are spent.
	require.Equal(t, []bool{true, true, false, true, false, true, false}, NewDecider(c, fields).Decide(rows, nil))
}

func TestWhoDoesNotSayIsNotLimited(t *testing.T) {
	d := NewDecider(candidate(t, "1/h"), byAddress)
	require.Equal(t, []bool{true, true, true, false}, d.Decide([]uint64{1, 0, 1, 0, 1, 9, 1, 9}, nil))
}

func TestCandidatesThatMakeNoSenseAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"token-buckets 1/s":         `weir: policy "token-buckets 1/s"`,
		"planet: 1/s":               `policy "planet: 1/s": key "planet": it is one of address`,
		"address: 1/s;":             `weir: policy ""`,
		"fixed-window 1/s burst 20": "fixed-window 1/s burst 20 with a burst",
	} {
		_, err := ParseCandidate(text, accesslog.Address)
		require.ErrorContains(t, err, want)
	}
}

// tally plays a timeline of one client: "." an admission, "x" a denial, a second each.
func tally(plays ...string) *Tally {
	t := NewTally(accesslog.Address, byAddress)
	for at := range len(plays[0]) {
		for client, play := range plays {
			t.Add([]uint64{uint64(int64(1000+at) * second), uint64(client + 1)}, []bool{play[at] == '.'})
		}
	}
	return t
}

func TestFiguresAreWhatTheySay(t *testing.T) {
	f := tally("..xx.xxx.x", "..........", ".........x", "xxxxxxxxxx").Figures(3, name)
	worst := f.Worst
	f.Worst = nil
	require.Equal(t, Figures{
		Requests: 40, Denied: 17, RejectionRate: 42.5, Clients: 4, ClientsDenied: 3, Busiest: 10,
		Median: 10, P99: 100, Longest: 9 * time.Second,
	}, f)
	require.Equal(t, []Client{{4, 10, 10}, {1, 10, 6}, {3, 10, 1}}, worst)
	require.Equal(t, 60.0, worst[1].Share())
}

func TestADenialLastsToAHundredthOfASecond(t *testing.T) {
	x := NewTally(accesslog.Address, byAddress)
	for at, ok := range []bool{true, false, false, true, false} {
		x.Add([]uint64{uint64(second + int64(at*1234)*int64(time.Millisecond)), 1}, []bool{ok})
	}
	require.InDelta(t, 1.234, x.Figures(1, name).Longest.Seconds(), 0.01)
	x.Add([]uint64{uint64(second + int64(900*24*time.Hour)), 1}, []bool{false})
	require.InDelta(t, 900*24*3600, x.Figures(1, name).Longest.Seconds(), 10, "longer than ticks can count")
}

func TestNearestRank(t *testing.T) {
	require.Zero(t, rank(nil, 0, 50))
	require.Zero(t, rank([]float64{5}, 100, 99), "99 of 100 felt nothing")
	require.Equal(t, 5.0, rank([]float64{5}, 99, 99))
	require.Equal(t, 5.0, rank([]float64{5, 6}, 3, 50))
	require.Equal(t, 6.0, rank([]float64{5, 6}, 3, 99))
}

func TestTheWorstAreFoundAmongMany(t *testing.T) {
	x := NewTally(accesslog.Address, byAddress)
	var rows []uint64
	for client := range uint64(5000) {
		for range client%100 + 1 {
			rows = append(rows, uint64(second), client+1)
		}
	}
	x.Add(rows, make([]bool, len(rows)/2))
	f := x.Figures(2, name)
	require.Equal(t, []Client{{100, 100, 100}, {1000, 100, 100}}, f.Worst, "the first by name")
	require.Equal(t, 5000, f.ClientsDenied)
}

func TestATimelineLosesNothing(t *testing.T) {
	rows := traffic(5000, 20)
	x := NewTally(accesslog.Address, byAddress)
	verdicts := NewDecider(candidate(t, "1/m"), byAddress).Decide(rows, nil)
	x.Add(rows, verdicts)
	x.Add([]uint64{rows[len(rows)-2] + uint64(400*24*time.Hour), 1}, []bool{false})
	line := x.Timeline()
	require.LessOrEqual(t, len(line.Bins), MostBins)
	sum, denials := Bin{}, uint32(0)
	for _, b := range line.Bins {
		sum.Requests, sum.Denied = sum.Requests+b.Requests, sum.Denied+b.Denied
	}
	f := x.Figures(100, name)
	require.Equal(t, Bin{5001, uint32(f.Denied)}, sum)
	for _, c := range f.Worst {
		bins := x.Denials(c.Key)
		require.Len(t, bins, len(line.Bins))
		for _, n := range bins {
			denials += n
		}
	}
	require.Equal(t, uint32(f.Denied), denials)
	require.False(t, line.Start.Add(time.Duration(len(line.Bins))*line.Width).Before(time.Unix(0, int64(rows[len(rows)-2])).AddDate(1, 0, 0)))
}

func TestTheHeatOfTheWorstIsKept(t *testing.T) {
	x := NewTally(accesslog.Address, byAddress)
	for client := range uint64(20 * mostHot) {
		x.Add([]uint64{uint64(second), client + 10, uint64(second), 1}, []bool{false, false})
	}
	require.LessOrEqual(t, len(x.heat.clients), 2*mostHot)
	require.Equal(t, []uint32{20 * mostHot}, x.Denials(1))
	require.Nil(t, x.Denials(accesslog.Key(10)))
}

// A token bucket's state, the figures, and the tables' free places included.
func TestAClientTakesAtMost64Bytes(t *testing.T) {
	const clients = 500_000
	trial := NewTrials([]Candidate{candidate(t, "1/h")}, accesslog.Address, byAddress)[0]
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	rows := make([]uint64, 0, 2*clients)
	for client := range uint64(clients) {
		rows = append(rows, uint64(second), 1<<32|client)
	}
	before := heap()
	for chunk := range slices.Chunk(rows, 8192) {
		trial.add(chunk)
	}
	took := float64(heap()-before) / clients
	require.Equal(t, Held{clients, 20 * clients, 20 * clients}, trial.Decider.Peak())
	require.LessOrEqual(t, took, 64.0)
	require.Greater(t, took, 40.0, "is it all counted?")
	t.Logf("%.1f bytes a client", took)
	runtime.KeepAlive(trial)
	runtime.KeepAlive(rows)
}

func TestWhoIsFullIsNotHeld(t *testing.T) {
	d := NewDecider(candidate(t, "60/m"), byAddress)
	var rows []uint64
	for i := range uint64(10_000) {
		rows = append(rows, i*uint64(second), i+1)
	}
	d.Decide(rows, nil)
	require.LessOrEqual(t, d.Peak().Clients, fewest+60, "a new one each second, each full again in the next, swept once a minute")
}

func BenchmarkReplay(b *testing.B) {
	rows := traffic(100_000, 10_000)
	for b.Loop() {
		trial := NewTrials([]Candidate{candidate(b, "1/s burst 3")}, accesslog.Address, byAddress)[0]
		trial.add(rows)
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "requests/s")
}

func TestATimelineHasEveryRequestInItsSpan(t *testing.T) {
	start := time.Date(2026, 5, 17, 12, 34, 37, 0, time.UTC).UnixNano()
	for _, step := range []time.Duration{time.Second, 7 * time.Second, time.Minute, 49 * time.Minute, 13 * time.Hour, 80 * 24 * time.Hour} {
		x := NewTally(accesslog.Address, byAddress)
		for i := range int64(1000) {
			x.Add([]uint64{uint64(start + i*int64(step)), 1}, []bool{false})
		}
		line := x.Timeline()
		require.Equal(t, line.Start.Truncate(line.Width), line.Start, step)
		want := make([]uint32, len(line.Bins))
		for i := range int64(1000) {
			want[(start+i*int64(step)-line.Start.UnixNano())/int64(line.Width)]++
		}
		for i, b := range line.Bins {
			require.Equal(t, want[i], b.Denied, "%v, span %d", step, i)
		}
		require.Equal(t, want, x.Denials(1))
	}
}
