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

func TestAWaitPastTheDeadlineFailsAtOnce(t *testing.T) {
	for name, fields := range map[string][]string{
		"Retry-After": {"Retry-After", "30"}, "RateLimit": {"RateLimit", `"a";r=0;t=30`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := newFakeHost(t, replies(just(429, fields...)))
				transport := &httplimit.Transport{Base: host}
				requireStatus(t, 429, transport, hostA)
				for _, left := range []time.Duration{1, sec, 30 * sec} {
					ctx, cancel := context.WithTimeout(t.Context(), left)
					_, err := ask(t, transport, ctx, hostA)
					cancel()
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.NotErrorIs(t, err, httplimit.ErrHeldBack)
					require.EqualError(t, err, "httplimit: a.example:80 holds requests back for 30s more: context deadline exceeded")
					var wait *httplimit.WaitError
					require.ErrorAs(t, err, &wait)
					require.Equal(t, httplimit.WaitError{Host: "a.example:80", Wait: 30 * sec, Err: context.DeadlineExceeded}, *wait)
				}
				require.Zero(t, time.Since(host.began))

				ctx, cancel := context.WithTimeout(t.Context(), 30*sec+1)
				defer cancel()
				status, err := ask(t, transport, ctx, hostA)
				require.NoError(t, err)
				require.Equal(t, 200, status)
				host.requireCame(0, 30*sec)
			})
		})
	}
}

// Who waits already is told as soon as it is known.
func TestAHoldThatGrowsPastTheDeadlineFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "5"), just(429, "Retry-After", "60")))
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 429, transport, hostA)
		first := askAtOnce(t, transport, hostA, 1)
		errs := make(chan error)
		for _, left := range []time.Duration{64 * sec, 65 * sec, 66 * sec} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			defer cancel()
			go func() { _, err := ask(t, transport, ctx, hostA); errs <- err }()
		}
		first()
		for range 2 {
			require.ErrorIs(t, <-errs, context.DeadlineExceeded)
			require.Equal(t, 5*sec, time.Since(host.began))
		}
		require.NoError(t, <-errs)
		host.requireCame(0, 5*sec, 65*sec)
	})
}

func TestACancelledRequestLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(just(429, "Retry-After", "30")))
		hosts := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(10)))
		defer hosts.Close()
		transport := &httplimit.Transport{Base: host, Hosts: hosts}
		requireStatus(t, 429, transport, hostA)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				_, err := ask(t, transport, ctx, hostA)
				require.ErrorIs(t, err, context.Canceled)
				require.Equal(t, 3*sec, time.Since(host.began))
			})
		}
		time.Sleep(3 * sec)
		cancel()
		all.Wait()
		_, err := ask(t, transport, ctx, hostA)
		require.EqualError(t, err, "httplimit: a.example:80 holds requests back for 27s more: context canceled")
		_, err = ask(t, transport, ctx, hostB)
		require.EqualError(t, err, "httplimit: waiting for b.example:80: context canceled")

		askAtOnce(t, transport, hostA, 5)() // they find no debt and nobody in the way
		host.requireCame(0, 30*sec, 30*sec, 30*sec, 30*sec, 30*sec)
		require.Equal(t, uint64(6), hosts.Stats().Allowed)
	})
}

func TestMaxWait(t *testing.T) {
	for _, test := range []struct{ maxWait, most time.Duration }{
		{0, 2 * time.Minute}, {time.Hour, time.Hour}, {sec, sec}, {-1, 0}, {-time.Hour, 0},
	} {
		t.Run(fmt.Sprint(test.maxWait), func(t *testing.T) {
			for _, asked := range []time.Duration{test.most, test.most + sec, time.Hour + sec} {
				synctest.Test(t, func(t *testing.T) {
					host := newFakeHost(t, replies(just(503, "Retry-After", fmt.Sprint(asked.Seconds()))))
					transport := &httplimit.Transport{Base: host, MaxWait: test.maxWait}
					requireStatus(t, 503, transport, hostA)
					status, err := ask(t, transport, t.Context(), hostA)
					if asked == test.most {
						require.Equal(t, 200, status)
						host.requireCame(0, asked)
						return
					}
					require.ErrorIs(t, err, httplimit.ErrHeldBack)
					require.NotErrorIs(t, err, context.DeadlineExceeded)
					require.EqualError(t, err, fmt.Sprintf("httplimit: a.example:80 holds requests back for %v more: httplimit: held back for longer than MaxWait", asked))
					host.requireCame(0)
					require.Zero(t, time.Since(host.began))
				})
			}
		})
	}
}

// A server that neither answers the first nor refuses it hangs nobody.
func TestMaxWaitEndsTheWaitForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 0 {
				return reply(429, "Retry-After", "1")
			}
			time.Sleep(time.Hour)
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host, MaxWait: 25 * sec}
		requireStatus(t, 429, transport, hostA)
		_, errs := askAtOnce(t, transport, hostA, 5)()
		host.requireCame(0, sec, 11*sec, 21*sec)
		require.Equal(t, make([]error, 3), errs[:3])
		for _, err := range errs[3:] {
			require.EqualError(t, err, "httplimit: waiting for a.example:80: httplimit: held back for longer than MaxWait")
		}
	})
}
