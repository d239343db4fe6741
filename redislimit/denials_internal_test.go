package redislimit

import (
	"math"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

func TestADenialIsACacheLine(t *testing.T) {
	require.EqualValues(t, 64, unsafe.Sizeof(denial{}))
}

// TestFewDenialsTakeLittleMemory, however many there may be.
func TestFewDenialsTakeLittleMemory(t *testing.T) {
	pl, err := newPlan(weir.TokenBucket(weir.PerHour(2)))
	require.NoError(t, err)
	d := newDenials(math.MaxInt)
	denied := weir.Decision{RetryAfter: time.Hour, Policy: pl.leaves[0].name, Limit: 2}
	for i := range 1000 {
		key := strconv.Itoa(i)
		d.add(key, 1, pl, denied, d.ask(key))
	}
	places := 0
	for i := range d.shards {
		places += len(d.shards[i].young)
	}
	require.Less(t, places, 5000)
	for i := range 1000 {
		_, ok := d.find(strconv.Itoa(i), 1, pl)
		require.True(t, ok)
	}
}

// TestSoManyDenialsAreRemembered, those that were last, and at most three times as many.
func TestSoManyDenialsAreRemembered(t *testing.T) {
	pl, err := newPlan(weir.All(weir.TokenBucket(weir.PerHour(2)), weir.FixedWindow(weir.PerDay(7))))
	require.NoError(t, err)
	for _, clients := range []int{1, 10, 100} {
		d := newDenials(clients)
		denied := func(i int) weir.Decision {
			return weir.Decision{Remaining: i % 5, RetryAfter: time.Hour, ResetAfter: 2 * time.Hour, Policy: pl.leaves[i%2].name, Limit: pl.leaves[i%2].limit}
		}
		for i := range 5 * clients {
			key := strconv.Itoa(i)
			d.add(key, 1, pl, denied(i), d.ask(key))
		}
		found := 0
		for i := range 5 * clients {
			got, ok := d.find(strconv.Itoa(i), 1, pl)
			require.True(t, ok || i < 4*clients, "%d of %d", i, clients)
			if !ok {
				continue
			}
			found++
			want := denied(i)
			require.LessOrEqual(t, got.RetryAfter, want.RetryAfter)
			require.Equal(t, time.Hour, got.ResetAfter-got.RetryAfter)
			want.RetryAfter, want.ResetAfter = got.RetryAfter, got.ResetAfter
			require.Equal(t, want, got)
		}
		require.LessOrEqual(t, found, 3*clients)
		d.forget(strconv.Itoa(5*clients - 1))
		_, ok := d.find(strconv.Itoa(5*clients-1), 1, pl)
		require.False(t, ok)
	}
}
