package httplimit_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// Who is held back takes no tokens, and goes at the rate of Hosts after that.
func TestItsOwnTurnComesAfterTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "60")))
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1).WithBurst(3)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		requireStatus(t, 429, transport, hostA)
		done := askAtOnce(t, transport, hostA, 6)
		time.Sleep(3 * sec)
		require.Equal(t, 3, hosts.Tokens("a.example:80"))
		done()
		host.requireCame(0, 60*sec, 60*sec, 60*sec, 61*sec, 62*sec, 63*sec)
	})
}

// A hold that begins while requests wait for their own turns sends them back to
// wait for it, without their tokens.
func TestAHoldFindsThoseWhoWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		host := newFakeHost(t, replies(func() (*http.Response, error) {
			time.Sleep(1500 * ms)
			return reply(429, "Retry-After", "3")
		}))
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1).WithBurst(5)))
		defer hosts.Close()
		hosts.Charge("a.example:80", 5)
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		_, errs := askAtOnce(t, transport, hostA, 6)()
		require.Equal(t, make([]error, 6), errs)
		// The tokens of 3, 4 and 5 s were taken in vain. They are back at 5.5 s, when
		// the last one waits for that of 6 s already and is not passed by.
		host.requireCame(sec, 2*sec, 5500*ms, 5500*ms, 6*sec, 6*sec)
		require.Zero(t, hosts.Stats().Waiting)
	})
}

// Who goes first after a hold does so when it is its own turn, however late that
// is, and keeps the others waiting from then on.
func TestTheFirstWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "5")))
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.Every(32 * sec)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts, MaxWait: time.Hour}
		requireStatus(t, 429, transport, hostA)
		askAtOnce(t, transport, hostA, 5)()
		host.requireCame(0, 32*sec, 64*sec, 96*sec, 128*sec, 160*sec)
	})
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "5"), func() (*http.Response, error) {
			time.Sleep(5 * sec)
			return reply(200)
		}))
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		requireStatus(t, 429, transport, hostA)
		hosts.Charge("a.example:80", 11)
		askAtOnce(t, transport, hostA, 3)()
		host.requireCame(0, 12*sec, 17*sec, 18*sec)
	})
}

// Another is first if the first leaves before its turn.
func TestTheFirstLeavesBeforeItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 0 {
				return reply(429, "Retry-After", "5")
			}
			time.Sleep(5 * sec)
			return reply(200)
		})
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		requireStatus(t, 429, transport, hostA)
		hosts.Charge("a.example:80", 29)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = ask(t, transport, ctx, hostA) }()
		synctest.Wait()
		done := askAtOnce(t, transport, hostA, 2) // let in at 15 and 25 s, behind it
		time.Sleep(27 * sec)
		cancel()
		done()
		host.requireCame(0, 31*sec, 36*sec)
	})
}

// No more are let take of Hosts than a quota has left.
func TestAQuotaSparesTheTurnsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 0 || n == 3 {
				return reply(200, "RateLimit", `"a";r=2;t=10`)
			}
			time.Sleep(sec)
			return reply(200)
		})
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(100)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		requireStatus(t, 200, transport, hostA)
		askAtOnce(t, transport, hostA, 8)()
		host.requireCame(0, 0, 0, 10*sec, 10*sec, 10*sec, 20*sec, 21*sec, 21*sec)
		require.Equal(t, uint64(9), hosts.Stats().Allowed)
	})
}

// A visit that had to go back for its turn is before those who came later.
func TestWhoWasSentBackKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paths []string
		host := newFakeHost(t, func(n int, r *http.Request) (*http.Response, error) {
			paths = append(paths, r.URL.Path)
			if n == 0 {
				time.Sleep(sec)
				return reply(429, "Retry-After", "30")
			}
			time.Sleep(sec) // the first keeps the others waiting
			return reply(200, "RateLimit", `"a";r=0;t=9`)
		})
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1).WithBurst(1)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		var all sync.WaitGroup
		for i := range 9 {
			if i == 5 {
				time.Sleep(20 * sec) // the others have been back for long
			}
			all.Go(func() { requireStatus(t, []int{429, 200}[min(i, 1)], transport, fmt.Sprint(hostA, i)) })
			synctest.Wait()
		}
		all.Wait()
		require.Equal(t, []string{"/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"}, paths)
	})
}

func TestHostsIsAskedByHostKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies())
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerHour(1)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		requireStatus(t, 200, transport, "https://A.example./")
		require.Zero(t, hosts.Tokens("a.example:443"))
		require.Equal(t, 1, hosts.Len())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := ask(t, transport, ctx, "https://a.example:443/b")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "httplimit: waiting for a.example:443: weir: the turn would come too late: context deadline exceeded")
		requireStatus(t, 200, transport, "https://b.example/")
		require.Zero(t, time.Since(host.began))
	})
}

// Who waits for its own turn while it is on trial, or with a quota, and leaves,
// makes room.
func TestWhoLeavesItsTurnMakesRoom(t *testing.T) {
	for name, first := range map[string][]string{
		"trial": {"Retry-After", "5"}, "quota": {"RateLimit", `"a";r=0;t=5`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := newFakeHost(t, replies(just(429, first...), just(200, "RateLimit", `"a";r=1;t=100`)))
				hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerMinute(1)))
				defer hosts.Close()
				transport := &httplimit.Transport{Base: host, Hosts: hosts}
				requireStatus(t, 429, transport, hostA)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { _, _ = ask(t, transport, ctx, hostA) }()
				synctest.Wait()
				done := askAtOnce(t, transport, hostA, 2)
				time.Sleep(6 * sec)
				cancel()
				done()
				host.requireCame(0, 60*sec, 120*sec)
			})
		})
	}
}
