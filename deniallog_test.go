package weir_test

import (
	"bytes"
	"context"
	"log/slog"
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
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// lines returns what was written since the last call, without the time.
func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.text.Reset()
	return strings.FieldsFunc(j.text.String(), func(r rune) bool { return r == '\n' })
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// TestADenialLogWritesTenAndThenOneASecond: of those left out, who comes first tells, the next
// record or a timer. Details are not asked for where they are left out.
func TestADenialLogWritesTenAndThenOneASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log weir.DenialLog
		var out journal
		asked := 0
		deny := func(times int) {
			for range times {
				log.Log(t.Context(), out.logger(), "no", weir.Decision{Policy: "p", RetryAfter: time.Second}, func() []slog.Attr {
					asked++
					return []slog.Attr{slog.String("client", "ann")}
				})
			}
		}
		deny(13)
		lines := out.lines()
		require.Len(t, lines, 10)
		require.Equal(t, 10, asked)
		require.Equal(t, `level=WARN msg=no client=ann policy=p retry_after=1s`, lines[0])
		time.Sleep(5 * time.Second)
		deny(1)
		require.Equal(t, []string{`level=WARN msg=no client=ann policy=p retry_after=1s left_out=3`}, out.lines())
		time.Sleep(time.Minute)
		require.Empty(t, out.lines(), "there is nothing left to tell")
		deny(13)
		require.Len(t, out.lines(), 10)
		time.Sleep(10*time.Second - 1)
		require.Empty(t, out.lines())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, []string{`level=WARN msg="no: more" left_out=3`}, out.lines())

		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		deny(11)
		lines = out.lines()
		require.Len(t, lines, 10)
		require.NotContains(t, lines[0], "left_out", "they were told of")
		pass(5 * time.Second)
		deny(7)
		lines = out.lines()
		require.Len(t, lines, 5)
		require.Contains(t, lines[0], "left_out=1")
		pass(5 * time.Second)
		require.Equal(t, []string{`level=WARN msg="no: more" left_out=2`}, out.lines())
		pass(time.Second)
		deny(10)
		require.Len(t, out.lines(), 6)
		pass(9 * time.Second)
		require.Empty(t, out.lines(), "one timer is enough, which begins with the first that is left out")
		pass(time.Second)
		require.Equal(t, []string{`level=WARN msg="no: more" left_out=4`}, out.lines())
	})
}

func TestADenialLogAsksNothingOfALoggerThatDoesNotListen(t *testing.T) {
	var log weir.DenialLog
	var out bytes.Buffer
	quiet := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))
	log.Log(t.Context(), quiet, "no", weir.Decision{}, func() []slog.Attr { panic("asked") })
	require.Empty(t, out)
}

// broken is a handler of records that fails as badly as one can.
type broken struct {
	slog.Handler
	failed *int
}

func (b broken) Handle(context.Context, slog.Record) error {
	*b.failed++
	panic("full")
}

// TestALoggerThatPanicsDoesNotEndTheProgram: around the timer that sums up there is no server.
func TestALoggerThatPanicsDoesNotEndTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log weir.DenialLog
		var out journal
		none, failed := func() []slog.Attr { return nil }, 0
		for range 10 {
			log.Log(t.Context(), out.logger(), "no", weir.Decision{}, none)
		}
		log.Log(t.Context(), slog.New(broken{out.logger().Handler(), &failed}), "no", weir.Decision{}, none) // is left out
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, failed)
	})
}
