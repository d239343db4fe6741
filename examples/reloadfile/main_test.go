package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const counts = `{"api": "20/h"}                                              each user was allowed 20
{"api": "sliding-window 30/h"}                               each user was allowed 30
{"api": "sliding-window 4                                    each user was allowed 30
{"api": "all(sliding-window 40/h, fixed-window 10000/d)"}    each user was allowed 40
{"api": "50/fortnight"}                                      each user was allowed 40
{"api": "50/h"}                                              each user was allowed 50
{"api": "10/h"}                                              each user was allowed 50
each request answered once, as it was decided: true
`

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.json")
	var out strings.Builder
	require.True(t, run(&out, path), out.String())
	got := strings.ReplaceAll(out.String(), path, "FILE")
	require.True(t, strings.HasSuffix(got, "\n"+counts), got)
	for _, line := range []string{
		`level=INFO msg="policy applied" file=FILE name=api old="token-bucket 20/h" new="sliding-window 30/h"`,
		`level=ERROR msg="policies not changed" file=FILE error="policyfile: FILE:1:26: it ends in the middle`,
		`level=ERROR msg="policies not changed" file=FILE error="policyfile: FILE:1:9: policy \"api\": `,
		`old="sliding-window 30/h" new="all(sliding-window 40/h, fixed-window 10000/d)"`,
		`old="token-bucket 50/h" new="token-bucket 10/h"`,
	} {
		require.Contains(t, got, line)
	}
}

// A service does not start without its limits.
func TestStart_WithoutLimits(t *testing.T) {
	for text, says := range map[string]string{
		`{`:                `limits.json:1:2: it ends in the middle`,
		`{"login": "5/s"}`: `no policy "api"`,
	} {
		path := filepath.Join(t.TempDir(), "limits.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		_, err = start(l, path, time.Second, slog.Default())
		require.ErrorContains(t, err, says)
	}
}
