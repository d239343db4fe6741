package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

func TestReadIsChargedForWhatIsThereNotForTheBuffer(t *testing.T) {
	l := weir.New(bucket(1, 64*kib), weir.WithClock(weir.NewManualClock()))
	chat := readerFunc(func(p []byte) (int, error) {
		require.Len(t, p, 16*kib, "no more is read at once than may pass at once")
		return copy(p, "hello, you"), nil
	})
	r := httplimit.NewReader(t.Context(), chat, l.WaitN)
	for said := range 100 {
		require.Equal(t, 64*kib-10*said, l.Tokens())
		n, err := r.Read(make([]byte, 32*kib))
		require.NoError(t, err)
		require.Equal(t, 10, n)
	}
}

func TestReadKeepsWhatCouldNotWait(t *testing.T) {
	busy, broken := errors.New("busy"), errors.New("broken")
	waits, reads := 0, 0
	r := httplimit.NewReader(t.Context(), readerFunc(func(p []byte) (int, error) {
		reads++
		return copy(p, "012345"), broken
	}), func(context.Context, int) error {
		if waits++; waits%3 != 0 {
			return busy
		}
		return nil
	})
	p := make([]byte, 10)
	for _, want := range []struct {
		room, reads int
		read        string
		err         error
	}{
		{10, 1, "", busy}, {10, 1, "", busy}, {4, 1, "0123", nil}, {4, 1, "", busy}, {4, 1, "", busy}, {4, 1, "45", broken},
		{6, 2, "", busy}, {6, 2, "", busy}, {6, 2, "012345", broken},
	} {
		clear(p) // it is not where the bytes are kept
		n, err := r.Read(p[:want.room])
		require.Equal(t, want.err, err)
		require.Equal(t, want.read, string(p[:n]))
		require.Equal(t, want.reads, reads)
	}
	waits = 2
	n, err := r.Read(p)
	require.Equal(t, 6, n)
	require.Equal(t, broken, err, "without having been kept")
}

func TestReaderReadsAsReadersMust(t *testing.T) {
	text := strings.Repeat("All that passes through a weir comes out below it.\n", 400)
	for _, capacity := range []int{100, 10_000, 1 << 20} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"as it is": func(r io.Reader) io.Reader { return r },
			"halves":   iotest.HalfReader, "bytes": iotest.OneByteReader, "EOF with data": iotest.DataErrReader,
		} {
			synctest.Test(t, func(t *testing.T) {
				l := weir.New(bucket(1_000_000_000, capacity))
				r := httplimit.NewReader(t.Context(), wrap(strings.NewReader(text)), l.WaitN)
				require.NoError(t, iotest.TestReader(r, []byte(text)), "%s, %d", name, capacity)
			})
		}
	}
}

func TestCopyCannotGetAround(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 5000)
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	left := func(l *weir.Limiter) int { return 100_000 - l.Tokens() }
	for _, from := range []io.Reader{file, strings.NewReader(text), bytes.NewBufferString(text)} { // all have WriteTo
		l, to := weir.New(bucket(1, 100_000), weir.WithClock(weir.NewManualClock())), new(bytes.Buffer) // and that has ReadFrom
		_, err := io.Copy(httplimit.NewWriter(t.Context(), to, l.WaitN), from)
		require.NoError(t, err)
		require.True(t, text == to.String())
		require.Equal(t, len(text), left(l), "%T", from)
	}
	l, to := weir.New(bucket(1, 100_000), weir.WithClock(weir.NewManualClock())), new(bytes.Buffer)
	_, err = io.Copy(to, httplimit.NewReader(t.Context(), strings.NewReader(text), l.WaitN))
	require.NoError(t, err)
	require.True(t, text == to.String())
	require.Equal(t, len(text), left(l))
}

func TestMovingBytesAllocatesNothing(t *testing.T) {
	l := weir.New(weir.TokenBucket(weir.Unlimited()))
	w := httplimit.NewWriter(t.Context(), io.Discard, l.WaitN)
	r := httplimit.NewReader(t.Context(), zeros{}, l.WaitN)
	p := make([]byte, 40*kib)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = w.Write(p)
		_, _ = r.Read(p)
	}))
}

func TestBytesWithoutAWaitPanic(t *testing.T) {
	const text = "httplimit: byte rate with a nil wait: give it a limiter's WaitN"
	require.PanicsWithValue(t, text, func() { httplimit.NewWriter(t.Context(), io.Discard, nil) })
	require.PanicsWithValue(t, text, func() { httplimit.NewReader(t.Context(), zeros{}, nil) })
	require.PanicsWithValue(t, text, func() { httplimit.NewBody(t.Context(), http.NoBody, nil) })
}

func TestCloseEndsAReadThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, closed := weir.New(bucket(1, 10)), 0
		body := httplimit.NewBody(t.Context(), struct {
			io.Reader
			io.Closer
		}{zeros{}, closerFunc(func() error { closed++; return io.ErrClosedPipe })}, l.WaitN)
		p := make([]byte, 10)
		n, err := body.Read(p)
		require.NoError(t, err)
		require.Equal(t, 10, n)
		began := time.Now()
		closing := make(chan error, 1)
		time.AfterFunc(4000*ms, func() { closing <- body.Close() })
		n, err = body.Read(p)
		require.Zero(t, n)
		require.Equal(t, context.Canceled, err)
		require.Equal(t, 4000*ms, time.Since(began))
		require.Equal(t, 4, l.Tokens(), "it is not charged")
		require.Equal(t, io.ErrClosedPipe, <-closing)
		require.Equal(t, 1, closed)
	})
}
