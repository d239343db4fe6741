package redislimit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALineCallsTheFirstAndThoseForWhomEnoughIsLeft: in order, and nobody else.
func TestALineCallsTheFirstAndThoseForWhomEnoughIsLeft(t *testing.T) {
	var ls lines
	require.Nil(t, ls.follow("a", 1), "there is none")
	var line []*waiter
	for _, n := range []int{1, 3, 2, 1, 1, 1} {
		w := ls.join("a", n)
		if len(line) > 0 {
			ls.leave("a", w, 0)
			w = ls.follow("a", n)
		}
		line = append(line, w)
	}
	require.Nil(t, ls.follow("b", 1))
	called := func() (who []int) {
		for i, w := range line {
			select {
			case <-w.turn:
				who = append(who, i)
			default:
			}
		}
		return who
	}
	require.Equal(t, []int{0}, called())
	ls.leave("a", nil, 9)
	require.Equal(t, []int{0}, called())
	ls.leave("a", line[0], 5)
	require.Equal(t, []int{0, 1, 2}, called())
	ls.leave("a", line[3], 0) // it gives up
	require.Equal(t, []int{0, 1, 2}, called())
	ls.leave("a", line[2], 0)
	ls.leave("a", line[1], 0)
	require.Equal(t, []int{0, 1, 2, 4}, called())
	ls.leave("a", line[5], 0)
	ls.leave("a", line[4], 7)
	require.Empty(t, ls.of)
	require.Nil(t, ls.follow("a", 1))
}
