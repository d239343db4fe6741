package httplimit_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
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
			require.NoError(t, move(t.Context(), 1024*8192, newRecord(), l))
			require.Equal(t, weir.Stats{Allowed: 1024, Denied: 1 + 1023/256}, l.Stats(), way)
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
