package redislimit

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/conformance"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A traced is a PerClient whose instants are those of a trace.
type traced struct{ c *PerClient }

func (s traced) At(us int64) { s.c.at = strconv.FormatInt(us, 10) }

func (s traced) Take(key string, n int) (weir.Decision, error) {
	return s.c.Take(context.Background(), key, n)
}

func (s traced) TakeAs(key string, n int, p weir.Policy) (weir.Decision, error) {
	return s.c.TakeAs(context.Background(), key, n, p)
}

func (s traced) Peek(key string, n int) (weir.Decision, error) {
	return s.c.Peek(context.Background(), key, n)
}

func (s traced) Refund(key string, n int) error { return s.c.Refund(context.Background(), key, n) }

func (s traced) Reset(key string) error { return s.c.Reset(context.Background(), key) }

func (s traced) SetPolicy(p weir.Policy) error { return s.c.SetPolicy(p) }

// starting returns what starts PerClients that have no clients in common.
func starting(client redis.UniversalClient) func(weir.Policy) conformance.Subject {
	number := 0
	return func(p weir.Policy) conformance.Subject {
		number++
		return traced{New(client, p, WithPrefix(fmt.Sprint(number, ":")), WithTimeout(20*time.Second))}
	}
}

// TestTheStoreDecidesAsTheTracesSay: every field, as memory does, and also where a
// trace grants more, as a limit's interval is not whole microseconds.
func TestTheStoreDecidesAsTheTracesSay(t *testing.T) {
	files, err := conformance.Load("../conformance")
	require.NoError(t, err)
	start := starting(redistest.Start(t).Client())
	traces, steps := 0, 0
	for name, file := range files {
		t.Run(name, func(t *testing.T) {
			for _, trace := range file.Traces {
				require.NoError(t, conformance.Play(trace, start))
				steps += len(trace.Steps)
			}
		})
		traces += len(file.Traces)
	}
	require.GreaterOrEqual(t, traces, 200)
	require.GreaterOrEqual(t, steps, 50_000)
}

// FuzzSameAsMemory plays what memory decided in a random program. One that fails is
// printed as a trace, for a file in conformance.
func FuzzSameAsMemory(f *testing.F) {
	const mostSteps = 300
	client := redistest.Start(f).Client()
	start := starting(client)
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, client.FlushDB(context.Background()).Err())
		choose, more := conformance.FromBytes(data)
		kind := conformance.Kinds[choose(int64(len(conformance.Kinds)))]
		steps := 0
		trace, err := conformance.Random(kind, choose, func() bool {
			steps++
			return steps <= mostSteps && more()
		})
		require.NoError(t, err)
		if err := conformance.Play(trace, start); err != nil {
			program, _ := json.Marshal(trace)
			t.Fatalf("%v\n%s", err, program)
		}
	})
}

// TestALeaseTakesWhatMemoryWould: n, and then as much as there is of what more is wanted.
func TestALeaseTakesWhatMemoryWould(t *testing.T) {
	files, err := conformance.Load("../conformance")
	require.NoError(t, err)
	start := starting(redistest.Start(t).Client())
	for _, name := range []string{"random-single.json", "random-nested.json", "random-back.json", "random-large.json"} {
		require.True(t, len(files[name].Traces) > 0 || name == "random-large.json" && math.MaxInt == math.MaxInt32) // which leaves them out
		for _, trace := range files[name].Traces {
			p := weir.MustParsePolicy(trace.Policies[0].Text)
			store, memory := start(p).(traced), conformance.Memory(p)
			for i, step := range trace.Steps {
				if step.Verb != conformance.Take || step.N <= 0 {
					continue
				}
				more := min(i%9, math.MaxInt-step.N) // 0 for none: then it is a plain take
				store.At(step.At)
				memory.At(step.At)
				want, took, err := takeMore(memory, step.Key, step.N, more)
				require.NoError(t, err)
				got, taken, err := store.c.decide(context.Background(), "take", step.Key, step.N, step.N+more, store.c.plan.Load())
				require.NoError(t, err)
				want.RetryAfter, want.ResetAfter = roundedUp(want.RetryAfter), roundedUp(want.ResetAfter)
				require.Equal(t, want, got, "%s, step %d: %v and %d more", trace.Name, i, step, more)
				require.Equal(t, took, taken, "%s, step %d: %v and %d more", trace.Name, i, step, more)
			}
		}
	}
}

// takeMore takes n, and then up to more, and returns how many that were.
func takeMore(s conformance.Subject, key string, n, more int) (weir.Decision, int, error) {
	d, err := s.Take(key, n)
	switch {
	case err != nil || !d.Allowed:
		return d, 0, err
	case more == 0:
		return d, n, nil
	}
	more = min(more, d.Remaining)
	if _, err := s.Take(key, more); err != nil {
		return d, 0, err
	}
	d, err = s.Peek(key, 0)
	return d, n + more, err
}

// roundedUp returns a span in whole microseconds, as the store has no others.
func roundedUp(d time.Duration) time.Duration {
	if d == weir.Never {
		return d
	}
	return (d + time.Microsecond - 1).Truncate(time.Microsecond)
}

// TestALogThatTheServerHasDroppedIsEmpty: short of memory it may drop any of a state's keys.
func TestALogThatTheServerHasDroppedIsEmpty(t *testing.T) {
	client := redistest.Start(t).Client()
	p := weir.All(weir.SlidingWindow(weir.PerSecond(10)), weir.SlidingWindow(weir.PerMinute(3)))
	s := traced{New(client, p, WithTimeout(20*time.Second))}
	take := func(second int64) weir.Decision {
		s.At(second * 1e6)
		d, err := s.Take("a", 1)
		require.NoError(t, err)
		return d
	}
	for second := range int64(3) {
		require.True(t, take(second).Allowed)
	}
	require.Equal(t, 57*time.Second, take(3).RetryAfter)
	require.EqualValues(t, 1, client.Del(context.Background(), "{weir:a}2").Val())
	for second := int64(3); second < 6; second++ {
		d := take(second)
		require.True(t, d.Allowed, second)
		require.Equal(t, int(5-second), d.Remaining)
	}
	require.Equal(t, 57*time.Second, take(6).RetryAfter)
	require.True(t, take(63).Allowed)
}
