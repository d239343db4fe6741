package main

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

// The whole of it, shorter.
func TestRunOfEverythingFindsNoFault(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	var out, progress bytes.Buffer
	status := run(t.Context(), []string{"-for", "2s", "-seed", "1"}, &out, &progress)
	require.Equal(t, 0, status, "%s%s", &out, &progress)
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
	require.Contains(t, out.String(), "Every bound held")

	counts, _, _ := strings.Cut(out.String(), "at bound:")
	for _, s := range allScenarios(&stage{workers: 1}) {
		defer s.shut()
		require.Regexp(t, `(?m)^ *`+s.name+` .* kept$`, counts)
	}
}

// Ctrl-C: what was done until then is checked and reported.
func TestRunInterruptedStillReports(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out, progress bytes.Buffer
	status := run(ctx, []string{"-for", "24h"}, &out, &progress)
	require.Equal(t, 0, status, "%s%s", &out, &progress)
	require.Regexp(t, `(?m)^ *flood +[1-9].* kept$`, out.String())
}

func TestRunRefusesWrongFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
		says string
	}{
		{[]string{"-h"}, 0, "-for duration"},
		{[]string{"-for", "999ms"}, 2, "-for 999ms: must be at least 1s"},
		{[]string{"-for", "soon"}, 2, "invalid value"},
		{[]string{"10m"}, 2, `"10m"`},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, c.want, run(t.Context(), c.args, &out, &errs), "%q", c.args)
		require.Contains(t, errs.String(), c.says)
		require.Empty(t, out.String())
	}
}

// broken returns scenarios of which each breaks one promise.
func broken(st *stage, release <-chan struct{}) []*scenario {
	bucket := weir.TokenBucket(weir.PerSecond(100).WithBurst(8))

	generous := newPopulation(st, bucket)
	generous.ask = func(key uint64, n int, plan *weir.Policy, tell bool) weir.Decision {
		d := generous.decide(key, n, plan, tell)
		d.Allowed = true
		return d
	}
	// A client of it is not full again before the run is over.
	slow := newPopulation(st, weir.TokenBucket(weir.PerHour(8)))

	careless := newScenario(st, "leaking", weir.New(bucket))
	var leaked [][]byte
	careless.turn = func(w *worker, l *lane) {
		l.allowed.Add(1)
		if w.id == 0 {
			leaked = append(leaked, make([]byte, slack/8))
			go func() { <-release }()
			time.Sleep(ms) // 500 of them are more than enough
		}
	}
	keep := func() { runtime.KeepAlive(leaked) }
	careless.finish = func() error { keep(); return nil }
	return []*scenario{generous.scenario(st, "generous"), slow.scenario(st, "slow"), careless}
}

func TestSoakFindsWhatIsBroken(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	r := soak(t.Context(), shortest, 1, func(st *stage) []*scenario { return broken(st, release) }, io.Discard)
	var out bytes.Buffer
	r.print(&out)
	require.Regexp(t, `FAULT: generous: key \d+: \d+ admitted within \S+, in which at most \d+ can be\n`, out.String())
	require.Regexp(t, `FAULT: generous, idle: the callers counted \d+ allowed and \d+ denied, Stats \d+ and \d+\n`, out.String())
	require.Regexp(t, `FAULT: slow, idle: \d+ clients left 1s after the last call\n`, out.String())
	require.Regexp(t, `FAULT: idle at the end: \S+ MB of heap, \S+ MB before\n`, out.String())
	require.Regexp(t, `FAULT: with all closed: \d+ goroutines, \d+ before\n`, out.String())
	require.Regexp(t, `(?m)^ *generous .* BROKEN$`, out.String())
	require.Regexp(t, `(?m)^ *slow .* kept$`, out.String())
}
