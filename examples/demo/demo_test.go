package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// The whole of the demo, shorter.
func TestRun_EveryBoundHolds(t *testing.T) {
	var out, progress bytes.Buffer
	status := run(t.Context(), []string{"-for", "1s"}, &out, &progress)
	require.Equal(t, 0, status, "%s%s", &out, &progress)

	rows := tableOf(out.String())
	behaving := 0
	for _, s := range scenarios() {
		defer s.close()
		for _, c := range s.clients {
			require.Contains(t, rows, s.name+"/"+c.name, "%s", &out)
			if c.behaves {
				behaving++
			}
		}
	}
	require.Contains(t, rows, "global/*", "%s", &out)
	require.Equal(t, behaving, strings.Count(out.String(), "lost nothing"), "%s", &out)
	for name, f := range rows {
		require.Equal(t, "yes", f[6], "%s held", name)
		offered, allowed, denied := number(t, f[1]), number(t, f[2]), number(t, f[3])
		require.Equal(t, offered, allowed+denied, name)
		require.LessOrEqual(t, allowed, number(t, f[5]), name)
	}
}

func TestScenarios_Limits(t *testing.T) {
	want := map[string]string{
		"api":      "token-bucket 1/s burst 60",
		"login":    "token-bucket 1/10s burst 5",
		"messages": "token-bucket 20/100ms burst 100",
		"jobs":     "token-bucket 10/s",
		"reserve":  "burst-reserve(100/s, 5/s burst 50)",
		"flood":    "token-bucket 50/s burst 20",
		"global":   "token-bucket 40/s burst 20",
	}
	got := map[string]string{}
	for _, s := range scenarios() {
		defer s.close()
		got[s.name] = s.policy.String()
		if s.name == "global" {
			require.Equal(t, "token-bucket 100/s burst 50", s.shared.String())
		}
	}
	require.Equal(t, want, got)
}

// tableOf finds the table in what a run prints: the fields of each row under the client's name.
func tableOf(out string) map[string][]string {
	_, table, _ := strings.Cut(out, "client  ")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string][]string{}
	for _, line := range strings.Split(table, "\n")[1:] {
		f := strings.Fields(line)
		rows[f[0]] = f
	}
	return rows
}

func number(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

func exerciseOne(t *testing.T, s *scenario, length time.Duration) (int, string) {
	defer s.close()
	var out, progress bytes.Buffer
	return exercise(t.Context(), []*scenario{s}, length, &out, &progress), out.String()
}

func TestExercise_BrokenBoundIsAFault(t *testing.T) {
	s := perClient("open", weir.TokenBucket(weir.PerHour(3)), client{name: "any", sends: times(10, flood(1))})
	take := s.take
	s.take = func(client string) weir.Decision {
		d := take(client)
		d.Allowed = true
		return d
	}
	status, out := exerciseOne(t, s, time.Minute)
	require.Equal(t, 1, status)
	require.Contains(t, out, "FAULT: open/any: 10 allowed, more than the limit's bound of 3\n")
	require.Contains(t, out, "FAULT: open: the clients counted 10 allowed and 0 denied, the limiter 3 and 7\n")
	require.Equal(t, "NO", tableOf(out)["open/any"][6])
}

func TestExercise_BrokenSharedBoundIsAFault(t *testing.T) {
	s := globalAndPerClient("open", weir.TokenBucket(weir.PerHour(5)), weir.TokenBucket(weir.PerHour(4)),
		client{name: "a", sends: times(4, flood(1))}, client{name: "b", sends: times(4, flood(1))})
	own := weir.NewPerClient[string](s.policy)
	defer own.Close()
	s.take = func(client string) weir.Decision { return own.Take(client, 1) } // past the global limit
	s.stats = own.Stats
	status, out := exerciseOne(t, s, time.Minute)
	require.Equal(t, 1, status)
	require.Contains(t, out, "FAULT: open/*: 8 allowed, more than the limit's bound of 5\n")
	require.Equal(t, "yes", tableOf(out)["open/a"][6])
	require.NotContains(t, out, "counted")
}

func TestExercise_DenyingAWellBehavedClientIsAFault(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := perClient("tight", weir.TokenBucket(weir.PerHour(3)),
			client{name: "good", sends: times(5, flood(1)), behaves: true})
		s.stream = stream
		status, out := exerciseOne(t, s, time.Minute)
		require.Equal(t, 1, status)
		require.Contains(t, out, "FAULT: tight/good: kept to its limit and was denied 2 times\n")
		require.Contains(t, out, "WAS DENIED")
		require.Equal(t, "yes", tableOf(out)["tight/good"][6])
	}
}

func TestExercise_WrongStatsAreAFault(t *testing.T) {
	for _, st := range []weir.Stats{{Allowed: 2, Denied: 2}, {Allowed: 4, Denied: 2}, {Allowed: 3, Denied: 1}, {Allowed: 3, Denied: 3}} {
		s := perClient("odd", weir.TokenBucket(weir.PerHour(3)), client{name: "any", sends: times(5, flood(1))})
		s.stats = func() weir.Stats { return st }
		status, out := exerciseOne(t, s, time.Minute)
		require.Equal(t, 1, status)
		require.Contains(t, out, "FAULT: odd: the clients counted 3 allowed and 2 denied, the limiter")
	}
}

// A client above its own limit takes nothing of what all share.
func TestGlobalAndPerClient_DeniedIsFree(t *testing.T) {
	s := globalAndPerClient("both", weir.TokenBucket(weir.PerHour(6)), weir.TokenBucket(weir.PerHour(4)),
		client{name: "greedy", sends: times(20, flood(1))})
	status, out := exerciseOne(t, s, time.Minute)
	require.Equal(t, 0, status, out)
	require.Equal(t, []string{"both/greedy", "20", "4", "16"}, tableOf(out)["both/greedy"][:4])
	require.True(t, s.take("modest").Allowed)
	require.True(t, s.take("modest").Allowed)
	d := s.take("modest")
	require.False(t, d.Allowed, "6 in all")
	require.Equal(t, 6, d.Limit, "the shared limit says no, not her own")
}

// A client that cannot be answered is a fault too, not a client that was never denied.
func TestExercise_FailedRequestsAreAFault(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := perClient("gone", weir.TokenBucket(weir.PerHour(3)),
			client{name: "no/such/route", sends: times(2, flood(1))})
		s.stream = stream
		status, out := exerciseOne(t, s, time.Minute)
		require.Equal(t, 1, status)
		require.Contains(t, out, "FAULT: gone/no/such/route: ")
		require.Contains(t, out, "404 Not Found")
	}
}

func TestExercise_NeverHasNoRetryAfter(t *testing.T) {
	s := perClient("shut", weir.TokenBucket(weir.PerHour(0)), client{name: "any", sends: times(1, flood(1))})
	_, out := exerciseOne(t, s, time.Minute)
	require.Contains(t, out, `Retry-After "" with 429 Too Many Requests`)
}

// Ctrl-C in the middle: the clients finish what they have begun, and the table is of the shorter run.
func TestExercise_InterruptedStillReports(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	s := perClient("short", weir.TokenBucket(weir.PerHour(3)), client{name: "any", sends: func(ctx context.Context, send func()) {
		times(5, flood(1))(ctx, send)
		interrupt()
		<-ctx.Done()
	}})
	defer s.close()
	var out, progress bytes.Buffer
	begin := time.Now()
	require.Equal(t, 0, exercise(ctx, []*scenario{s}, time.Hour, &out, &progress), "%s", &out)
	require.Less(t, time.Since(begin), time.Hour/2)
	f := tableOf(out.String())["short/any"]
	require.Equal(t, []string{"short/any", "5", "3", "2"}, f[:4])
	require.Equal(t, "3", f[5], "the bound is of the run as it was, not of an hour")
}

func TestEvery_NeverCatchesUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var at []time.Time
	const interval = 5 * time.Millisecond
	times(6, every(interval))(ctx, func() {
		at = append(at, time.Now())
		if len(at) == 2 {
			time.Sleep(4 * interval)
		}
	})
	require.Len(t, at, 6)
	for i := 2; i < len(at); i++ {
		require.GreaterOrEqual(t, at[i].Sub(at[i-2]), interval, "requests %d to %d", i-2, i)
	}
}
