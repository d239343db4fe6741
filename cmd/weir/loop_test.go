package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// The whole way, from the file to the figures, comes to what a loop over weir does.
func TestReplayIsAPlainLoopOverTheLog(t *testing.T) {
	type request struct {
		at      time.Time
		address string
	}
	f, err := os.Open("testdata/access.log.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var log []request
	for lines := bufio.NewScanner(z); lines.Scan(); {
		m := regexp.MustCompile(`^(\S+) - - \[([^]]+)\]`).FindStringSubmatch(lines.Text())
		require.NotNil(t, m, lines.Text())
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		require.NoError(t, err)
		log = append(log, request{at, m[1]})
	}
	slices.SortStableFunc(log, func(a, b request) int { return cmp.Compare(a.at.Unix(), b.at.Unix()) })
	for _, policy := range []string{"token-bucket 20/m burst 5", "fixed-window 20/m", "sliding-window 20/m", "sliding-counter 20/m", "all(1/s burst 9, sliding-window 60/h)"} {
		clock := weir.NewManualClock()
		clients := weir.NewPerClient[string](weir.MustParsePolicy(policy), weir.WithClock(clock))
		denied := map[string]uint32{}
		for _, r := range log {
			clock.Advance(time.Duration(r.at.UnixNano()) - clock.Now())
			if !clients.Allow(r.address) {
				denied[r.address]++
			}
		}
		stats := clients.Stats()
		require.NoError(t, clients.Close())
		var got report
		require.NoError(t, json.Unmarshal([]byte(weirRun(t, "replay", "-policy", policy, "-json", "-top", "1000", "testdata/access.log.gz")), &got))
		p := got.Policies[0]
		require.Equal(t, stats.Denied, p.Denied, policy)
		require.Equal(t, stats.RejectionRate(), p.RejectionRate, policy)
		require.Equal(t, len(denied), p.ClientsDenied, policy)
		for _, c := range p.Worst {
			require.Equal(t, denied[c.Client], c.Denied, "%s: %s", policy, c.Client)
			delete(denied, c.Client)
		}
		require.Empty(t, denied, policy)
	}
}
