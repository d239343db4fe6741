package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `refused: weir: limit with a count of -1: it must not be negative
60 reloads, 200 users, 4000 requests allowed of 4000
each user 20, each request decided once: true
token-bucket 50/h: 30 more for each
`

func TestRun_SystemClock(t *testing.T) {
	var out strings.Builder
	require.True(t, run(&out), out.String())
	require.Equal(t, want, out.String())
}

func TestRun_ManualClock(t *testing.T) {
	var out strings.Builder
	require.True(t, run(&out, weir.WithClock(weir.NewManualClock())), out.String())
	require.Equal(t, want, out.String())
}
