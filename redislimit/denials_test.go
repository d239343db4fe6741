package redislimit_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/stretchr/testify/require"
)

// TestAFloodOfDeniedRequestsNeverReachesTheStore: but for those under way before the
// first answer.
func TestAFloodOfDeniedRequestsNeverReachesTheStore(t *testing.T) {
	eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
		s := redistest.Start(t)
		client := clientOf(t, s.Addr)
		c := connect(s.Addr)(bucket(5, 24*time.Hour), redislimit.WithDenyCache(10), redislimit.WithLease(2, time.Minute), redislimit.WithTimeout(generous))
		var flood sync.WaitGroup
		for range 8 {
			flood.Go(func() {
				for range 2000 {
					_, err := c.Allow(context.Background(), "a")
					require.NoError(t, err)
				}
			})
		}
		flood.Wait()
		require.NoError(t, c.Close())
		stats, err := client.InfoMap(context.Background(), "commandstats").Result()
		require.NoError(t, err)
		asked := 0
		for name, line := range stats["Commandstats"] {
			if strings.HasPrefix(name, "cmdstat_fcall") {
				asked += callsOf(t, line)
			}
		}
		require.Less(t, asked, 40)
		require.Equal(t, uint64(5), c.Stats().Allowed)
		require.Equal(t, uint64(15995), c.Stats().Denied)
	})
}

// TestWhatIsGivenBackHereIsSeenHere: by a client whose denial is still on its way too.
func TestWhatIsGivenBackHereIsSeenHere(t *testing.T) {
	ctx, store := context.Background(), &fakeStore{}
	decided, goOn := make(chan struct{}), make(chan struct{})
	c := redislimit.NewWith(slowAnswers{store, func() { close(decided); <-goOn }}, window(5, time.Hour),
		redislimit.WithDenyCache(10), redislimit.WithTimeout(generous))
	denied := make(chan error, 1)
	go func() {
		_, err := c.Take(ctx, "a", 1)
		denied <- err
	}()
	<-decided
	require.NoError(t, c.Refund(ctx, "a", 1))
	close(goOn)
	require.NoError(t, <-denied)
	ok, err := c.Allow(ctx, "a")
	require.NoError(t, err)
	require.True(t, ok)
}

// slowAnswers holds up the first denial on its way.
type slowAnswers struct {
	*fakeStore
	late func()
}

func (s slowAnswers) Call(ctx context.Context, script *redislimit.Library, keys, args []string) (redislimit.Reply, error) {
	reply, err := s.fakeStore.Call(ctx, script, keys, args)
	if len(reply.Numbers) == 6 && reply.Numbers[0] == 0 {
		s.late()
	}
	return reply, err
}

// TestADenialOfWhatALeaseLacksIsOneOfTheWhole.
func TestADenialOfWhatALeaseLacksIsOneOfTheWhole(t *testing.T) {
	ctx, store := context.Background(), &fakeStore{left: 4}
	c := redislimit.NewWith(store, window(5, time.Hour), redislimit.WithDenyCache(10), redislimit.WithLease(4, time.Hour), redislimit.WithTimeout(generous))
	for range 2 { // three are leased, and two of them left
		ok, err := c.Allow(ctx, "a")
		require.NoError(t, err)
		require.True(t, ok)
	}
	store.before = func(context.Context, string) error { store.taken++; return nil }
	asked := store.taken
	for range 3 {
		d, err := c.Take(ctx, "a", 4)
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Equal(t, 2, d.Remaining)
	}
	require.Equal(t, asked+1, store.taken)
	ok, err := c.AllowN(ctx, "a", 2)
	require.NoError(t, err)
	require.True(t, ok)
}
