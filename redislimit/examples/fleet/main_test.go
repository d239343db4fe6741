package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The processes are this program again, here as in main.
func TestMain(m *testing.M) {
	if store := os.Getenv(storeVariable); store != "" {
		exit(serve(store))
	}
	os.Exit(m.Run())
}

func TestTheBoundsHoldWhileRedisComesAndGoes(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("WEIR_REDIS") == "" {
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	t.Setenv("TMPDIR", t.TempDir())
	out := new(strings.Builder)
	require.NoError(t, run(t.Context(), out, script{killed: time.Second, back: 3 * time.Second, end: 4 * time.Second}), out)
	require.Contains(t, out.String(), "The bounds held")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestItSaysWhatIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", "")
	require.ErrorContains(t, run(t.Context(), io.Discard, script{}), "apt-get install redis-server")
}

func TestABrokenBoundIsFound(t *testing.T) {
	const bound = 200 // of a second
	for _, answer := range []string{admittedByRedis, admittedByItself} {
		tally := newTally(time.Now())
		add := func(n int, answer string) {
			for range n {
				tally.add(tally.begin.Add(5*time.Second), tally.begin.Add(6*time.Second), answer, nil)
			}
		}
		add(1, admittedByRedis)
		add(1, admittedByItself)
		add(bound-1, answer)
		require.NoError(t, tally.check(io.Discard))
		add(1, answer)
		require.ErrorContains(t, tally.check(io.Discard), "from 5s to 6s")
	}
}
