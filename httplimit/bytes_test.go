package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

const (
	kib = 1 << 10
	ms  = time.Millisecond
)

// A pass is how many bytes came when, since a record began.
type pass struct {
	at time.Duration
	n  int
}

// A record takes what passes at which instant. It is safe for concurrent use.
type record struct {
	pause time.Duration // that each Write takes
	began time.Time

	mu     sync.Mutex
	passes []pass
}

func newRecord() *record { return &record{began: time.Now()} }

func (r *record) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passes = append(r.passes, pass{time.Since(r.began), n})
}

func (r *record) Write(p []byte) (int, error) {
	r.add(len(p))
	time.Sleep(r.pause)
	return len(p), nil
}

func (r *record) last() time.Duration { return r.passes[len(r.passes)-1].at }

// requireWithin requires of every span between two passes no more than the policy allows.
func (r *record) requireWithin(t *testing.T, p weir.Policy, seed uint64) {
	t.Helper()
	for i, first := range r.passes {
		n := 0
		for _, last := range r.passes[i:] {
			n += last.n
			if d := last.at - first.at + 1; n > p.MaxWithin(d) {
				t.Fatalf("seed %d, %v: %d bytes within %v from %v, at most %d may be", seed, p, n, d, first.at, p.MaxWithin(d))
			}
		}
	}
}

type (
	onlyWriter struct{ io.Writer } // without what io.Copy would rather use
	writerFunc func([]byte) (int, error)
	readerFunc func([]byte) (int, error)
	closerFunc func() error
	zeros      struct{}
)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
func (f readerFunc) Read(p []byte) (int, error)  { return f(p) }
func (f closerFunc) Close() error                { return f() }
func (zeros) Read(p []byte) (int, error)         { return len(p), nil }

// bucket is a token bucket of so many bytes a second.
func bucket(rate, burst int) weir.Policy {
	return weir.TokenBucket(weir.PerSecond(rate).WithBurst(burst))
}

// aTurn is how long a chunk of 16 KiB takes in aChunk, which is one at once: an instant for each of its bytes is a whole
// number of nanoseconds.
const aTurn = 1024 * ms

func aChunk() weir.Policy { return weir.TokenBucket(weir.Per(16*kib, aTurn)) }

// ways are those in which n bytes are moved to a record under a limit.
var ways = map[string]func(ctx context.Context, n int, to *record, l *weir.Limiter) error{
	"one Write": func(ctx context.Context, n int, to *record, l *weir.Limiter) error {
		_, err := httplimit.NewWriter(ctx, to, l.WaitN).Write(make([]byte, n))
		return err
	},
	"Reads into a large buffer": func(ctx context.Context, n int, to *record, l *weir.Limiter) error {
		r := httplimit.NewReader(ctx, io.LimitReader(zeros{}, int64(n)), l.WaitN)
		_, err := io.CopyBuffer(onlyWriter{to}, r, make([]byte, 64*kib))
		return err
	},
}

func TestEachChunkPassesAtItsTurnToTheNanosecond(t *testing.T) {
	for _, test := range []struct {
		policy weir.Policy
		bytes  int
		want   []pass
	}{
		{aChunk(), 56 * kib, []pass{{0, 16 * kib}, {aTurn, 16 * kib}, {2 * aTurn, 16 * kib}, {2*aTurn + aTurn/2, 8 * kib}}},
		{bucket(10_000, 20_000), 40_000, []pass{{0, 16384}, {1_276_800_000, 16384}, {2000 * ms, 7232}}},
		{bucket(10_000, 10_000), 20_000, []pass{{0, 8192}, {638_400_000, 8192}, {1000 * ms, 3616}}},
		{bucket(3, 2), 6, []pass{{0, 1}, {0, 1}, {333_333_334, 1}, {666_666_667, 1}, {1_000_000_001, 1}, {1_333_333_334, 1}}},
		{weir.LeakyBucket(weir.PerSecond(10), 1), 3, []pass{{0, 1}, {100 * ms, 1}, {200 * ms, 1}}},
		{weir.FixedWindow(weir.PerSecond(32 * kib)), 80 * kib, []pass{{0, 16 * kib}, {0, 16 * kib}, {1000 * ms, 16 * kib}, {1000 * ms, 16 * kib}, {2000 * ms, 16 * kib}}},
		{weir.TokenBucket(weir.Unlimited()), 40 * kib, []pass{{0, 16 * kib}, {0, 16 * kib}, {0, 8 * kib}}},
	} {
		for way, move := range ways {
			synctest.Test(t, func(t *testing.T) {
				got := newRecord()
				require.NoError(t, move(t.Context(), test.bytes, got, weir.New(test.policy)))
				require.Equal(t, test.want, got.passes, "%v, %s", test.policy, way)
			})
		}
	}
}

func TestALongCopyUsesTheWholeRate(t *testing.T) {
	for _, test := range []struct {
		rate, burst, bytes int           // bytes beyond the burst
		pause              time.Duration // that each chunk takes to write; the burst makes up for it
	}{
		{1_000_000, 16 * kib, 3000 * 16 * kib, 16 * ms},
		{1_000_000, 48 * kib, 3000 * 16 * kib, 16 * ms},
		{1_000_000, 16*kib - 1, 20_000_000, 0},
		{100_000, 5_001, 2_000_000, 0},
		{10_000, 1, 20_000, 0},
		{1_000_000_000, 1_000_000, 50_000_000, 0},
	} {
		for way, move := range ways {
			synctest.Test(t, func(t *testing.T) {
				got := newRecord()
				got.pause = test.pause
				require.NoError(t, move(t.Context(), test.burst+test.bytes, got, weir.New(bucket(test.rate, test.burst))))
				require.Equal(t, time.Duration(test.bytes)*time.Second/time.Duration(test.rate), got.last(), "%+v, %s", test, way)
			})
		}
	}
}

func TestTheCapacityIsFoundOnceAndRarelyTriedAgain(t *testing.T) {
	for way, move := range ways {
		synctest.Test(t, func(t *testing.T) {
			l := weir.New(bucket(1_000_000, 10_000))
			require.NoError(t, move(t.Context(), 1000*8192, newRecord(), l))
			require.Equal(t, weir.Stats{Allowed: 1000, Denied: 1 + 1000/256}, l.Stats(), way)
		})
	}
}

func TestAnotherPolicyIsFollowedEvenByAChunkThatWaits(t *testing.T) {
	for way, move := range ways {
		synctest.Test(t, func(t *testing.T) {
			l := weir.New(aChunk())
			got := newRecord()
			done := make(chan error)
			go func() { done <- move(t.Context(), 32*kib, got, l) }()
			time.Sleep(aTurn / 2)
			require.NoError(t, l.SetPolicy(bucket(1000, 1000))) // what was used is carried: it is empty
			require.NoError(t, <-done)
			require.Equal(t, []pass{{0, 16 * kib}, {aTurn/2 + 512*ms, 512}, {aTurn/2 + 1024*ms, 512}}, got.passes[:3], way)
			require.Equal(t, pass{aTurn/2 + 32*512*ms, 512}, got.passes[32], way)
		})
	}
}

func TestChunksGrowAgainWithThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, got := weir.New(bucket(1_000_000, 6000)), newRecord()
		w := httplimit.NewWriter(t.Context(), got, l.WaitN)
		want := map[int]int{100: 1000, 5000: 256, 10_000: 1, 16 * kib: 3} // how many of which size
		_, err := w.Write(make([]byte, 2*5000))
		require.NoError(t, err)
		require.NoError(t, l.SetPolicy(bucket(1_000_000, 1_000_000)))
		for range 1000 { // small ones prove nothing
			_, err = w.Write(make([]byte, 100))
			require.NoError(t, err)
		}
		_, err = w.Write(make([]byte, 254*5000+10_000+3*16*kib))
		require.NoError(t, err)
		for _, p := range got.passes {
			want[p.n]--
		}
		require.Equal(t, map[int]int{100: 0, 5000: 0, 10_000: 0, 16 * kib: 0}, want)
	})
}

func TestNothingPassesAPolicyOfNothing(t *testing.T) {
	l := weir.New(weir.TokenBucket(weir.Limit{}))
	for way, move := range ways {
		got := newRecord()
		require.ErrorIs(t, move(t.Context(), 100, got, l), weir.ErrNever, way)
		require.Empty(t, got.passes, way)
	}
}

func TestWritersOfOneLimiterTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.New(aChunk())
		all, first, second := newRecord(), newRecord(), newRecord()
		done := make(chan error)
		for _, own := range []*record{first, second} {
			go func() {
				_, err := httplimit.NewWriter(t.Context(), io.MultiWriter(own, all), l.WaitN).Write(make([]byte, 64*kib))
				done <- err
			}()
			synctest.Wait()
		}
		require.NoError(t, errors.Join(<-done, <-done))
		require.Equal(t, []pass{{0, 16 * kib}, {aTurn, 16 * kib}, {3 * aTurn, 16 * kib}, {5 * aTurn, 16 * kib}}, first.passes)
		require.Equal(t, []pass{{2 * aTurn, 16 * kib}, {4 * aTurn, 16 * kib}, {6 * aTurn, 16 * kib}, {7 * aTurn, 16 * kib}}, second.passes)
		all.requireWithin(t, l.Policy(), 0)
	})
}

func TestCancellationEndsAWriteInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := weir.New(aChunk())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(aTurn+aTurn/2, cancel)
		got := newRecord()
		w := httplimit.NewWriter(ctx, got, l.WaitN)
		n, err := w.Write(make([]byte, 48*kib))
		require.Equal(t, 32*kib, n)
		require.Equal(t, context.Canceled, err)
		require.Equal(t, aTurn+aTurn/2, time.Since(got.began))
		require.Equal(t, aTurn/2, l.Peek(16*kib).RetryAfter, "what did not pass is not charged")
		n, err = w.Write(make([]byte, 10))
		require.Zero(t, n)
		require.Equal(t, context.Canceled, err, "with tokens free")
	})
}

func TestADeadlineTooNearFailsAtOnce(t *testing.T) {
	for way, move := range ways {
		synctest.Test(t, func(t *testing.T) {
			l := weir.New(aChunk())
			ctx, cancel := context.WithTimeout(t.Context(), 2*aTurn-1)
			defer cancel()
			got := newRecord()
			require.ErrorIs(t, move(ctx, 48*kib, got, l), context.DeadlineExceeded, way)
			require.Equal(t, []pass{{0, 16 * kib}, {aTurn, 16 * kib}}, got.passes, way)
			require.Equal(t, aTurn, time.Since(got.began), way)
			require.NoError(t, ctx.Err())
		})
	}
}

func TestWriteReturnsWhatTheWriterTook(t *testing.T) {
	for _, test := range []struct {
		took int
		err  error
		want error
	}{
		{100, errors.New("gone"), errors.New("gone")},
		{0, errors.New("gone"), errors.New("gone")},
		{16 * kib, errors.New("gone"), errors.New("gone")},
		{100, nil, io.ErrShortWrite},
		{0, nil, io.ErrShortWrite},
	} {
		l, calls := weir.New(bucket(1, 64*kib), weir.WithClock(weir.NewManualClock())), 0
		n, err := httplimit.NewWriter(t.Context(), writerFunc(func(p []byte) (int, error) {
			if calls++; calls == 2 {
				return test.took, test.err
			}
			return len(p), nil
		}), l.WaitN).Write(make([]byte, 48*kib))
		require.Equal(t, test.want, err)
		require.Equal(t, 16*kib+test.took, n)
		require.Equal(t, 2, calls)
		require.Equal(t, 32*kib, l.Tokens(), "the chunk stays charged")
	}
}

func TestAnEmptyWritePassesAndAnEmptyReadDoesNot(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := 0
	inner := func(p []byte) (int, error) { calls++; return len(p), io.EOF }
	_, err := httplimit.NewWriter(ctx, writerFunc(inner), weir.New(bucket(1, 1)).WaitN).Write(nil)
	require.Equal(t, io.EOF, err)
	require.Equal(t, 1, calls)
	r := httplimit.NewReader(ctx, readerFunc(inner), weir.New(bucket(1, 1)).WaitN)
	_, err = r.Read(nil)
	require.NoError(t, err)
	_, err = r.Read(make([]byte, 1))
	require.Equal(t, context.Canceled, err)
	require.Equal(t, 1, calls, "nothing is read for nobody")
}

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

var errRandom = errors.New("at random")

// A troublemaker moves fewer bytes than it could, fails and dawdles, all at random.
type troublemaker struct {
	random *rand.Rand
	l      *weir.Limiter
	all    *record       // of all troublemakers
	moved  bytes.Buffer  // what came
	from   *bytes.Reader // what goes, of a reader
}

func (m *troublemaker) pass(p []byte) {
	m.all.add(len(p))
	m.moved.Write(p)
}

func (m *troublemaker) trouble() error {
	time.Sleep(time.Duration(m.random.IntN(3)) * time.Duration(m.random.IntN(2000)) * time.Microsecond)
	if m.random.IntN(4) == 0 {
		return errRandom
	}
	return nil
}

func (m *troublemaker) Write(p []byte) (int, error) {
	if m.random.IntN(3) == 0 {
		p = p[:m.random.IntN(len(p)+1)]
	}
	m.pass(p)
	return len(p), m.trouble()
}

func (m *troublemaker) Read(p []byte) (int, error) {
	n, err := m.from.Read(p[:m.random.IntN(len(p)+1)])
	if trouble := m.trouble(); err == nil {
		err = trouble
	}
	return n, err
}

func (m *troublemaker) WaitN(ctx context.Context, n int) error {
	if m.random.IntN(5) == 0 {
		return errRandom
	}
	return m.l.WaitN(ctx, n)
}

// moveRandomly moves bytes in spite of all trouble.
func (m *troublemaker) moveRandomly(ctx context.Context, writes bool) error {
	text := make([]byte, 1+m.random.IntN(3000))
	for i := range text {
		text[i] = byte(m.random.IntN(256))
	}
	m.from = bytes.NewReader(text)
	w, r := httplimit.NewWriter(ctx, m, m.WaitN), httplimit.NewReader(ctx, m, m.WaitN)
	var err error
	for p := text; writes && len(p) > 0 && (err == nil || err == errRandom || err == io.ErrShortWrite); {
		var n int
		n, err = w.Write(p[:1+m.random.IntN(len(p))])
		p = p[n:]
	}
	for p := make([]byte, 3000); !writes && (err == nil || err == errRandom); {
		var n int
		n, err = r.Read(p[:m.random.IntN(len(p))])
		m.pass(p[:n])
	}
	if !bytes.Equal(text, m.moved.Bytes()) {
		return fmt.Errorf("of %x came %x: %w", text, m.moved.Bytes(), err)
	}
	return nil
}

// However they fail and dawdle, readers and writers of one limiter lose no byte, add none and together never exceed it.
func TestRandomTroubleLosesNothingAndExceedsNothing(t *testing.T) {
	for range 100 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		limit := weir.PerSecond(1 + random.IntN(10_000))
		policy := oneOf(random, weir.TokenBucket(limit.WithBurst(1+random.IntN(5000))), weir.FixedWindow(limit), weir.SlidingWindow(limit),
			weir.All(weir.TokenBucket(limit.WithBurst(1+random.IntN(500))), weir.SlidingWindow(weir.PerMinute(50_000))))
		synctest.Test(t, func(t *testing.T) {
			l, all := weir.New(policy), newRecord()
			done := make(chan error)
			for i := range 4 {
				m := &troublemaker{random: rand.New(rand.NewPCG(seed, uint64(1+i))), l: l, all: all}
				go func() { done <- m.moveRandomly(t.Context(), i%2 == 0) }()
			}
			for range 4 {
				require.NoError(t, <-done, "seed %d", seed)
			}
			all.requireWithin(t, policy, seed)
		})
	}
}

// waitOf waits for the turn of the client's address.
func waitOf(clients *weir.PerClient[netip.Prefix], r *http.Request) func(context.Context, int) error {
	client, _ := httplimit.RemoteIP(r)
	return func(ctx context.Context, n int) error { return clients.WaitN(ctx, client, n) }
}

func TestAClientThatLeavesEndsTheResponseThatWaits(t *testing.T) {
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerHour(1).WithBurst(16 * kib)))
	defer clients.Close()
	type result struct {
		n   int64
		err error
	}
	done := make(chan result, 1)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		n, err := io.CopyN(httplimit.NewWriter(r.Context(), w, waitOf(clients, r)), zeros{}, 1_000_000)
		done <- result{n, err}
	}), "")

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	_, err = io.ReadFull(response.Body, make([]byte, 12*kib)) // net/http keeps the last few KiB until there is more
	require.NoError(t, err)
	leave()
	select {
	case got := <-done:
		require.Equal(t, result{16 * kib, context.Canceled}, got)
	case <-time.After(time.Minute):
		t.Fatal("the handler still waits")
	}
	client, _ := httplimit.RemoteIP(&http.Request{RemoteAddr: "127.0.0.1:1"})
	require.Zero(t, clients.Stats().Waiting)
	require.Zero(t, clients.Tokens(client))
}

func TestBodiesAreLimitedOnBothSides(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 4000)
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerHour(1).WithBurst(100_000)))
	defer clients.Close()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = httplimit.NewBody(r.Context(), r.Body, waitOf(clients, r))
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			text = []byte(err.Error())
		}
		_, _ = w.Write(text)
	}), "")
	uploads := weir.New(weir.TokenBucket(weir.PerHour(1).WithBurst(100_000)))
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(text))
	require.NoError(t, err)
	r.Body = httplimit.NewBody(r.Context(), r.Body, uploads.WaitN)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	echo, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.True(t, text == string(echo), "%d bytes come back, %.100s", len(echo), echo)
	client, _ := httplimit.RemoteIP(&http.Request{RemoteAddr: "127.0.0.1:1"})
	require.Equal(t, 100_000-len(text), uploads.Tokens())
	require.Equal(t, 100_000-len(text), clients.Tokens(client))
}
