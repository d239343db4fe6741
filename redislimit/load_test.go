package redislimit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/rueidislimit"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// A maker is redislimit.New for a client of one library.
type maker func(p weir.Policy, opts ...redislimit.Option) *redislimit.PerClient

// libraries connect to a server, or to a cluster by the addresses of several.
var libraries = map[string]func(addrs ...string) (maker, func(), error){
	"go-redis": func(addrs ...string) (maker, func(), error) {
		client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: addrs, ContextTimeoutEnabled: true})
		return func(p weir.Policy, opts ...redislimit.Option) *redislimit.PerClient {
			return redislimit.New(client, p, opts...)
		}, func() { _ = client.Close() }, nil
	},
	"go-redis that does not keep to contexts": func(addrs ...string) (maker, func(), error) {
		client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: addrs})
		return func(p weir.Policy, opts ...redislimit.Option) *redislimit.PerClient {
			return redislimit.New(client, p, opts...)
		}, func() { _ = client.Close() }, nil
	},
	"rueidis": func(addrs ...string) (maker, func(), error) {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: addrs, ForceSingleClient: len(addrs) == 1, DisableCache: true,
			ConnWriteTimeout: time.Second, // or a connection that answers nothing is kept for ten
		})
		return func(p weir.Policy, opts ...redislimit.Option) *redislimit.PerClient {
			return rueidislimit.New(client, p, opts...)
		}, func() { client.Close() }, err
	},
}

// eachLibrary runs a test with each library, at once if it has servers of its own.
func eachLibrary(t *testing.T, test func(t *testing.T, connect func(addrs ...string) maker)) {
	for name, library := range libraries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(addrs ...string) maker {
				create, shut, err := library(addrs...)
				require.NoError(t, err)
				t.Cleanup(shut)
				return create
			})
		})
	}
}

const (
	// generous is a timeout that only a hang reaches, even on a busy machine.
	generous = 10 * time.Second
	// hang is how much longer than its timeout nothing takes, even on one.
	hang = 20 * time.Second
)

// A tally is what a load came to.
type tally struct {
	admitted, denied, failed int
	took, slowest            time.Duration
	err                      error // the last one
}

func (a tally) and(b tally) tally {
	err := b.err
	if err == nil {
		err = a.err
	}
	return tally{a.admitted + b.admitted, a.denied + b.denied, a.failed + b.failed, a.took + b.took, max(a.slowest, b.slowest), err}
}

// load has so many goroutines ask for one of a key's as often as they can, until
// enough.
func load(c *redislimit.PerClient, key string, goroutines int, enough func() bool) tally {
	var mu sync.Mutex
	var all tally
	var asking sync.WaitGroup
	begin := time.Now()
	for range goroutines {
		asking.Go(func() {
			var mine tally
			for !enough() {
				asked := time.Now()
				d, err := c.Take(context.Background(), key, 1)
				mine.slowest = max(mine.slowest, time.Since(asked))
				switch {
				case err != nil:
					mine.failed++
					mine.err = err
					time.Sleep(time.Millisecond) // leave the servers some of the processor
				case d.Allowed:
					mine.admitted++
				default:
					mine.denied++
					time.Sleep(100 * time.Microsecond)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = all.and(mine)
		})
	}
	asking.Wait()
	all.took = time.Since(begin)
	return all
}

// during has goroutines ask for one of key's while something happens.
func during(c *redislimit.PerClient, key string, goroutines int, happens func()) tally {
	over := make(chan struct{})
	result := make(chan tally)
	go func() {
		result <- load(c, key, goroutines, func() bool {
			select {
			case <-over:
				return true
			default:
				return false
			}
		})
	}()
	happens()
	close(over)
	return <-result
}

// within checks that no more was admitted than a policy does, and that nothing hung.
func (a tally) within(t *testing.T, p weir.Policy, timeout time.Duration) {
	t.Helper()
	t.Logf("admitted %d of at most %d in %v, denied %d, failed %d (%v), slowest %v", a.admitted, p.MaxWithin(a.took), a.took, a.denied, a.failed, a.err, a.slowest)
	require.LessOrEqual(t, a.admitted, p.MaxWithin(a.took))
	require.Less(t, a.slowest, timeout+hang)
}

// clientOf returns a client for what the test itself does.
func clientOf(t *testing.T, addr string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// callsOf reads how often from a line of INFO commandstats.
func callsOf(t *testing.T, line string) int {
	var calls int
	_, err := fmt.Sscanf(line, "calls=%d,", &calls)
	require.NoError(t, err)
	return calls
}
