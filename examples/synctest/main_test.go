package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPoller_TwoAtOnceThenOneEvery30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		p := NewPoller(func() { at = append(at, time.Since(begin)) })

		p.Fetch(4)
		require.Equal(t, []time.Duration{0, 0, 30 * time.Second, 60 * time.Second}, at)

		at = nil
		time.Sleep(24 * time.Hour)
		begin = time.Now()
		p.Fetch(3)
		require.Equal(t, []time.Duration{0, 0, 30 * time.Second}, at)
	})
}

// What main prints.
func Example() {
	main()
	// Output:
	// fetched
	// fetched
}
