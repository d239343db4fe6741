package weir

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestAPaceLetsThroughTenAtOnce: whoever asks at the same time.
func TestAPaceLetsThroughTenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which no second passes meanwhile
		for range 2000 {
			var (
				p     pace
				let   atomic.Int64
				group sync.WaitGroup
			)
			for range 4 {
				group.Go(func() {
					for p.may() {
						let.Add(1)
					}
				})
			}
			group.Wait()
			require.Equal(t, int64(paceBurst), let.Load())
		}
	})
}
