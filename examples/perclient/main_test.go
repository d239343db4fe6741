package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `203.0.113.9 as alice: allowed=false, retry after 10m0s
198.51.100.7 as alice: allowed=true, remaining 4 of 5
after a login: remaining 5
6 allowed, 96 denied
`

func TestRun(t *testing.T) {
	var out strings.Builder
	run(&out, weir.WithClock(weir.NewManualClock()))
	require.Equal(t, want, out.String())
}
