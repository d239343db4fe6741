package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

const want = `alarm 1: mail sent
alarm 2: mail sent
alarm 3: mail sent
alarm 4: mail sent
alarm 5: mail sent
alarm 6: only logged
alarm 7: only logged
alarm 8: only logged
token-bucket 1/10m burst 5: the next one in 10m0s
a digest of 6: never=true
5 allowed, 5 denied, 50% rejected
`

func TestRun(t *testing.T) {
	var out strings.Builder
	run(&out, weir.WithClock(weir.NewManualClock()))
	require.Equal(t, want, out.String())
}
