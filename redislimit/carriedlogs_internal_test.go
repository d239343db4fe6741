package redislimit

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/conformance"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// readsOf returns how often the server reads a key while something happens.
func readsOf(t *testing.T, client *redis.Client, happens func()) (reads int) {
	ctx := context.Background()
	require.NoError(t, client.ConfigResetStat(ctx).Err())
	happens()
	stats, err := client.InfoMap(ctx, "commandstats").Result()
	require.NoError(t, err)
	for _, section := range stats {
		for _, command := range []string{"get", "getrange"} {
			if line := section["cmdstat_"+command]; line != "" {
				var calls int
				_, err := fmt.Sscanf(line, "calls=%d,", &calls)
				require.NoError(t, err)
				reads += calls
			}
		}
	}
	require.Positive(t, reads)
	return reads
}

// TestALongLogIsNotReadEntryByEntry: whoever is denied under another policy, again and
// again while a deployment goes on, is looked for in it as under its own.
func TestALongLogIsNotReadEntryByEntry(t *testing.T) {
	const entries = 5000
	client := redistest.Start(t).Client()
	own := weir.SlidingWindow(weir.PerHour(entries))
	s := traced{New(client, own, WithTimeout(20*time.Second))}
	now := int64(0)
	taking := func(p weir.Policy, allowed bool) func() {
		return func() {
			now++
			s.At(now)
			d, err := s.TakeAs("a", 1, p)
			require.NoError(t, err)
			require.Equal(t, allowed, d.Allowed)
		}
	}
	for range entries {
		taking(own, true)()
	}
	require.Less(t, readsOf(t, client, taking(own, false)), 30)
	for _, other := range []weir.Policy{
		weir.SlidingWindow(weir.PerHour(entries - 1)),
		weir.SlidingWindow(weir.PerMinute(entries / 2)),
		weir.SlidingWindow(weir.Per(entries, 7*time.Second+1)),
		weir.All(weir.SlidingWindow(weir.PerDay(entries)), weir.SlidingWindow(weir.PerHour(entries))),
		weir.FixedWindow(weir.PerHour(entries)),
	} {
		for range 2 { // the second time there is a note of the first
			require.Less(t, readsOf(t, client, taking(other, false)), 50, other)
		}
	}
	more := weir.SlidingWindow(weir.PerMinute(entries + 1))
	require.Less(t, readsOf(t, client, taking(more, true)), 50)
	require.NoError(t, s.SetPolicy(more))
	require.Less(t, readsOf(t, client, func() { require.NoError(t, s.Refund("a", entries-1)) }), 30)
	d, err := s.Peek("a", 0)
	require.NoError(t, err)
	require.Equal(t, entries-1, d.Remaining)
}

// A takerAs takes n under a policy, at an instant in microseconds.
type takerAs func(at int64, n int, p weir.Policy) (weir.Decision, error)

func takingAs(s conformance.Subject) takerAs {
	return func(at int64, n int, p weir.Policy) (weir.Decision, error) {
		s.At(at)
		return s.TakeAs("a", n, p)
	}
}

// sameAs has both take under one policy after another, at instants of a grid, often
// when they said that it is admitted, and compares what they say. It returns how often
// that brought it to another policy, and after how many takes in a row at the most.
func sameAs(t *testing.T, r *rand.Rand, store, reference takerAs, policies []weir.Policy, grid int64) (carried, longest int) {
	now, at, filled := int64(1_700_000_000_000_000)/grid*grid, 0, 0
	take := func(n, number int) weir.Decision {
		p := policies[number]
		want, err := reference(now, n, p)
		require.NoError(t, err)
		got, err := store(now, n, p)
		require.NoError(t, err)
		want.RetryAfter, want.ResetAfter = roundedUp(want.RetryAfter), roundedUp(want.ResetAfter)
		require.Equal(t, want, got, "%d under %v after %v, at %d", n, p, policies[at], now)
		if got.Allowed && n > 0 && at != number {
			at, carried, longest = number, carried+1, max(longest, filled)
			filled = 0
		}
		return got
	}
	for range 25 {
		filled = 0
		for range r.IntN(3000 >> r.IntN(8)) {
			now += grid * r.Int64N(4)
			if take(1, at).Allowed {
				filled++
			}
		}
		next := r.IntN(len(policies))
		for range 1 + r.IntN(4) {
			n := r.IntN(4)
			if r.IntN(3) == 0 {
				n = r.IntN(2000)
			}
			d := take(n, next)
			if !d.Allowed && d.RetryAfter != weir.Never && r.IntN(2) == 0 {
				now += (d.RetryAfter.Microseconds() + grid - 1) / grid * grid
				take(n, next)
			} else {
				now += grid * r.Int64N(200)
			}
		}
	}
	return carried, longest
}

// TestLongLogsAreCarriedAsInMemory: from any policy to any, where the ages that memory
// has stay whole microseconds.
func TestLongLogsAreCarriedAsInMemory(t *testing.T) {
	const grid = 12 // periods are so many parts of the longest
	window := func(count int, parts time.Duration) weir.Policy {
		return weir.SlidingWindow(weir.Per(count, parts*10*time.Millisecond))
	}
	bucket := weir.TokenBucket(weir.PerSecond(10_000).WithBurst(2500))
	policies := []weir.Policy{
		window(3000, 12),
		window(2999, 12),
		window(1500, 4),
		window(300, 1),
		window(5000, 6),
		weir.All(window(2500, 3), window(2800, 12)),
		weir.All(window(2700, 12), window(2400, 6)),
		weir.All(bucket, window(2600, 12)), // its first log is the second of those before
		weir.FirstOf(window(1200, 12), window(1300, 2)),
		weir.FirstOf(window(700, 6), window(2000, 12)), // of an entry of 1000 as much as fits stays, and others come in beside it
		weir.FixedWindow(weir.Per(2500, 120*time.Millisecond)),
		weir.SlidingCounter(weir.Per(2500, 120*time.Millisecond)),
		bucket,
	}
	start := starting(redistest.Start(t).Client())
	carried, longest := 0, 0
	for seed := range uint64(6) {
		store, memory := start(policies[0]), conformance.Memory(policies[0])
		often, long := sameAs(t, rand.New(rand.NewPCG(seed, 1)), takingAs(store), takingAs(memory), policies, grid)
		carried, longest = carried+often, max(longest, long)
	}
	require.Greater(t, carried, 50)
	require.Greater(t, longest, 1000) // which are more than are written at once
}

// TestLongLogsOfOddPeriodsAreCarriedByTheirAges: in whole microseconds, to the last one.
func TestLongLogsOfOddPeriodsAreCarriedByTheirAges(t *testing.T) {
	window := func(count int, period time.Duration) weir.Policy {
		return weir.SlidingWindow(weir.Per(count, period))
	}
	const year = 8766 * time.Hour
	start := starting(redistest.Start(t).Client())
	for _, policies := range [][]weir.Policy{
		{window(3000, 13*time.Millisecond+1), window(2999, 13*time.Millisecond+7), window(1000, 7*time.Millisecond+999), window(4000, time.Millisecond)},
		{window(3000, time.Hour), window(2500, time.Hour+1), window(min(1<<40, math.MaxInt), 25*time.Hour+1001), window(1, 333_333_333)},
		{window(3000, 29*year+time.Microsecond), window(2000, 30*year-1), window(2800, 3), window(1100, 31*time.Hour+77_777)},
	} {
		carried, longest := 0, 0
		for seed, grid := range []int64{1, 1009, 1_000_003} {
			r := rand.New(rand.NewPCG(uint64(seed), 2))
			often, long := sameAs(t, r, takingAs(start(policies[0])), new(agedLog).take, policies, grid)
			carried, longest = carried+often, max(longest, long)
		}
		require.Greater(t, carried, 20)
		require.Greater(t, longest, 1000)
	}
}

// An agedLog is a sliding window in whole microseconds, the plain way.
type agedLog struct {
	policy  weir.Policy
	entries []aged
	noted   *agedLog // as it was carried when it was denied
}

type aged struct{ at, n int64 }

// as returns the log under another policy, each entry with the same part of its life left.
func (l *agedLog) as(p weir.Policy, now int64) *agedLog {
	other := &agedLog{policy: p}
	over := l.used() - capacityOf(p)
	for _, e := range l.entries {
		skipped := min(e.n, max(0, over))
		over -= skipped
		age := new(big.Int).Mul(big.NewInt(now-e.at), big.NewInt(microsOf(p)))
		age.Div(age, big.NewInt(microsOf(l.policy)))
		if e.n > skipped {
			other.entries = append(other.entries, aged{now - age.Int64(), e.n - skipped})
		}
	}
	return other
}

func microsOf(p weir.Policy) int64 {
	limit, _ := p.Limit()
	return roundedUp(limit.Period()).Microseconds()
}

func capacityOf(p weir.Policy) int64 {
	limit, _ := p.Limit()
	return int64(limit.Count())
}

func (l *agedLog) used() (used int64) {
	for _, e := range l.entries {
		used += e.n
	}
	return used
}

// seen returns what is in view of entries.
func (l *agedLog) seen(now int64) []aged {
	entries := l.entries
	for len(entries) > 0 && entries[0].at <= now-microsOf(l.policy) {
		entries = entries[1:]
	}
	return entries
}

func (l *agedLog) take(now int64, n int, p weir.Policy) (weir.Decision, error) {
	if len(l.entries) == 0 {
		l.policy = p
	}
	l.entries = l.seen(now)
	under := l
	if !l.policy.Equal(p) {
		if under = l.noted; under == nil || !under.policy.Equal(p) {
			under = l.as(p, now)
		}
	}
	entries := under.seen(now)
	visible := agedLog{policy: p, entries: entries}
	most, period, used, more := capacityOf(p), microsOf(p), visible.used(), int64(n)
	d := weir.Decision{Policy: p.Name(), Limit: int(most), Allowed: used+more <= most}
	wait := int64(0)
	switch {
	case d.Allowed && more > 0:
		*l = visible
		l.entries = append(append([]aged(nil), entries...), aged{now, more})
		used += more
		wait = period
	case used > 0:
		wait = entries[len(entries)-1].at + period - now
	}
	d.Remaining = int(most - used)
	d.ResetAfter = time.Duration(wait) * time.Microsecond
	switch {
	case d.Allowed:
	case more > most:
		d.RetryAfter = weir.Never
	default:
		if under != l {
			l.noted = under
		}
		for left := used; left+more > most; entries = entries[1:] {
			left -= entries[0].n
			d.RetryAfter = time.Duration(entries[0].at+period-now) * time.Microsecond
		}
	}
	return d, nil
}

// TestMuldivIsExact: also where a product is far above 2^53.
func TestMuldivIsExact(t *testing.T) {
	_, rest, _ := strings.Cut(source, "local function muldiv")
	body, _, _ := strings.Cut(rest, "\nend\n")
	script := "local floor = math.floor\nlocal function muldiv" + body + "\nend\n" + `
		local results = {}
		for i = 1, #ARGV, 3 do
			local q, r = muldiv(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
			results[#results + 1] = ('%.0f %.0f'):format(q, r)
		end
		return results`
	r := rand.New(rand.NewPCG(1, 1))
	draw := func() int64 { // often about a power of two
		n := r.Int64N(1 << (1 + r.IntN(52)))
		if r.IntN(2) == 0 {
			n = max(0, int64(1)<<r.IntN(53)-2+r.Int64N(4))
		}
		return min(n, 1<<52-1)
	}
	client := redistest.Start(t).Client()
	for range 100 {
		var args []any
		var want []string
		for len(want) < 1000 {
			a, b, c := draw(), draw(), max(1, draw())
			product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
			q, rest := product.DivMod(product, big.NewInt(c), new(big.Int))
			if q.BitLen() <= 52 {
				args = append(args, strconv.FormatInt(a, 10), strconv.FormatInt(b, 10), strconv.FormatInt(c, 10))
				want = append(want, fmt.Sprint(q, " ", rest))
			}
		}
		got, err := client.Eval(context.Background(), script, nil, args...).StringSlice()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
