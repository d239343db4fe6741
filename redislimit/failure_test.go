package redislimit_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/goweir/weir/redislimit"
	"github.com/goweir/weir/redislimit/redistest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A failure is a store that does not decide.
type failure struct {
	addr           string
	breaks, mends  func()
	aboutOneClient bool   // others may fare better: the store is asked on
	says           string // in the error; "" if that is the library's
}

// failures start a server and say how it fails.
var failures = map[string]func(t *testing.T) failure{
	"it answers nothing": func(t *testing.T) failure {
		s := redistest.Start(t)
		return failure{addr: s.Addr, breaks: func() { s.Signal(syscall.SIGSTOP) }, mends: func() { s.Signal(syscall.SIGCONT) }}
	},
	"it refuses connections": func(t *testing.T) failure {
		s := redistest.Start(t)
		return failure{addr: s.Addr, breaks: s.Kill, mends: func() { s.Restart() }}
	},
	"the network resets connections": func(t *testing.T) failure {
		p := redistest.StartProxy(t, redistest.Start(t).Addr)
		return failure{addr: p.Addr, breaks: func() { p.CutEvery(1) }, mends: func() { p.CutEvery(0) }}
	},
	"the network loses everything": func(t *testing.T) failure {
		p := redistest.StartProxy(t, redistest.Start(t).Addr)
		return failure{addr: p.Addr, breaks: func() { p.Drop(true) }, mends: func() { p.Drop(false) }}
	},
	"READONLY": func(t *testing.T) failure {
		s := redistest.Start(t)
		return aReplica(t, s, "READONLY")
	},
	"MASTERDOWN": func(t *testing.T) failure {
		s := redistest.Start(t, "--replica-serve-stale-data", "no")
		return aReplica(t, s, "READONLY") // which it says first to a function that may write
	},
	"LOADING": func(t *testing.T) failure {
		s := redistest.Start(t, "--enable-debug-command", "yes")
		client := clientOf(t, s.Addr)
		return failure{addr: s.Addr, says: "LOADING", breaks: func() {
			do(t, client, "DEBUG", "POPULATE", 100_000)
			do(t, client, "SAVE")
			s.Kill()
			s.Launch("--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
			require.Eventually(t, func() bool { return redis.HasErrorPrefix(client.Ping(context.Background()).Err(), "LOADING") }, generous, time.Millisecond)
		}, mends: func() {
			s.Kill()
			s.Restart()
		}}
	},
	"OOM": func(t *testing.T) failure {
		return configured(t, "maxmemory", "1", "0", "OOM")
	},
	"NOREPLICAS": func(t *testing.T) failure {
		return configured(t, "min-replicas-to-write", "1", "0", "NOREPLICAS")
	},
	"BUSY": func(t *testing.T) failure {
		s := redistest.Start(t, "--busy-reply-threshold", "1")
		client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, ReadTimeout: -1})
		t.Cleanup(func() { _ = client.Close() })
		over := make(chan error, 1)
		return failure{addr: s.Addr, says: "BUSY", breaks: func() {
			go func() { over <- client.Eval(context.Background(), "while true do end", nil).Err() }()
			require.Eventually(t, func() bool { return redis.HasErrorPrefix(client.Ping(context.Background()).Err(), "BUSY") }, generous, time.Millisecond)
		}, mends: func() {
			do(t, client, "SCRIPT", "KILL")
			require.Error(t, <-over)
		}}
	},
	"CLUSTERDOWN": func(t *testing.T) failure {
		c := redistest.StartCluster(t, 1)
		client := clientOf(t, c.Masters[0].Addr)
		_, slot := c.MasterOf("{x}")
		return failure{addr: c.Masters[0].Addr, says: "CLUSTERDOWN",
			breaks: func() { do(t, client, "CLUSTER", "DELSLOTS", slot) },
			mends:  func() { do(t, client, "CLUSTER", "ADDSLOTS", slot) },
		}
	},
	"MOVED": func(t *testing.T) failure {
		c := redistest.StartCluster(t, 2)
		from, _ := c.MasterOf("{x}")
		return failure{addr: c.Masters[from].Addr, says: "MOVED", aboutOneClient: true,
			breaks: func() { c.Move("{x}", 1-from, func() {}) },
			mends:  func() { c.Move("{x}", from, func() {}) },
		}
	},
	"ASK": func(t *testing.T) failure {
		c := redistest.StartCluster(t, 2)
		from, _ := c.MasterOf("{x}")
		halfway, on, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
		return failure{addr: c.Masters[from].Addr, says: "ASK", aboutOneClient: true,
			breaks: func() {
				go func() {
					defer close(over)
					c.Move("{x}", 1-from, func() { close(halfway); <-on })
				}()
				<-halfway
			},
			mends: func() {
				close(on)
				<-over
				c.Move("{x}", from, func() {})
			},
		}
	},
}

func do(t *testing.T, client *redis.Client, args ...any) {
	t.Helper()
	require.NoError(t, client.Do(context.Background(), args...).Err())
}

func aReplica(t *testing.T, s *redistest.Server, says string) failure {
	client := clientOf(t, s.Addr)
	return failure{addr: s.Addr, says: says,
		breaks: func() { do(t, client, "REPLICAOF", "127.0.0.1", 1) }, // where nobody is
		mends:  func() { do(t, client, "REPLICAOF", "NO", "ONE") },
	}
}

func configured(t *testing.T, name, fails, works, says string) failure {
	s := redistest.Start(t)
	client := clientOf(t, s.Addr)
	return failure{addr: s.Addr, says: says,
		breaks: func() { do(t, client, "CONFIG", "SET", name, fails) },
		mends:  func() { do(t, client, "CONFIG", "SET", name, works) },
	}
}

// TestWhateverFailsTheFallbackDecides: and the store again, once it can.
func TestWhateverFailsTheFallbackDecides(t *testing.T) {
	for name, start := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachLibrary(t, func(t *testing.T, connect func(addrs ...string) maker) {
				f := start(t)
				create := connect(f.addr)
				fails(t, create, f)
			})
		})
	}
}

func fails(t *testing.T, create maker, f failure) {
	ctx, p, timeout := context.Background(), bucket(100, 24*time.Hour), 100*time.Millisecond
	of := func(prefix string, fallback redislimit.Fallback) *redislimit.PerClient {
		return create(p, redislimit.WithPrefix("{x}"+prefix), redislimit.WithFallback(fallback), redislimit.WithTimeout(timeout))
	}
	closed, open, local := of("closed:", redislimit.FailClosed), of("open:", redislimit.FailOpen), of("local:", redislimit.Local(0.25))
	for _, c := range []*redislimit.PerClient{closed, open, local} {
		recovers(t, c)
	}

	f.breaks()
	spared := false
	for i := range 10 {
		asked := time.Now()
		d, err := closed.Take(ctx, "secret", 1)
		require.Less(t, time.Since(asked), timeout+hang)
		require.Error(t, err, i)
		require.Zero(t, d)
		require.Contains(t, err.Error(), "redislimit: {x}closed:*: ")
		require.NotContains(t, err.Error(), "secret")
		spared = spared || errors.Is(err, redislimit.ErrUnavailable)
		if i == 0 {
			t.Log(err)
			if errors.As(err, new(interface{ RedisError() })) { // go-redis tries some again until its time is over
				require.Contains(t, err.Error(), f.says)
			}
		}
	}
	require.Equal(t, !f.aboutOneClient, spared)

	admitted := 0
	for range 40 {
		d, err := open.Take(ctx, "secret", 1)
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.Zero(t, d.RetryAfter)
		if d, err = local.Take(ctx, "secret", 1); d.Allowed {
			admitted++
		} else {
			require.InDelta(t, 24*time.Hour/25, d.RetryAfter, float64(time.Minute))
			require.Equal(t, 25, d.Limit)
		}
		require.NoError(t, err)
	}
	require.Equal(t, 25, admitted)
	require.Equal(t, uint64(40), open.Stats().Fallback)
	require.Equal(t, uint64(40), local.Stats().Fallback)

	f.mends()
	mended := time.Now()
	for _, c := range []*redislimit.PerClient{closed, open, local} {
		recovers(t, c)
	}
	t.Log("found its way back in", time.Since(mended))
}

// recovers waits until the store itself decides.
func recovers(t *testing.T, c *redislimit.PerClient) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool {
		before := c.Stats().Fallback
		_, err = c.Take(context.Background(), "another", 1)
		return err == nil && c.Stats().Fallback == before
	}, 20*time.Second, time.Millisecond, "%v", fmt.Sprint(err))
}
