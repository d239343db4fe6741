package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanAsJSON(t *testing.T) {
	log := writeTemp(t, "access.log", logOf(300))
	var got planReport
	require.NoError(t, json.Unmarshal([]byte(weirRun(t, "plan", "-clients", "0", "-json", log)), &got))
	require.Equal(t, 300, got.Lines)
	// One request a second, from the beginning of a minute: 60 in any window of a minute. A bucket of n that gets n back
	// in 60 s has enough for 299 more seconds: n + 299 n / 60 >= 300. A
	// counter takes the window before for what is in view, all of it as the next begins.
	want := map[string]int{"token-bucket": 51, "sliding-window": 60, "sliding-counter": 61, "fixed-window": 60}
	for _, p := range got.Plans {
		if p.family.Burst == 0 && want[p.Algorithm] != 0 {
			require.Equal(t, want[p.Algorithm], p.Count, p.Algorithm)
			require.Zero(t, p.Denied)
		}
		delete(want, p.Algorithm)
	}
	require.Empty(t, want)
	require.Equal(t, got.Plans[0].Policy, got.Policy)
	require.Equal(t, "weir.TokenBucket(weir.PerMinute(51))", got.Go)
}

func TestPlanSaysNo(t *testing.T) {
	log := writeTemp(t, "access.log", logOf(10)+logOf(10))
	code, out, errs := weirWith(nil, "plan", "-algorithm", "leaky-bucket", log)
	require.Equal(t, 1, code)
	require.Empty(t, errs)
	require.Contains(t, out, "leaky-bucket       none does")
}

func TestPlanRefusesWhatMakesNoSense(t *testing.T) {
	log := writeTemp(t, "access.log", logOf(10))
	for _, args := range [][]string{
		{"-clients", "100"}, {"-clients", "-1"}, {"-clients", "NaN"}, {"-clients", "1", "-requests", "1"}, {"-per", "0s"}, {"-algorithm", "all"}, {"-clients", "x"},
	} {
		code, out, errs := weirWith(nil, append(append([]string{"plan"}, args...), log)...)
		require.Equal(t, 2, code, "%v: %s", args, errs)
		require.Empty(t, out)
	}
}

func TestCompareAsJSON(t *testing.T) {
	log := writeTemp(t, "access.log", logOf(100))
	var got compareReport
	require.NoError(t, json.Unmarshal([]byte(weirRun(t, "compare", "-live", "unlimited", "-candidate", "fixed-window 50/m", "-json", log)), &got))
	require.EqualValues(t, 90, got.BothAdmit)
	require.EqualValues(t, 10, got.NewlyDenied)
	require.Equal(t, 90.0, got.Agreement)
	require.Equal(t, 1, got.ClientsNewlyDenied)
	require.Equal(t, "10.0.0.1", got.Denied[0].Client)
	require.Equal(t, "2026-05-17T12:00:50Z", got.Denied[0].First.Format("2006-01-02T15:04:05Z07:00"))
	require.Len(t, got.Policies, 2)

	code, _, errs := weirWith(nil, "compare", "-live", "1/s", log)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "candidate")
}
