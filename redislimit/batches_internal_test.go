package redislimit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/conformance"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// plenty is a timeout that no test waits for.
const plenty = 20 * time.Second

// someBuckets returns token buckets, small and large, which all have to admit.
func someBuckets(r *rand.Rand) weir.Policy {
	parts := make([]weir.Policy, 1+r.IntN(3))
	for i := range parts {
		count := 1 + r.IntN(1<<(1+r.IntN(min(40, strconv.IntSize-2))))
		period := time.Duration(1+r.IntN(30*365*24)) * time.Hour >> r.IntN(20)
		l := weir.Per(count, period)
		if burst := 1 + r.IntN(20); r.IntN(2) == 0 {
			l = l.WithBurst(burst)
		}
		if l.Validate() != nil {
			l = weir.Per(3, 7*time.Second)
		}
		parts[i] = weir.TokenBucket(l)
		if r.IntN(8) == 0 {
			parts[i] = weir.LeakyBucket(l, 1)
		}
	}
	return weir.All(parts...)
}

// TestABatchDecidesAsMemoryDoesOneByOne: every field, and what is left.
func TestABatchDecidesAsMemoryDoesOneByOne(t *testing.T) {
	client := redistest.Start(t).Client()
	admitted, denied := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := someBuckets(r)
		c, memory := New(client, p, WithPrefix(fmt.Sprint(seed, ":")), WithTimeout(plenty)), conformance.Memory(p)
		pl, at := c.plan.Load(), int64(1_700_000_000_000_000)
		for step := range 30 {
			at += r.Int64N(int64(pl.leaves[0].interval/ticksPerMicro) + 2)
			memory.At(at)
			c.at = strconv.FormatInt(at, 10)
			w := newBatch()
			w.by = time.Now().Add(plenty)
			for range 1 + r.IntN(20) {
				w.add(c.keys.state(strconv.Itoa(r.IntN(4))), 1+r.IntN(min(pl.capacity, 1+pl.capacity>>r.IntN(40)+r.IntN(3))))
			}
			c.batches.send(pl, w)
			require.NoError(t, w.err)
			for _, a := range w.asks {
				for ; a != nil; a = a.next {
					for who := range a.times {
						got, ok := pl.read(a.after, a.n, a.times, who+1)
						require.True(t, ok)
						want, err := memory.Take(strings.TrimPrefix(a.state, c.prefix), a.n)
						require.NoError(t, err)
						want.RetryAfter, want.ResetAfter = roundedUp(want.RetryAfter), roundedUp(want.ResetAfter)
						require.Equal(t, want, got, "seed %d, step %d: %v, %d of %d times %d of %s", seed, step, p, who+1, a.times, a.n, a.state)
						if got.Allowed {
							admitted++
						} else {
							denied++
						}
					}
				}
			}
		}
	}
	require.Greater(t, admitted, 10_000)
	require.Greater(t, denied, 10_000)
}

// TestABatchLeavesAloneWhatTheOtherFunctionDecides: a clock that was set back, another
// policy, and what is no state at all.
func TestABatchLeavesAloneWhatTheOtherFunctionDecides(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	p := weir.TokenBucket(weir.PerHour(10))
	c := New(client, p, WithTimeout(plenty))
	at := func(second int64) { c.at = strconv.FormatInt(second*1e6, 10) }
	at(1000)
	for _, key := range []string{"here", "later"} {
		_, err := c.Take(ctx, key, 4)
		require.NoError(t, err)
	}
	at(2000)
	_, err := c.Take(ctx, "later", 1)
	require.NoError(t, err)
	at(1000)
	_, err = c.TakeAs(ctx, "other", 4, weir.TokenBucket(weir.PerDay(10)))
	require.NoError(t, err)
	require.NoError(t, client.RPush(ctx, "weir:list", "x").Err())
	require.NoError(t, client.Set(ctx, "weir:text", "x", 0).Err())
	contents := func() (all []string) {
		for _, key := range []string{"later", "other", "list", "text"} {
			all = append(all, client.Dump(ctx, "weir:"+key).Val())
		}
		return all
	}
	before := contents()
	w := newBatch()
	w.by = time.Now().Add(plenty)
	asks := make(map[string]*ask)
	for _, key := range []string{"here", "later", "other", "list", "text"} {
		asks[key] = w.add("weir:"+key, 1)
	}
	c.batches.send(c.plan.Load(), w)
	require.NoError(t, w.err)
	require.Equal(t, before, contents())
	for key, a := range asks {
		d, ok := c.plan.Load().read(a.after, 1, 1, 1)
		require.Equal(t, key == "here", ok, key)
		require.Equal(t, key == "here", d.Allowed, key)
	}
	for _, key := range []string{"later", "other"} {
		d, err := c.Take(ctx, key, 1)
		require.NoError(t, err)
		require.True(t, d.Allowed, key)
	}
	_, err = c.Take(ctx, "list", 1)
	require.ErrorContains(t, err, "WRONGTYPE")
}

// A gate is a store that makes calls of the function that takes wait.
type gate struct {
	Store
	apart  bool
	refuse error         // of calls with several keys
	others atomic.Int64  // calls of the other function
	pass   chan struct{} // one of them goes on for each
	came   chan []string // their keys, as they come
}

func (g *gate) Colocated() bool { return !g.apart }

func (g *gate) Call(ctx context.Context, l *Library, keys, args []string) (Reply, error) {
	if l == taking && g.pass != nil {
		g.came <- keys
		select {
		case <-g.pass:
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
	}
	if l != taking {
		g.others.Add(1)
	}
	if len(keys) > 1 && g.refuse != nil {
		return Reply{}, g.refuse
	}
	return g.Store.Call(ctx, l, keys, args)
}

// gated returns a PerClient of which mostCalls calls have come to its gate, for a client
// each, and what waits for those who ask.
func gated(t *testing.T, g *gate, p weir.Policy, opts ...Option) (c *PerClient, work *sync.WaitGroup) {
	client := redistest.Start(t).Client()
	g.Store = newGoRedis(client)
	c = NewWith(g, p, append([]Option{WithTimeout(plenty)}, opts...)...)
	c.batches.longest = time.Hour
	_, err := c.Take(context.Background(), "first", 1) // all are told the policy
	require.NoError(t, err)
	g.pass, g.came = make(chan struct{}), make(chan []string, 1000)
	work = new(sync.WaitGroup)
	for i := range mostCalls {
		work.Go(func() {
			d, err := c.Take(context.Background(), fmt.Sprint("early", i), 1)
			require.NoError(t, err)
			require.True(t, d.Allowed)
		})
	}
	for range mostCalls {
		require.Len(t, <-g.came, 1)
	}
	return c, work
}

// waiting returns how many wait in all lanes.
func (b *batches) waiting() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lanes {
		for _, w := range l.waiting {
			for _, a := range w.asks {
				for ; a != nil; a = a.next {
					n += a.times
				}
			}
		}
	}
	return n
}

// calls returns how many are under way in all lanes, and at least one for each lane.
func (b *batches) calls() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lanes {
		n += max(1, l.calls)
	}
	return n
}

// end waits until no call is under way, and no lane is left.
func (b *batches) end(t *testing.T) {
	require.Eventually(t, func() bool { return b.calls() == 0 }, 10*time.Second, time.Millisecond)
}

func (b *batches) awaits(t *testing.T, n int) {
	require.Eventually(t, func() bool { return b.waiting() == n }, 10*time.Second, time.Millisecond)
}

// TestWhoWaitsForTheStoreIsInOneCall: each with an answer of its own.
func TestWhoWaitsForTheStoreIsInOneCall(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	var mu sync.Mutex
	remaining := make(map[string][]int)
	for key, askers := range map[string]int{"a": 12, "b": 3, "c": 1} {
		for range askers {
			work.Go(func() {
				d, err := c.Take(context.Background(), key, 1)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				if d.Allowed {
					remaining[key] = append(remaining[key], d.Remaining)
				} else {
					require.Positive(t, d.RetryAfter)
					remaining[key+" denied"] = append(remaining[key+" denied"], d.Remaining)
				}
			})
		}
	}
	work.Go(func() {
		d, err := c.Take(context.Background(), "b", 8)
		require.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		remaining["eight"] = append(remaining["eight"], d.Remaining)
	})
	c.batches.awaits(t, 17)
	require.Empty(t, g.came)
	g.pass <- struct{}{}
	keys := <-g.came
	require.ElementsMatch(t, []string{"weir:a", "weir:b", "weir:b", "weir:c"}, keys)
	close(g.pass)
	work.Wait()
	require.Empty(t, g.came)
	require.ElementsMatch(t, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, remaining["a"])
	require.Equal(t, []int{0, 0}, remaining["a denied"])
	require.Equal(t, []int{9}, remaining["c"])
	require.Len(t, remaining["eight"], 1)
	c.batches.end(t)
	stats := c.Stats()
	require.EqualValues(t, 1+mostCalls+17, stats.Allowed+stats.Denied)
}

// TestManyWhoWaitAreInSeveralCalls: none of more than mostInCall.
func TestManyWhoWaitAreInSeveralCalls(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	const clients = 2*mostInCall + 10
	for i := range clients {
		work.Go(func() {
			ok, err := c.Allow(context.Background(), strconv.Itoa(i))
			require.NoError(t, err)
			require.True(t, ok)
		})
	}
	c.batches.awaits(t, clients)
	close(g.pass)
	work.Wait()
	sizes := map[int]int{}
	for len(g.came) > 0 {
		sizes[len(<-g.came)]++
	}
	require.Equal(t, map[int]int{mostInCall: 2, 10: 1}, sizes)
}

// TestWhoGivesUpWhileWaitingTakesNothing: nor does who has waited for too long.
func TestWhoGivesUpWhileWaitingTakesNothing(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	ctx, cancel := context.WithCancel(context.Background())
	var gone sync.WaitGroup
	for range 3 {
		gone.Go(func() {
			_, err := c.Take(ctx, "a", 2)
			require.ErrorIs(t, err, context.Canceled)
			require.NotContains(t, err.Error(), "weir:a")
		})
		gone.Go(func() {
			_, err := c.Take(ctx, "b", 2)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	work.Go(func() {
		d, err := c.Take(context.Background(), "a", 2)
		require.NoError(t, err)
		require.Equal(t, 8, d.Remaining)
	})
	c.batches.awaits(t, 7)
	others := g.others.Load()
	cancel()
	gone.Wait()
	require.Equal(t, others, g.others.Load())
	g.pass <- struct{}{}
	require.Equal(t, []string{"weir:a"}, <-g.came)
	close(g.pass)
	work.Wait()
	d, err := c.Peek(context.Background(), "b", 1)
	require.NoError(t, err)
	require.Equal(t, 9, d.Remaining)
	c.batches.end(t)
}

// TestWhoGivesUpLaterStopsNobodyElse: even the one for whom a batch was begun, whether a call
// has ended or it is overdue.
func TestWhoGivesUpLaterStopsNobodyElse(t *testing.T) {
	for _, overdue := range []bool{false, true} {
		g := &gate{}
		c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
		ctx, cancel := context.WithCancel(context.Background())
		var gone sync.WaitGroup
		gone.Go(func() {
			_, err := c.Take(ctx, "a", 1)
			require.ErrorIs(t, err, context.Canceled)
		})
		c.batches.awaits(t, 1)
		work.Go(func() {
			d, err := c.Take(context.Background(), "a", 1)
			require.NoError(t, err)
			require.True(t, d.Allowed)
		})
		c.batches.awaits(t, 2)
		if overdue {
			work.Go(func() { c.batches.hurryOn(c.plan.Load()) })
		} else {
			g.pass <- struct{}{}
		}
		<-g.came
		cancel()
		gone.Wait()
		close(g.pass)
		work.Wait()
		d, err := c.Peek(context.Background(), "a", 0)
		require.NoError(t, err)
		require.Equal(t, 8, d.Remaining) // it was under way
		c.batches.end(t)
	}
}

// hurryOn makes the call for the batch that waits first, as if that were overdue.
func (b *batches) hurryOn(pl *plan) {
	name := laneName{plan: pl}
	b.mu.Lock()
	l := b.lanes[name]
	w := l.waiting[0]
	b.mu.Unlock()
	b.hurry(name, l, w)
}

// TestCallsBesideAllOthersEnd: with nobody's in their place, until there are mostCalls again.
func TestCallsBesideAllOthersEnd(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	take := func() {
		ok, err := c.Allow(context.Background(), "a")
		require.NoError(t, err)
		require.True(t, ok)
	}
	under := func(calls int) {
		require.Eventually(t, func() bool { return c.batches.calls() == calls }, 10*time.Second, time.Millisecond)
	}
	for range 2 {
		work.Go(take)
		c.batches.awaits(t, 1)
		work.Go(func() { c.batches.hurryOn(c.plan.Load()) })
		<-g.came
	}
	under(mostCalls + 2)
	work.Go(take)
	c.batches.awaits(t, 1)
	for calls := mostCalls + 1; calls >= mostCalls; calls-- {
		g.pass <- struct{}{}
		under(calls)
		require.Equal(t, 1, c.batches.waiting())
	}
	g.pass <- struct{}{}
	require.Equal(t, []string{"weir:a"}, <-g.came)
	require.Zero(t, c.batches.waiting())
	for calls := mostCalls - 1; calls > 0; calls-- {
		g.pass <- struct{}{}
		under(calls)
	}
	g.pass <- struct{}{}
	work.Wait()
	c.batches.end(t)
}

// TestWhoAsksFirstIsDecidedFirst: of those who ask for different numbers.
func TestWhoAsksFirstIsDecidedFirst(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	for i, n := range []int{5, 10, 2, 4, 3} {
		work.Go(func() {
			ok, err := c.AllowN(context.Background(), "a", n)
			require.NoError(t, err)
			require.Equal(t, n == 5 || n == 2 || n == 3, ok, n)
		})
		c.batches.awaits(t, i+1)
	}
	close(g.pass)
	work.Wait()
}

// TestAnErrorAboutOneClientIsForAllWhoAskAboutIt: nobody asks again.
func TestAnErrorAboutOneClientIsForAllWhoAskAboutIt(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	require.NoError(t, g.Store.(goRedis).client.RPush(context.Background(), "weir:list", "x").Err())
	for range 20 {
		work.Go(func() {
			_, err := c.Take(context.Background(), "list", 1)
			require.ErrorContains(t, err, "WRONGTYPE")
		})
	}
	c.batches.awaits(t, 20)
	close(g.pass)
	work.Wait()
	require.Len(t, g.came, 1)
	require.True(t, c.batches.together())
}

// TestNobodyWaitsLongForACallToEnd: but for a moment, however many are under way.
func TestNobodyWaitsLongForACallToEnd(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(1000)))
	c.batches.longest = longestWait
	for i := range 10 {
		for range 5 {
			work.Go(func() {
				ok, err := c.Allow(context.Background(), strconv.Itoa(i))
				require.NoError(t, err)
				require.True(t, ok)
			})
		}
		for asked := 0; asked < 5; { // nobody is let through
			<-g.came
			asked += 5 - c.batches.waiting()
		}
	}
	require.Greater(t, c.batches.calls(), mostCalls)
	close(g.pass)
	work.Wait()
	c.batches.end(t)
}

// A distant store admits everything, after a while.
type distant time.Duration

func (d distant) Colocated() bool { return true }

func (d distant) Call(ctx context.Context, l *Library, keys, args []string) (Reply, error) {
	select {
	case <-time.After(time.Duration(d)):
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
	if l != taking {
		return Reply{Numbers: []int64{1, 9, 0, 1, 0, 1}}, nil
	}
	var states strings.Builder
	for i := range keys {
		times, several := "", false
		if len(args) > 1 {
			_, times, several = strings.Cut(args[i+1], "x")
		}
		number := []byte(args[0])
		if several {
			taken, _ := strconv.ParseUint(times, 10, 40)
			number = binary.BigEndian.AppendUint64(nil, taken)[3:]
		}
		states.Write(append(number, make([]byte, 15)...))
	}
	return Reply{Text: states.String()}, nil
}

// TestAStoreThatIsFarAwayIsInTime: also for a thousand who ask at once, or one after the other.
func TestAStoreThatIsFarAwayIsInTime(t *testing.T) {
	for _, apart := range []time.Duration{0, 10 * time.Microsecond, 300 * time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			c := NewWith(distant(30*time.Millisecond), weir.TokenBucket(weir.PerSecond(10)))
			usual := c.timeout
			c.timeout = plenty
			_, err := c.Take(context.Background(), "first", 1) // tells the policy before
			require.NoError(t, err)
			c.timeout = usual
			var work sync.WaitGroup
			for i := range 1000 {
				work.Go(func() {
					began := time.Now()
					_, err := c.Take(context.Background(), strconv.Itoa(i%100), 1)
					require.NoError(t, err)
					require.LessOrEqual(t, time.Since(began), 30*time.Millisecond+longestWait)
				})
				time.Sleep(apart)
			}
			work.Wait()
			synctest.Wait()
			require.Zero(t, c.batches.calls())
		})
	}
}

// TestWaitingIsWithinTheTimeout: and then it is as if the store had been asked.
func TestWaitingIsWithinTheTimeout(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)), WithFallback(FailOpen))
	require.Equal(t, longestWait, newBatches(c, true).longest)
	c.timeout = 20 * time.Microsecond
	require.Equal(t, 1250*time.Nanosecond, newBatches(c, true).longest)
	c.timeout = 20 * time.Millisecond // for those who ask from now on
	within, cancel := c.within(context.Background())
	defer cancel()
	for _, ctx := range []context.Context{context.Background(), within} { // the second has waited already
		d, err := c.ask(ctx, "a", 1, c.plan.Load())
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.True(t, d.Fallback)
	}
	require.EqualValues(t, 2, c.Stats().Fallback)
	failures := c.breakers.of("").Counts().TotalFailures
	d, err := c.ask(within, "b", 1, c.plan.Load())
	require.NoError(t, err)
	require.True(t, d.Fallback)
	require.Equal(t, failures, c.breakers.of("").Counts().TotalFailures, "nobody was asked")
	close(g.pass)
	work.Wait()
	c.timeout = plenty
	d, err = c.Peek(context.Background(), "a", 1)
	require.NoError(t, err)
	require.Equal(t, 9, d.Remaining)
}

// TestABatchThatFailsFailsAllInIt: as one failure of the store.
func TestABatchThatFailsFailsAllInIt(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	g.refuse = errors.New("connection reset")
	for i := range 20 {
		work.Go(func() {
			_, err := c.Take(context.Background(), strconv.Itoa(i), 1)
			require.ErrorIs(t, err, g.refuse)
		})
	}
	c.batches.awaits(t, 20)
	close(g.pass)
	others := g.others.Load()
	work.Wait()
	require.EqualValues(t, 1, c.breakers.of("").Counts().TotalFailures)
	require.True(t, c.batches.together())
	require.Equal(t, others, g.others.Load())
}

// TestClientsInSeveralSlotsAreAskedAboutApart: once it is known.
func TestClientsInSeveralSlotsAreAskedAboutApart(t *testing.T) {
	for _, known := range []bool{false, true} {
		g := &gate{apart: known}
		c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
		if known {
			for range mostCalls { // of this one client
				work.Go(func() {
					ok, err := c.Allow(context.Background(), "a")
					require.NoError(t, err)
					require.True(t, ok)
				})
			}
			for range mostCalls {
				require.Equal(t, []string{"weir:a"}, <-g.came)
			}
		}
		g.refuse = refusal("CROSSSLOT Keys in request don't hash to the same slot")
		for range 2 {
			work.Go(func() {
				ok, err := c.Allow(context.Background(), "a")
				require.NoError(t, err)
				require.True(t, ok)
			})
		}
		if known {
			c.batches.awaits(t, 2)
		}
		work.Go(func() {
			ok, err := c.Allow(context.Background(), "b")
			require.NoError(t, err)
			require.True(t, ok)
		})
		if known {
			require.Equal(t, []string{"weir:b"}, <-g.came)
		} else {
			c.batches.awaits(t, 3)
		}
		close(g.pass)
		work.Wait()
		require.False(t, c.batches.together())
		for key, used := range map[string]int{"a": 2, "b": 1} {
			if known && key == "a" {
				used += mostCalls
			}
			d, err := c.Peek(context.Background(), key, 0)
			require.NoError(t, err)
			require.Equal(t, 10-used, d.Remaining, key)
		}
		for _, b := range c.breakers {
			require.Zero(t, b.Counts().TotalFailures)
		}
	}
}

// A refusal is what a server answers instead of deciding.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

// TestWhatIsRefusedTogetherIsAskedApart: but where the server refuses everything; and from then
// on, but where it is for a moment.
func TestWhatIsRefusedTogetherIsAskedApart(t *testing.T) {
	for refused, is := range map[refusal]struct{ all, moment bool }{
		"ERR something about a key":             {},
		"LOADING Redis is loading":              {all: true},
		"TRYAGAIN Multiple keys while a slot m": {moment: true},
		"ERR Function not found":                {moment: true},
	} {
		g := &gate{refuse: refused}
		c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
		for i := range 20 {
			work.Go(func() {
				ok, err := c.Allow(context.Background(), strconv.Itoa(i))
				if is.all {
					require.ErrorIs(t, err, refused)
				} else {
					require.NoError(t, err)
					require.True(t, ok)
				}
			})
		}
		c.batches.awaits(t, 20)
		close(g.pass)
		work.Wait()
		require.Equal(t, is.all || is.moment, c.batches.together(), refused)
		if is.all {
			require.EqualValues(t, 1, c.breakers.of("").Counts().TotalFailures)
		} else {
			require.Zero(t, c.breakers.of("").Counts().TotalFailures)
		}
		if !c.batches.together() {
			c.batches.refused.Add(-int64(apartFor))
			require.True(t, c.batches.together(), "it may be another server by now")
		}
	}
}

// An odd store answers those who take in a way of its own.
type odd struct {
	Store
	answer Reply
}

func (o odd) Call(ctx context.Context, l *Library, keys, args []string) (Reply, error) {
	if l == taking {
		return o.answer, nil
	}
	return o.Store.Call(ctx, l, keys, args)
}

// TestAnAnswerThatIsNoneIsAnError: but that the server does not know the policy, again and
// again, leaves it to the other function.
func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	ctx, client := context.Background(), redistest.Start(t).Client()
	for _, answer := range []Reply{{}, {Text: "x"}, {Text: strings.Repeat("x", 21)}, {Numbers: []int64{1, 2, 3, 4, 5, 6}}, {Numbers: []int64{2}, Text: strings.Repeat("x", 20)}} {
		c := NewWith(odd{newGoRedis(client), answer}, weir.TokenBucket(weir.PerDay(10)), WithTimeout(plenty))
		require.NoError(t, c.Reset(ctx, "a"))
		_, err := c.Take(ctx, "a", 1)
		require.ErrorContains(t, err, "answered")
	}
	c := NewWith(odd{newGoRedis(client), Reply{Numbers: []int64{3}}}, weir.TokenBucket(weir.PerDay(10)), WithTimeout(plenty))
	require.NoError(t, c.Reset(ctx, "a"))
	for i := range 3 {
		d, err := c.Take(ctx, "a", 1)
		require.NoError(t, err)
		require.Equal(t, 9-i, d.Remaining)
	}
}

// TestAnAnswerThatIsNoDecisionIsAnError: also of the other function, and none stops the process.
func TestAnAnswerThatIsNoDecisionIsAnError(t *testing.T) {
	ctx := context.Background()
	for _, numbers := range [][]int64{
		nil, {0}, {1}, {4}, {2, 2}, {1, 9, 0, 1, 0}, {1, 9, 0, 1, 0, 1, 1}, {2, 9, 0, 1, 0, 1}, {1, -2, 0, 1, 0, 1},
		{1, 9, -2, 1, 0, 1}, {1, 9, 0, 0, 0, 1}, {1, 9, 0, 2, 0, 1}, {1, 9, 0, 1, -1, 1}, {1, 9, 0, 1, 0, -1},
	} {
		store := same{Numbers: numbers}
		c := NewWith(store, weir.SlidingWindow(weir.PerDay(10)), WithLease(5, time.Hour))
		for range 3 {
			_, err := c.Take(ctx, "a", 1)
			require.ErrorContains(t, err, "answered", "%v", numbers)
		}
		_, err := c.Peek(ctx, "a", 1)
		require.ErrorContains(t, err, "answered", "%v", numbers)
		require.NoError(t, c.Close())
	}
}

// A store that answers the same, always.
type same Reply

func (s same) Call(context.Context, *Library, []string, []string) (Reply, error) {
	return Reply(s), nil
}

// TestWhichStoresAreOfOneServer: a ring is not, nor a cluster, but where a hash tag says so.
func TestWhichStoresAreOfOneServer(t *testing.T) {
	options := &redis.RingOptions{Addrs: map[string]string{"a": "localhost:1"}}
	ring, cluster := redis.NewRing(options), redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"localhost:1"}})
	single := redis.NewClient(&redis.Options{Addr: "localhost:1"})
	t.Cleanup(func() { _, _, _ = ring.Close(), cluster.Close(), single.Close() })
	p := weir.TokenBucket(weir.PerDay(10))
	for _, client := range []redis.UniversalClient{ring, cluster} {
		require.False(t, New(client, p).batches.together())
		require.True(t, New(client, p, WithPrefix("{a}")).batches.together())
	}
	require.True(t, New(single, p).batches.together())
	require.False(t, NewWith(struct{ Store }{newGoRedis(single)}, p).batches.together())
}

// TestWhoHasForgottenThePolicyIsToldAgain: by each call, and not by each client.
func TestWhoHasForgottenThePolicyIsToldAgain(t *testing.T) {
	g := &gate{}
	c, work := gated(t, g, weir.TokenBucket(weir.PerDay(10)))
	client := g.Store.(goRedis).client
	for i := range 20 {
		work.Go(func() {
			ok, err := c.Allow(context.Background(), strconv.Itoa(i))
			require.NoError(t, err)
			require.True(t, ok)
		})
	}
	c.batches.awaits(t, 20)
	require.NoError(t, client.FunctionFlush(context.Background()).Err())
	require.NoError(t, client.ConfigResetStat(context.Background()).Err())
	close(g.pass)
	work.Wait()
	calls := 0
	for _, line := range strings.Fields(client.Info(context.Background(), "commandstats").Val()) {
		_, _ = fmt.Sscanf(line, "cmdstat_fcall:calls=%d", &calls)
	}
	require.LessOrEqual(t, calls, 5*(mostCalls+1))
	require.NotZero(t, calls)
}

// TestAPolicyOfThirteenDaysAndMoreIsDecidedByABatch: debts in ticks would not be exact.
func TestAPolicyOfThirteenDaysAndMoreIsDecidedByABatch(t *testing.T) {
	ctx := context.Background()
	client := redistest.Start(t).Client()
	c := New(client, weir.TokenBucket(weir.Per(1000, 30*24*time.Hour)), WithTimeout(plenty))
	c.at = "1700000000000000"
	for i := range 1000 {
		after, err := c.batches.call(bounded{ctx, ctx, time.Now().Add(plenty)}, c.plan.Load(), []string{"weir:a"}, []string{c.plan.Load().id, "1"})
		require.NoError(t, err)
		d, ok := c.plan.Load().read(after, 1, 1, 1)
		require.True(t, ok)
		require.True(t, d.Allowed)
		require.Equal(t, 999-i, d.Remaining)
	}
}

// TestManyBucketsAreDecidedTogether: more than a function of Redis has place for at once.
func TestManyBucketsAreDecidedTogether(t *testing.T) {
	client := redistest.Start(t).Client()
	for _, count := range []int{mostBuckets, mostBuckets + 1, 5000} {
		parts := make([]weir.Policy, count)
		for i := range parts {
			parts[i] = weir.TokenBucket(weir.PerDay(i + 2))
		}
		c := New(client, weir.All(parts...), WithTimeout(plenty))
		for _, allowed := range []bool{true, true, false} {
			ok, err := c.Allow(context.Background(), strconv.Itoa(count))
			require.NoError(t, err)
			require.Equal(t, allowed, ok)
		}
	}
}

// TestATickIsNotRoundedAway: of a debt of decades, where it decides.
func TestATickIsNotRoundedAway(t *testing.T) {
	client, tried := redistest.Start(t).Client(), 0
	for period := 30*365*24*time.Hour - time.Hour; tried < 50; period++ {
		p := weir.TokenBucket(weir.Per(3, period))
		each := interval(weir.Per(3, period))
		if each%ticksPerMicro > 40 || each%ticksPerMicro == 0 {
			continue
		}
		tried++
		c, memory := New(client, p, WithPrefix(fmt.Sprint(tried, ":")), WithTimeout(plenty)), conformance.Memory(p)
		at := int64(1_700_000_000_000_000)
		for _, later := range []int64{0, int64(each / ticksPerMicro), 1, 0} { // the second is ticks too early
			at += later
			memory.At(at)
			for n := 3; n > 0; n -= 2 {
				pl := c.plan.Load()
				after, err := c.batches.call(bounded{context.Background(), context.Background(), time.Now().Add(plenty)}, pl, []string{"a"}, []string{pl.id, strconv.Itoa(n), strconv.FormatInt(at, 10)})
				require.NoError(t, err)
				got, ok := pl.read(after, n, 1, 1)
				require.True(t, ok)
				want, err := memory.Take("a", n)
				require.NoError(t, err)
				want.RetryAfter, want.ResetAfter = roundedUp(want.RetryAfter), roundedUp(want.ResetAfter)
				require.Equal(t, want, got, "%v: %d after %d us", p, n, later)
			}
		}
		require.NoError(t, client.FlushAll(context.Background()).Err())
	}
}

// TestClientsAskManyThingsAtOnce: all that is admitted of each client is what it has.
func TestClientsAskManyThingsAtOnce(t *testing.T) {
	client := redistest.Start(t).Client()
	c := New(client, weir.TokenBucket(weir.PerDay(100)), WithTimeout(plenty))
	var work sync.WaitGroup
	var mu sync.Mutex
	admitted := make(map[string]int)
	for worker := range 64 {
		work.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 200 {
				key, n := strconv.Itoa(r.IntN(20)), 1+r.IntN(3)
				ok, err := c.AllowN(context.Background(), key, n)
				require.NoError(t, err)
				if ok {
					mu.Lock()
					admitted[key] += n
					mu.Unlock()
				}
			}
		})
	}
	work.Wait()
	require.Len(t, admitted, 20)
	for key, n := range admitted {
		require.Equal(t, 100, n, key)
	}
	c.batches.end(t)
}
