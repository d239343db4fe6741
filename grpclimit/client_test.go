package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const sec = time.Second

// away is a connection that is never made: what is sent goes to an invoker.
func away(t *testing.T) *grpc.ClientConn {
	cc, err := grpc.NewClient("passthrough:///away", grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { cc.Close() })
	return cc
}

const target = "passthrough:///away"

// A script is a server that answers the nth RPC with the nth error, and notes when they came.
type script struct {
	began   time.Time
	mu      sync.Mutex
	came    []time.Duration
	answers []error
}

func (s *script) next() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came = append(s.came, time.Since(s.began))
	if n := len(s.came) - 1; n < len(s.answers) {
		return s.answers[n]
	}
	return nil
}

func asksToWait(code codes.Code, d time.Duration) error {
	s, err := status.New(code, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
	if err != nil {
		panic(err)
	}
	return s.Err()
}

// play has a function send RPCs in a bubble to a script.
func play(t *testing.T, c *grpclimit.Client, f func(t *testing.T, s *script, send func(context.Context) error), answers ...error) {
	t.Helper()
	cc := away(t)
	synctest.Test(t, func(t *testing.T) {
		s, unary := &script{began: time.Now(), answers: answers}, c.Unary()
		f(t, s, func(ctx context.Context) error {
			return unary(ctx, methodSay, nil, nil, cc, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return s.next() })
		})
	})
}

func TestAClientWaitsItsTurn(t *testing.T) {
	limit := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1).WithBurst(2)))
	defer limit.Close()
	play(t, &grpclimit.Client{Limit: limit}, func(t *testing.T, s *script, send func(context.Context) error) {
		for range 4 {
			require.NoError(t, send(t.Context()))
		}
		require.Equal(t, []time.Duration{0, 0, sec, 2 * sec}, s.came)
		require.Equal(t, uint64(4), limit.Stats().Allowed)
		require.Zero(t, limit.Tokens(target), "by target")

		for _, left := range []time.Duration{1, sec - 1} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			err := send(ctx)
			cancel()
			require.Equal(t, codes.DeadlineExceeded, status.Code(err))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "grpclimit: waiting for passthrough:///away: weir: the turn would come too late")
		}
		require.Equal(t, 2*sec, time.Since(s.began), "at once")
		require.Equal(t, sec, limit.Peek(target, 1).RetryAfter, "and nothing is consumed")

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(sec/2, cancel)
		require.Equal(t, codes.Canceled, status.Code(send(ctx)))
		require.Equal(t, sec/2, limit.Peek(target, 1).RetryAfter)
	})
}

func TestATurnThatNeverComesFailsAtOnce(t *testing.T) {
	for policy, want := range map[string]error{"0": weir.ErrNever, "leaky-bucket 1/h": weir.ErrQueueFull} {
		limit := weir.NewPerClient[string](weir.MustParsePolicy(policy))
		play(t, &grpclimit.Client{Limit: limit}, func(t *testing.T, s *script, send func(context.Context) error) {
			limit.Allow(target)
			err := send(t.Context())
			require.ErrorIs(t, err, want)
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			require.Empty(t, status.Convert(err).Details())
			require.Empty(t, s.came)
		})
		limit.Close()
	}
}

func TestAnAnswerWithRetryInfoHoldsLaterRPCsBack(t *testing.T) {
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.Unavailable} {
		c := &grpclimit.Client{}
		play(t, c, func(t *testing.T, s *script, send func(context.Context) error) {
			require.Equal(t, code, status.Code(send(t.Context())), "it is not sent again")
			require.Equal(t, 5*sec+1, c.Held(target))
			require.Zero(t, c.Held("another"))
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { require.NoError(t, send(t.Context())) })
			}
			all.Wait()
			require.NoError(t, send(t.Context()))
			require.Equal(t, []time.Duration{0, 5*sec + 1, 5*sec + 1, 5*sec + 1, 5*sec + 1}, s.came)
			require.Zero(t, c.Held(target))
		}, asksToWait(code, 5*sec+1))
	}
}

func TestOtherAnswersHoldNothingBack(t *testing.T) {
	broken, err := status.New(codes.ResourceExhausted, "later").WithDetails(
		&errdetails.RetryInfo{}, &errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: 9, Nanos: -1}}, &errdetails.ErrorInfo{})
	require.NoError(t, err)
	for _, answer := range []error{
		nil, errors.New("lost"), io.EOF, context.DeadlineExceeded, asksToWait(codes.Internal, 9*sec), asksToWait(codes.Aborted, 9*sec),
		asksToWait(codes.ResourceExhausted, 0), asksToWait(codes.ResourceExhausted, -9*sec), status.Error(codes.ResourceExhausted, "later"),
		status.Error(codes.Unavailable, "later"), broken.Err(),
	} {
		play(t, &grpclimit.Client{}, func(t *testing.T, s *script, send func(context.Context) error) {
			require.Equal(t, answer, send(t.Context()))
			require.NoError(t, send(t.Context()))
			require.Equal(t, []time.Duration{0, 0}, s.came, "%v", answer)
		}, answer)
	}
}

func TestOfSeveralAnswersTheOneCountsThatEndsLast(t *testing.T) {
	c := &grpclimit.Client{}
	play(t, c, func(t *testing.T, s *script, send func(context.Context) error) {
		require.Error(t, send(t.Context()))
		require.NoError(t, send(t.Context()))
		require.Equal(t, []time.Duration{0, 9 * sec}, s.came)
	}, several(t, 3*sec, 9*sec, 4*sec))
}

// several is an answer with more than one RetryInfo.
func several(t *testing.T, delays ...time.Duration) error {
	s := status.New(codes.Unavailable, "later")
	for _, d := range delays {
		var err error
		s, err = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
		require.NoError(t, err)
	}
	return s.Err()
}

// A hostile server cannot hold a client for ever.
func TestAHoldIsBounded(t *testing.T) {
	for _, test := range []struct{ maxWait, most time.Duration }{
		{0, 2 * time.Minute}, {time.Hour, time.Hour}, {sec, sec}, {1 << 62, 24 * time.Hour}, {-1, 0}, {-time.Hour, 0},
	} {
		for _, asked := range []time.Duration{test.most, test.most + 1, 1<<63 - 1} {
			c := &grpclimit.Client{MaxWait: test.maxWait}
			play(t, c, func(t *testing.T, s *script, send func(context.Context) error) {
				require.Error(t, send(t.Context()))
				held := min(asked, 24*time.Hour)
				require.Equal(t, held, c.Held(target))
				err := send(t.Context())
				if held <= test.most {
					require.NoError(t, err)
					require.Equal(t, []time.Duration{0, held}, s.came)
					return
				}
				require.ErrorIs(t, err, grpclimit.ErrHeldBack)
				require.Equal(t, codes.ResourceExhausted, status.Code(err))
				require.EqualError(t, err, fmt.Sprintf("grpclimit: passthrough:///away holds RPCs back for %v more: grpclimit: held back for longer than MaxWait", held))
				told, ok := grpclimit.RetryAfter(err)
				require.True(t, ok)
				require.Equal(t, held, told)
				require.Zero(t, time.Since(s.began), "at once")
			}, asksToWait(codes.ResourceExhausted, asked))
		}
	}
}

func TestAHoldPastTheDeadlineFailsAtOnce(t *testing.T) {
	play(t, &grpclimit.Client{}, func(t *testing.T, s *script, send func(context.Context) error) {
		require.Error(t, send(t.Context()))
		for _, left := range []time.Duration{1, sec, 30 * sec} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			err := send(ctx)
			cancel()
			require.Equal(t, codes.DeadlineExceeded, status.Code(err))
			var wait *grpclimit.WaitError
			require.ErrorAs(t, err, &wait)
			require.Equal(t, grpclimit.WaitError{Key: target, Wait: 30 * sec, Err: context.DeadlineExceeded}, *wait)
		}
		require.Zero(t, time.Since(s.began))
		ctx, cancel := context.WithTimeout(t.Context(), 30*sec+1)
		defer cancel()
		require.NoError(t, send(ctx))
		require.Equal(t, []time.Duration{0, 30 * sec}, s.came)
	}, asksToWait(codes.ResourceExhausted, 30*sec))
}

// Who waits already is told as soon as it is known.
func TestAHoldThatGrowsIsKnownAtOnce(t *testing.T) {
	c := &grpclimit.Client{MaxWait: time.Hour}
	play(t, c, func(t *testing.T, s *script, send func(context.Context) error) {
		late := slowly(t, c, s, 2*sec)
		require.NoError(t, send(t.Context()))
		require.Error(t, send(t.Context()))
		errs := make(chan error)
		for _, left := range []time.Duration{61 * sec, 62 * sec, 63 * sec, 0} {
			ctx, cancel := context.WithCancel(t.Context())
			if left > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), left)
			}
			defer cancel()
			go func() { errs <- send(ctx) }()
		}
		require.Error(t, <-late)
		for range 2 {
			require.ErrorIs(t, <-errs, context.DeadlineExceeded)
			require.Equal(t, 2*sec, time.Since(s.began))
		}
		for range 2 {
			require.NoError(t, <-errs)
		}
		require.Equal(t, []time.Duration{0, 0, 2 * sec, 62 * sec, 62 * sec}, s.came)
	}, nil, asksToWait(codes.Unavailable, 5*sec), asksToWait(codes.Unavailable, 60*sec))
}

func TestACancelledRPCLeavesAtOnce(t *testing.T) {
	play(t, &grpclimit.Client{}, func(t *testing.T, s *script, send func(context.Context) error) {
		require.Error(t, send(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*sec, cancel)
		err := send(ctx)
		require.Equal(t, codes.Canceled, status.Code(err))
		require.EqualError(t, err, "grpclimit: passthrough:///away holds RPCs back for 27s more: context canceled")
		require.Equal(t, 3*sec, time.Since(s.began))
	}, asksToWait(codes.Unavailable, 30*sec))
}

// The server changes its mind while an RPC waits for its own turn, which is given back.
func TestAHoldThatBeginsDuringItsTurnIsObeyed(t *testing.T) {
	for _, maxWait := range []time.Duration{5 * sec, 5*sec - 1} {
		limit := weir.NewPerClient[string](weir.TokenBucket(weir.Every(10 * sec).WithBurst(2)))
		defer limit.Close()
		c := &grpclimit.Client{Limit: limit, MaxWait: maxWait}
		play(t, c, func(t *testing.T, s *script, send func(context.Context) error) {
			slow := slowly(t, c, s, 5*sec)
			require.NoError(t, send(t.Context()))
			err := send(t.Context()) // its turn is at 10 s, and the hold from 5 to 15
			require.Error(t, <-slow)
			if maxWait < 5*sec {
				require.ErrorIs(t, err, grpclimit.ErrHeldBack)
				require.Equal(t, 10*sec, time.Since(s.began))
				require.Equal(t, 1, limit.Tokens(target), "it is given back")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []time.Duration{0, 5 * sec, 15 * sec}, s.came)
			require.Equal(t, 5*sec, limit.Peek(target, 1).RetryAfter, "one came back, and was taken again when there were one and a half")
		}, nil, asksToWait(codes.Unavailable, 10*sec))
	}
}

// slowly sends an RPC whose answer takes some time.
func slowly(t *testing.T, c *grpclimit.Client, s *script, latency time.Duration) <-chan error {
	cc, answer := away(t), make(chan error, 1)
	go func() {
		answer <- c.Unary()(t.Context(), methodSay, nil, nil, cc, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			time.Sleep(latency)
			return s.next()
		})
	}()
	synctest.Wait()
	return answer
}

func TestMaxWaitIsForAllHoldsTogether(t *testing.T) {
	for _, maxWait := range []time.Duration{15 * sec, 15*sec - 1} {
		limit := weir.NewPerClient[string](weir.TokenBucket(weir.Every(10 * sec).WithBurst(2)))
		defer limit.Close()
		c := &grpclimit.Client{Limit: limit, MaxWait: maxWait}
		play(t, c, func(t *testing.T, s *script, send func(context.Context) error) {
			slow := slowly(t, c, s, 7*sec)
			require.Error(t, send(t.Context()))
			err := send(t.Context()) // held until 5 s, its turn is at 10, and from 7 to 20 it is held again
			require.Error(t, <-slow)
			if maxWait < 15*sec {
				require.ErrorIs(t, err, grpclimit.ErrHeldBack)
				require.Equal(t, 10*sec, time.Since(s.began))
				return
			}
			require.NoError(t, err)
			require.Equal(t, []time.Duration{0, 7 * sec, 20 * sec}, s.came)
		}, asksToWait(codes.Unavailable, 5*sec), asksToWait(codes.Unavailable, 13*sec))
	}
}

func TestWhoIsHeldBackTakesNothingOfTheLimit(t *testing.T) {
	limit := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1).WithBurst(5)))
	defer limit.Close()
	play(t, &grpclimit.Client{Limit: limit, MaxWait: -1}, func(t *testing.T, s *script, send func(context.Context) error) {
		require.Error(t, send(t.Context()))
		require.ErrorIs(t, send(t.Context()), grpclimit.ErrHeldBack)
		require.Equal(t, 4, limit.Tokens(target))
	}, asksToWait(codes.Unavailable, sec))
}

// A fakeClientStream is one that ends with an error.
type fakeClientStream struct {
	grpc.ClientStream
	err error
}

func (s *fakeClientStream) RecvMsg(any) error { return s.err }

func TestAClientLearnsFromAStreamOnce(t *testing.T) {
	cc := away(t)
	synctest.Test(t, func(t *testing.T) {
		c, asks := &grpclimit.Client{}, asksToWait(codes.Unavailable, 5*sec)
		open := func(s grpc.ClientStream, err error) (grpc.ClientStream, error) {
			return c.Stream()(t.Context(), &chat, cc, methodChat, func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				return s, err
			})
		}
		fine, err := open(&fakeClientStream{}, nil)
		require.NoError(t, err)
		require.NoError(t, fine.RecvMsg(nil))
		s, err := open(&fakeClientStream{err: asks}, nil)
		require.NoError(t, err)
		require.Equal(t, asks, s.RecvMsg(nil))
		time.Sleep(3 * sec)
		require.Equal(t, asks, s.RecvMsg(nil))
		require.Equal(t, 2*sec, c.Held(target), "it has been told once")
		time.Sleep(2 * sec)
		none, err := open(&fakeClientStream{}, asks)
		require.Equal(t, asks, err)
		require.Nil(t, none)
		require.Equal(t, 5*sec, c.Held(target))
	})
}

// What came well before it ended may end with an answer that asks to wait.
func TestAStreamIsHeardWhenItEnds(t *testing.T) {
	cc := away(t)
	c, inner := &grpclimit.Client{}, &fakeClientStream{}
	s, err := c.Stream()(t.Context(), &chat, cc, methodChat, func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return inner, nil
	})
	require.NoError(t, err)
	require.NoError(t, s.RecvMsg(nil))
	require.Zero(t, c.Held(target))
	inner.err = asksToWait(codes.Unavailable, time.Hour)
	require.Error(t, s.RecvMsg(nil))
	require.NotZero(t, c.Held(target))
}

func TestKeySaysWhoWaitsForWhom(t *testing.T) {
	limit := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)))
	defer limit.Close()
	c := &grpclimit.Client{Limit: limit, Key: func(target, method string) string { return target + method }}
	cc := away(t)
	synctest.Test(t, func(t *testing.T) {
		unary := c.Unary()
		send := func(method string, answer error) error {
			return unary(t.Context(), method, nil, nil, cc, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return answer })
		}
		require.Error(t, send("/a/A", asksToWait(codes.Unavailable, 9*sec)))
		require.NoError(t, send("/a/B", nil))
		require.Equal(t, []time.Duration{9 * sec, 0}, []time.Duration{c.Held(target + "/a/A"), c.Held(target + "/a/B")})
		require.Equal(t, []int{0, 0, 1}, []int{limit.Tokens(target + "/a/A"), limit.Tokens(target + "/a/B"), limit.Tokens(target)})
	})
}

func TestAnAllowedRPCOfAClientAllocatesNothing(t *testing.T) {
	limit := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1_000_000_000).WithBurst(1_000_000_000)))
	defer limit.Close()
	cc, unary := away(t), (&grpclimit.Client{Limit: limit}).Unary()
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = unary(t.Context(), methodSay, nil, nil, cc, invoke) }))
}
