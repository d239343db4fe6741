package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestOneGoesFirstAfterAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			switch n {
			case 0:
				return reply(429, "Retry-After", "5")
			case 1: // the first of those who waited is refused as well
				time.Sleep(sec)
				return reply(503, "Retry-After", "4")
			case 2:
				time.Sleep(sec)
				return reply(200)
			}
			time.Sleep(sec)
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 429, transport, hostA)
		statuses, errs := askAtOnce(t, transport, hostA, 5)()
		host.requireCame(0, 5*sec, 10*sec, 11*sec, 11*sec, 11*sec)
		require.Equal(t, []int{503, 200, 200, 200, 200}, statuses, "in the order they came")
		require.Equal(t, make([]error, 5), errs)
	})
}

func TestTheRestFollowAsTheFirstAnswerLetsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			switch n {
			case 0:
				return reply(429, "Retry-After", "5")
			case 1, 4:
				return reply(200, "RateLimit", `"a";r=2;t=10`)
			}
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 429, transport, hostA)
		askAtOnce(t, transport, hostA, 6)()
		host.requireCame(0, 5*sec, 5*sec, 5*sec, 15*sec, 15*sec, 15*sec)
	})
}

// Whatever becomes of the first, the next one goes: at once, or after ten seconds.
func TestNobodyIsStuckBehindTheFirst(t *testing.T) {
	fails := func() (*http.Response, error) { return nil, errors.New("reset") }
	hangs := func() (*http.Response, error) { time.Sleep(time.Minute); return reply(200) }
	panics := func() (*http.Response, error) { panic("Base") }
	for name, test := range map[string]struct {
		first func() (*http.Response, error)
		then  time.Duration
	}{
		"fails": {fails, 5 * sec}, "hangs": {hangs, 15 * sec}, "panics": {panics, 5 * sec},
		"is refused at once": {just(429, "Retry-After", "0"), 5 * sec},
		"is not the matter":  {just(429, "RateLimit", `"a";r=3;t=60`), 5 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := newFakeHost(t, replies(just(429, "Retry-After", "5"), test.first))
				transport := &httplimit.Transport{Base: host}
				requireStatus(t, 429, transport, hostA)
				askAtOnce(t, roundTrip(func(r *http.Request) (resp *http.Response, err error) {
					defer func() {
						if p := recover(); p != nil {
							err = errors.New("a panic")
						}
					}()
					return transport.RoundTrip(r)
				}), hostA, 3)()
				host.requireCame(0, 5*sec, test.then, test.then)
			})
		})
	}
}

func TestTheFirstIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, r *http.Request) (*http.Response, error) {
			switch n {
			case 0:
				return reply(429, "Retry-After", "5")
			case 1:
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 429, transport, hostA)
		ctx, cancel := context.WithTimeout(t.Context(), 7*sec)
		defer cancel()
		go func() { _, _ = ask(t, transport, ctx, hostA) }()
		synctest.Wait()
		askAtOnce(t, transport, hostA, 3)()
		host.requireCame(0, 5*sec, 7*sec, 7*sec, 7*sec)
	})
}

// Each of many slow ones, let go every ten seconds, says that all is well.
func TestASlowHostIsNotTakenForOneThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 0 {
				return reply(429, "Retry-After", "5")
			}
			time.Sleep(25 * sec)
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 429, transport, hostA)
		askAtOnce(t, transport, hostA, 6)()
		host.requireCame(0, 5*sec, 15*sec, 25*sec, 30*sec, 30*sec, 30*sec)
	})
}

// A quota that is over while the first is under way sends no second one along.
func TestTheFirstStaysAloneWhenAQuotaEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(
			func() (*http.Response, error) { time.Sleep(time.Nanosecond); return reply(503, "Retry-After", "5") },
			func() (*http.Response, error) { time.Sleep(2 * sec); return reply(200, "RateLimit", `"a";r=9;t=4`) },
			func() (*http.Response, error) { time.Sleep(3 * sec); return reply(200) },
		))
		transport := &httplimit.Transport{Base: host}
		askAtOnce(t, transport, hostA, 2)()
		askAtOnce(t, transport, hostA, 3)()
		host.requireCame(0, 0, 5*sec+1, 8*sec+1, 8*sec+1)
	})
}

// Who went first before a refusal that comes late keeps nobody waiting after it.
func TestALateRefusalBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(
			func() (*http.Response, error) { time.Sleep(sec); return reply(503, "Retry-After", "4") },
			func() (*http.Response, error) { time.Sleep(7 * sec); return reply(503, "Retry-After", "2") },
			func() (*http.Response, error) { time.Sleep(20 * sec); return reply(200) },
		))
		transport := &httplimit.Transport{Base: host}
		late := askAtOnce(t, transport, hostA, 2)
		time.Sleep(2 * sec)
		askAtOnce(t, transport, hostA, 3)()
		host.requireCame(0, 0, 5*sec, 9*sec, 9*sec)
		late()
	})
}

// A refusal that asks for no time is one all the same.
func TestTheNextIsAloneAfterARefusalWithoutAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			switch n {
			case 0:
				return reply(429, "Retry-After", "5")
			case 1:
				return reply(429, "Retry-After", "0")
			}
			time.Sleep(sec)
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 429, transport, hostA)
		askAtOnce(t, transport, hostA, 4)()
		host.requireCame(0, 5*sec, 5*sec, 6*sec, 6*sec)
	})
}
