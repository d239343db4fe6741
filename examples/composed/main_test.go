package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `all(token-bucket 10/m as "pace", sliding-window 25/d as "daily quota")
  10: yes, 0 more now (pace)
  1: no, in 6s (pace)
  10: yes, 0 more now (pace)
  6: no, in 23h58m0s (daily quota)
  5: yes, 0 more now (daily quota)
  1: no, in 23h58m0s (daily quota)
first-of(token-bucket 3/m as "normal", fixed-window 2/h as "reserve")
  allowed=true, 2 left
  allowed=true, 2 left
  allowed=true, 2 left
  allowed=true, 1 left
  allowed=true, 0 left
  allowed=false, 0 left
at most in an hour: plan 25, urgent 186
`

func TestRun(t *testing.T) {
	var out strings.Builder
	run(&out, weir.NewManualClock())
	require.Equal(t, want, out.String())
}
