package httplimit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goweir/weir"
)

func waitForNothing(context.Context, int) error { return nil }

func TestABodyOfNilIsNoBody(t *testing.T) {
	body := NewBody(t.Context(), nil, waitForNothing)
	all, err := io.ReadAll(body)
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, body.Close())
}

// TestALimitOfNothingHasAQuotaOfNothing: in a window as long as its period.
func TestALimitOfNothingHasAQuotaOfNothing(t *testing.T) {
	for _, l := range []weir.Limit{weir.PerMinute(0), weir.PerMinute(5).WithBurst(0), weir.PerMinute(0).WithBurst(5)} {
		quota, window := quotaOf(weir.TokenBucket(l), l)
		require.Zero(t, quota)
		require.EqualValues(t, 60, window)
	}
}

func TestAWaitErrorSaysHowLong(t *testing.T) {
	require.EqualError(t, &WaitError{Host: "h", Wait: 1, Err: ErrHeldBack}, "httplimit: h holds requests back for 1ns more: "+ErrHeldBack.Error())
	require.EqualError(t, &WaitError{Host: "h", Err: ErrHeldBack}, "httplimit: waiting for h: "+ErrHeldBack.Error())
}

// TestTheFirstFinalStatusIsTheResponses: 200 is one, and no 1xx but 101.
func TestTheFirstFinalStatusIsTheResponses(t *testing.T) {
	for status, want := range map[int]int{103: 404, 199: 404, 101: 101, 200: 200, 201: 201} {
		w := &response{ResponseWriter: httptest.NewRecorder()}
		w.WriteHeader(status)
		w.WriteHeader(404)
		require.Equal(t, want, w.status)
	}
}

// closing tells when its client goes.
type closing struct {
	http.ResponseWriter
	gone chan bool
}

func (c closing) CloseNotify() <-chan bool { return c.gone }

func TestCloseNotifyIsThatOfWhatIsAround(t *testing.T) {
	c := closing{httptest.NewRecorder(), make(chan bool)}
	require.Equal(t, (<-chan bool)(c.gone), flusher{&response{ResponseWriter: c}}.CloseNotify())
	require.Nil(t, flusher{&response{ResponseWriter: httptest.NewRecorder()}}.CloseNotify())
}

// TestAHijackThatFailsHasAStatusToCome: the connection is still HTTP's.
func TestAHijackThatFailsHasAStatusToCome(t *testing.T) {
	w := &response{ResponseWriter: httptest.NewRecorder()}
	_, _, err := hijacker{w}.Hijack()
	require.ErrorIs(t, err, http.ErrNotSupported)
	w.WriteHeader(404)
	require.Equal(t, 404, w.status)
}

// failing reads nothing.
type failing struct{ http.ResponseWriter }

func (f failing) ReadFrom(io.Reader) (int64, error) { return 0, io.ErrClosedPipe }

// TestAFileThatIsNotSentIsAnError: and begins nothing.
func TestAFileThatIsNotSentIsAnError(t *testing.T) {
	w := &response{ResponseWriter: failing{httptest.NewRecorder()}}
	_, err := w.ReadFrom(bytes.NewReader([]byte("text")))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Zero(t, w.status)
}

// TestAnAnswerBesideAnErrorIsHandedOn: some RoundTrippers give both, and nothing is learnt of it.
func TestAnAnswerBesideAnErrorIsHandedOn(t *testing.T) {
	answer := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"60"}}, Body: http.NoBody}
	failed := errors.New("failed")
	transport := &Transport{Retries: 3, Base: answerWith(func(*http.Request) (*http.Response, error) { return answer, failed })}
	r := httptest.NewRequest(http.MethodGet, someHost, nil)
	resp, err := transport.RoundTrip(r)
	require.ErrorIs(t, err, failed)
	require.Equal(t, answer, resp)
	require.Zero(t, transport.Held(HostKey(r.URL)))
}

// TestAParameterThatIsNotWellFormedNamesNobody: neither its value nor what follows.
func TestAParameterThatIsNotWellFormedNamesNobody(t *testing.T) {
	for _, element := range []string{`by="x;for=1.2.3.4`, `by=;for=1.2.3.4`, `by=a b;for=1.2.3.4`} {
		require.Empty(t, forParameter(element), "%q", element)
	}
	require.Equal(t, "1.2.3.4", forParameter(`by=a ;for=1.2.3.4`))
}

// TestATimerThatIsTooLateToStopFindsNothing: of what was refused before all was closed.
func TestATimerThatIsTooLateToStopFindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lingering
		conn, _ := net.Pipe() // which could not be answered
		l.add(conn, weir.Decision{})
		l.close()
		time.Sleep(2 * answerAfter)
		l.wake()
		require.Empty(t, l.conns)
	})
}
