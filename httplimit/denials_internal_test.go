package httplimit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/stretchr/testify/require"
)

// A journal is what a logger wrote. A timer of the log writes as well as the test.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func lines(j *journal) int { return strings.Count(j.String(), "\n") }

// TestTenDenialsAreLoggedAtOnce: and of those left out, who comes first tells, the
// next record or a timer.
func TestTenDenialsAreLoggedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out journal
		m := &Middleware{Logger: slog.New(slog.NewTextHandler(&out, nil)), Client: func(*http.Request) string { return "a" }}
		l := newDenialLog()
		r := httptest.NewRequest("GET", "/", nil)
		for range 13 {
			l.log(m, r, &weir.Decision{})
		}
		require.Equal(t, 10, lines(&out))
		time.Sleep(5 * time.Second)
		l.log(m, r, &weir.Decision{})
		require.Equal(t, 11, lines(&out))
		require.Contains(t, out.String(), "left_out=3")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 11, lines(&out), "there is nothing left to tell")

		for range 13 {
			l.log(m, r, &weir.Decision{})
		}
		require.Equal(t, 21, lines(&out))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 22, lines(&out))
		require.Contains(t, out.String(), `msg="request denied: more" left_out=3`)
	})
}

// TestTenFailuresAreLoggedAtOnce: and then one a second.
func TestTenFailuresAreLoggedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out journal
		m := &Middleware{Logger: slog.New(slog.NewTextHandler(&out, nil))}
		l := newDenialLog()
		for _, want := range []int{10, 11, 12} {
			for range 12 {
				l.failed(m, errors.New("no"))
			}
			require.Equal(t, want, lines(&out))
			time.Sleep(time.Second)
		}
	})
}

// TestARequestGetsBackWhatItHasNot: and keeps what it has.
func TestARequestGetsBackWhatItHasNot(t *testing.T) {
	mine, others := new(multipart.Form), &multipart.Form{Value: map[string][]string{}}
	r := &http.Request{Pattern: "/a", MultipartForm: mine}
	bringBack(r, &http.Request{MultipartForm: others})
	require.Equal(t, "/a", r.Pattern)
	require.Same(t, mine, r.MultipartForm)

	r = &http.Request{Pattern: "/a"}
	bringBack(r, &http.Request{Pattern: "/b", MultipartForm: others})
	require.Equal(t, "/b", r.Pattern)
	require.Same(t, others, r.MultipartForm)
}

func TestAContextSaysWhatItIsMadeOf(t *testing.T) {
	var made request
	r := made.with(httptest.NewRequest("GET", "/", nil), &weir.Decision{})
	require.Equal(t, fmt.Sprint(context.Background())+".WithDecision", fmt.Sprint(r.Context()))
}

func TestADenialOfHeadHasNoBody(t *testing.T) {
	for method, want := range map[string]bool{"GET": true, "HEAD": false} {
		w := httptest.NewRecorder()
		WriteDenied(w, httptest.NewRequest(method, "/", nil), weir.Decision{})
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		require.Equal(t, want, w.Body.Len() > 0, method)
	}
}

// TestAConnectionIsClosedOnAnUpload: where it has that one request.
func TestAConnectionIsClosedOnAnUpload(t *testing.T) {
	for _, c := range []struct {
		major  int
		length int64
		want   bool
	}{{1, -1, true}, {1, maxUnread + 1, true}, {1, maxUnread, false}, {1, 0, false}, {2, -1, false}, {2, maxUnread + 1, false}} {
		r := httptest.NewRequest("POST", "/", nil)
		r.ProtoMajor, r.ContentLength = c.major, c.length
		w := httptest.NewRecorder()
		WriteDenied(w, r, weir.Decision{})
		require.Equal(t, c.want, w.Header().Get("Connection") == "close", "%+v", c)
	}
}
