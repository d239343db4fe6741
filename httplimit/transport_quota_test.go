package httplimit_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestAsManyGoAsAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			if n == 0 {
				return reply(200, "RateLimit", `"a";r=3;t=10`)
			}
			time.Sleep(sec)
			return reply(200) // says nothing
		})
		transport := &httplimit.Transport{Base: host}
		requireStatus(t, 200, transport, hostA)
		done := askAtOnce(t, transport, hostA, 6)
		synctest.Wait()
		host.requireCame(0, 0, 0, 0)
		require.Zero(t, transport.Held("a.example:80"), "what is under way may bring better news")
		time.Sleep(2 * sec)
		require.Equal(t, 8*sec, transport.Held("a.example:80"))
		done()
		// One goes first when the time is over, and all when that was answered.
		host.requireCame(0, 0, 0, 0, 10*sec, 11*sec, 11*sec)
	})
}

func TestRequestsUnderWayCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
			switch n {
			case 0, 1: // slow
				time.Sleep(20 * sec)
			case 2:
				return reply(200, "RateLimit", `"a";r=3;t=10`)
			}
			time.Sleep(sec)
			return reply(200)
		})
		transport := &httplimit.Transport{Base: host}
		slow := askAtOnce(t, transport, hostA, 2)
		requireStatus(t, 200, transport, hostA)
		done := askAtOnce(t, transport, hostA, 2)
		done()
		host.requireCame(0, 0, 0, 0, 10*sec)
		slow()
	})
}

func TestANewerAnswerReplacesWhatWasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(
			just(200, "RateLimit", `"a";r=1;t=60`),
			just(200, "RateLimit", `"a";r=2;t=60`),
			just(200, "RateLimit", `"a";r=1;t=60`),
			just(200, "RateLimit", `"a";r=5;t=60`),
		))
		transport := &httplimit.Transport{Base: host}
		for range 9 {
			requireStatus(t, 200, transport, hostA)
		}
		host.requireCame(0, 0, 0, 0, 0, 0, 0, 0, 0)
		require.Equal(t, time.Minute, transport.Held("a.example:80"))
	})
}

// Two requests are under way. Whichever is answered last was not sent after the
// other answer, and only a request that was may loosen what it said.
func TestAnOlderAnswerLoosensNothing(t *testing.T) {
	for _, test := range []struct{ first, second string }{
		{`"a";r=0;t=9`, `"a";r=50;t=30`},
		{`"a";r=50;t=30`, `"a";r=0;t=9`},
		{`"a";r=0;t=9`, `"a";r=0;t=5`},
		{`"a";r=0;t=5`, `"a";r=0;t=9`},
		{`"a";r=0;t=9`, ``},
		{``, `"a";r=0;t=9`},
	} {
		synctest.Test(t, func(t *testing.T) {
			answers := []string{test.first, test.second}
			host := newFakeHost(t, func(n int, _ *http.Request) (*http.Response, error) {
				if n >= len(answers) {
					return reply(200)
				}
				time.Sleep(sec + time.Duration(n))
				return reply(200, "RateLimit", answers[n])
			})
			transport := &httplimit.Transport{Base: host}
			askAtOnce(t, transport, hostA, 2)()
			requireStatus(t, 200, transport, hostA)
			late := time.Duration(0)
			if strings.HasSuffix(test.second, "t=9") {
				late = 1
			}
			host.requireCame(0, 0, 10*sec+late)
		})
	}
}

// A refusal is not taken back by what was let through before it, nor cut short.
func TestAnOlderAnswerEndsNoHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t, replies(
			func() (*http.Response, error) { time.Sleep(sec); return reply(429, "Retry-After", "9") },
			func() (*http.Response, error) { time.Sleep(2 * sec); return reply(200, "RateLimit", `"a";r=50;t=1`) },
			func() (*http.Response, error) { time.Sleep(3 * sec); return reply(503, "Retry-After", "1") },
			func() (*http.Response, error) { time.Sleep(11 * sec); return reply(200) }, // with one on trial
			func() (*http.Response, error) { time.Sleep(5 * sec); return reply(200) },
		))
		transport := &httplimit.Transport{Base: host}
		together := askAtOnce(t, transport, hostA, 4)
		time.Sleep(4 * sec)
		require.Equal(t, 6*sec, transport.Held("a.example:80"))
		askAtOnce(t, transport, hostA, 3)()
		host.requireCame(0, 0, 0, 0, 10*sec, 15*sec, 15*sec)
		together()
	})
}

func TestAnswersWithoutAQuotaUseUpWhatIsLeft(t *testing.T) {
	for name, then := range map[string]func() (*http.Response, error){
		"an answer": just(200), "an error": func() (*http.Response, error) { return nil, errors.New("reset") },
		"a cached answer": just(200, "RateLimit", `"a";r=99;t=99`, "Age", "5"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answers := slices.Repeat([]func() (*http.Response, error){then}, 9)
				answers[0] = just(200, "RateLimit", `"a";r=3;t=10`)
				host := newFakeHost(t, replies(answers...))
				transport := &httplimit.Transport{Base: host}
				for range 5 {
					_, _ = ask(t, transport, t.Context(), hostA)
				}
				host.requireCame(0, 0, 0, 0, 10*sec)
			})
		})
	}
}
