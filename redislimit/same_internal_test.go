package redislimit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// A stepClock shows what it is set to.
type stepClock struct{ now time.Duration }

func (c *stepClock) Now() time.Duration { return c.now }

func (c *stepClock) SleepUntil(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func randomLimit(r *rand.Rand, long bool) weir.Limit {
	counts := []int{1, 2, 3, 5, 10, 100}
	periods := []time.Duration{time.Millisecond * 7, time.Microsecond * 600, time.Millisecond * 30, time.Second * 3, time.Minute * 5, time.Hour * 60, 24 * 30 * time.Hour}
	count := counts[r.IntN(len(counts))]
	if !long {
		periods = periods[:4]
	}
	period := periods[r.IntN(len(periods))]
	return weir.Per(count, period*time.Duration(count))
}

func randomPolicy(r *rand.Rand, depth int, logs bool) weir.Policy {
	l := randomLimit(r, logs)
	n := 8
	if depth == 0 {
		n = 5
	}
	switch r.IntN(n) {
	case 0:
		return weir.TokenBucket(l.WithBurst(1 + r.IntN(12)))
	case 1:
		return weir.FixedWindow(l)
	case 2:
		if logs {
			return weir.SlidingWindow(l)
		}
		fallthrough
	case 3:
		return weir.SlidingCounter(l)
	case 4:
		return weir.LeakyBucket(l, 0)
	case 5:
		return weir.BurstReserve(l, randomLimit(r, logs))
	case 6:
		return weir.All(randomPolicy(r, depth-1, logs), randomPolicy(r, depth-1, logs))
	default:
		return weir.FirstOf(randomPolicy(r, depth-1, logs), randomPolicy(r, depth-1, logs), randomPolicy(r, depth-1, logs))
	}
}

// roundedUp returns a span in whole microseconds: the store's readings have no others.
func roundedUp(d time.Duration) time.Duration {
	if d == weir.Never {
		return d
	}
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}

func alike(t *testing.T, policies []weir.Policy) bool {
	known := map[string]bool{}
	for _, p := range policies {
		pl, err := newPlan(p)
		require.NoError(t, err)
		if known[pl.id] {
			return true
		}
		known[pl.id] = true
	}
	return false
}

// almost returns a span that is at most a little shorter than another as that one.
func almost(want, got time.Duration) time.Duration {
	if want <= got && got-want < 20*time.Microsecond {
		return got
	}
	return want
}

// TestEveryDecisionIsTheOneOfMemory: in random programs, whatever the policy.
func TestEveryDecisionIsTheOneOfMemory(t *testing.T) {
	ctx := context.Background()
	client := redistest.Start(t).Client()
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		clock := &stepClock{now: 1_700_000_000 * time.Second}
		plans := seed%2 == 1
		// A log that goes from one period to another has its instants rounded, in each as it can.
		policies := []weir.Policy{randomPolicy(r, 2, !plans), randomPolicy(r, 2, false), randomPolicy(r, 1, false)}
		if plans && alike(t, policies) {
			continue // buckets are the same one here, however their limits are written
		}
		p := policies[0]
		program := fmt.Sprintf("seed %d: %v\n", seed, p)
		c := New(client, p, WithPrefix(fmt.Sprint(seed, ":")), WithTimeout(10*time.Second))
		m := weir.NewPerClient[string](p, weir.WithClock(clock), weir.WithSweepEvery(0))
		var last weir.Decision
		for range 80 {
			step := []time.Duration{0, 1, last.RetryAfter / 2, last.RetryAfter - time.Microsecond, last.RetryAfter, last.ResetAfter, 1e6}[r.IntN(7)]
			if plans && step == last.RetryAfter-time.Microsecond {
				step = 0
			}
			if step < 0 || step > 200*365*24*time.Hour-clock.now {
				step = 0
			}
			clock.now = (clock.now + step).Truncate(time.Microsecond)
			back := seed%3 == 0 // a state that is full is not kept, and neither is when it was used
			if back && r.IntN(20) == 0 {
				clock.now -= time.Duration(r.IntN(5000)) * time.Microsecond
			}
			c.at = strconv.FormatInt(int64(clock.now/time.Microsecond), 10)
			key, n := string(rune('a'+r.IntN(2))), r.IntN(6)-r.IntN(2)
			var got, want weir.Decision
			var err error
			verb := r.IntN(12)
			if back && (verb == 1 || verb == 2) || plans && verb == 1 { // nothing given back does not forget a denial
				verb = 4
			}
			switch verb {
			case 0:
				got, err = c.Peek(ctx, key, n)
				want = m.Peek(key, n)
				program += fmt.Sprintf("%v Peek(%s, %d)\n", clock.now, key, n)
			case 1:
				err = c.Refund(ctx, key, n)
				m.Refund(key, n)
				program += fmt.Sprintf("%v Refund(%s, %d)\n", clock.now, key, n)
			case 2:
				if r.IntN(5) == 0 {
					err = c.Reset(ctx, key)
					m.Reset(key)
					program += fmt.Sprintf("%v Reset(%s)\n", clock.now, key)
				}
			case 3:
				if !plans {
					continue
				}
				p := policies[1+r.IntN(2)]
				got, err = c.TakeAs(ctx, key, n, p)
				want = m.TakeAs(key, n, p)
				program += fmt.Sprintf("%v TakeAs(%s, %d, %v)\n", clock.now, key, n, p)
			default:
				got, err = c.Take(ctx, key, n)
				want = m.Take(key, n)
				program += fmt.Sprintf("%v Take(%s, %d)\n", clock.now, key, n)
			}
			require.NoError(t, err, program)
			want.RetryAfter, want.ResetAfter = roundedUp(want.RetryAfter), roundedUp(want.ResetAfter)
			if plans { // carrying rounds debts up, in each as it can
				want.RetryAfter, want.ResetAfter = almost(want.RetryAfter, got.RetryAfter), almost(want.ResetAfter, got.ResetAfter)
			}
			require.Equal(t, want, got, program)
			last = got
		}
	}
}
