package grpclimit_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recovering answers panics of the interceptors behind it.
var recovering = []grpc.ServerOption{
	grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (_ any, err error) {
		defer recovered(&err)
		return h(ctx, req)
	}),
	grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
		defer recovered(&err)
		return h(srv, s)
	}),
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = status.Error(codes.Internal, "panic")
	}
}

// settling is a server that notes the codes that it settles by, and gives everything back.
func settling(t *testing.T, l *weir.Limiter) (s *grpclimit.Server, settled chan codes.Code) {
	settled = make(chan codes.Code, 100)
	return &grpclimit.Server{Layers: layersOf(l), Settle: func(c *grpclimit.Call, code codes.Code) int {
		if d, found := grpclimit.FromContext(c.Context); !found || !d.Allowed || l.Tokens() == l.Policy().MaxWithin(1) {
			t.Error("the context is not the handler's, or it is settled already")
		}
		settled <- code
		return 0
	}}, settled
}

func TestSettleIsToldTheCodeThatTheClientIsSent(t *testing.T) {
	for name, test := range map[string]struct {
		end  func() error
		want codes.Code
	}{
		"nothing":        {func() error { return nil }, codes.OK},
		"a status":       {func() error { return status.Error(codes.NotFound, "no") }, codes.NotFound},
		"a wrapped one":  {func() error { return errors.Join(status.Error(codes.NotFound, "no")) }, codes.NotFound},
		"another error":  {func() error { return errors.New("no") }, codes.Unknown},
		"a context's":    {func() error { return context.DeadlineExceeded }, codes.DeadlineExceeded},
		"a cancellation": {func() error { return context.Canceled }, codes.Canceled},
		"a panic":        {func() error { panic("no") }, codes.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			l := still(hourly(2, "all"))
			s, settled := settling(t, l)
			cc := dial(t, serve(t, &echo{
				say:    func(context.Context, string) (string, error) { return "", test.end() },
				stream: func(grpc.ServerStream) error { return test.end() },
			}, append(recovering, s.Options()...)...))
			ctx := within(t)
			_, err := say(ctx, cc, "")
			require.Equal(t, test.want, status.Code(err))
			require.Equal(t, test.want, <-settled)
			require.Equal(t, test.want, status.Code(outcome(open(t, ctx, cc, methodChat))))
			require.Equal(t, test.want, <-settled)
			require.Empty(t, settled)
			require.Equal(t, 2, l.Tokens())
		})
	}
}

func TestAStreamIsSettledOnceWhateverEndsIt(t *testing.T) {
	for name, end := range map[string]struct {
		end  func(cancel func(), s grpc.ClientStream) error
		want codes.Code
	}{
		"the client closes it":  {func(_ func(), s grpc.ClientStream) error { return s.CloseSend() }, codes.OK},
		"the client cancels it": {func(cancel func(), _ grpc.ClientStream) error { cancel(); return nil }, codes.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			l := still(hourly(1, "all"))
			s, settled := settling(t, l)
			cc := dial(t, serve(t, echoing, s.Options()...))
			ctx, cancel := context.WithCancel(within(t))
			defer cancel()
			stream := open(t, ctx, cc, methodChat)
			require.NoError(t, send(stream, "hello"))
			_, err := receive(stream)
			require.NoError(t, err)
			require.Zero(t, l.Tokens(), "while it runs, it counts")
			require.NoError(t, end.end(cancel, stream))
			require.Equal(t, end.want, <-settled)
			require.Equal(t, end.want, status.Code(outcome(stream)))
			require.Equal(t, weir.Stats{Allowed: 1}, l.Stats())
			require.Empty(t, settled)
		})
	}
}

func TestASettledRPCMayEndItsGoroutine(t *testing.T) {
	l := still(hourly(1, "all"))
	s, settled := settling(t, l)
	unary, done := s.Unary(), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = unary(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { runtime.Goexit(); return nil, nil })
	}()
	<-done
	require.Equal(t, codes.Internal, <-settled)
	require.Equal(t, 1, l.Tokens())
}

func TestOnlyFailedLoginsCount(t *testing.T) {
	l := still(hourly(2, "logins"))
	s := &grpclimit.Server{Layers: layersOf(l), Settle: func(_ *grpclimit.Call, code codes.Code) int {
		if code == codes.Unauthenticated {
			return 1
		}
		return 0
	}}
	passwords := make(chan string)
	cc := dial(t, serve(t, &echo{say: func(context.Context, string) (string, error) {
		if <-passwords != "right" {
			return "", status.Error(codes.Unauthenticated, "wrong")
		}
		return "", nil
	}}, s.Options()...))
	ctx := within(t)
	// together returns what so many logins at once are answered; those that are not denied wait for a password.
	together := func(n int, tried ...string) map[codes.Code]int {
		answers, told := make(chan codes.Code, n), map[codes.Code]int{}
		for range n {
			go func() {
				_, err := say(ctx, cc, "")
				answers <- status.Code(err)
			}()
		}
		for range n - len(tried) {
			told[<-answers]++
		}
		for _, password := range tried {
			passwords <- password
			told[<-answers]++
		}
		return told
	}
	require.Equal(t, map[codes.Code]int{codes.ResourceExhausted: 4, codes.OK: 2}, together(6, "right", "right"), "under way, they count as failed")
	for range 10 {
		require.Equal(t, map[codes.Code]int{codes.OK: 1}, together(1, "right"))
	}
	require.Equal(t, map[codes.Code]int{codes.ResourceExhausted: 4, codes.Unauthenticated: 1, codes.OK: 1}, together(6, "wrong", "right"))
	require.Equal(t, map[codes.Code]int{codes.ResourceExhausted: 4, codes.Unauthenticated: 1}, together(5, "wrong"))
	require.Equal(t, map[codes.Code]int{codes.ResourceExhausted: 5}, together(5))
}

func TestSettleChargesWhatItSays(t *testing.T) {
	l, actual := still(hourly(10, "all")), 0
	s := &grpclimit.Server{
		Layers: layersOf(l),
		Cost:   func(*grpclimit.Call) int { return 2 },
		Settle: func(c *grpclimit.Call, _ codes.Code) int {
			require.NotNil(t, c.Message)
			return actual
		},
	}
	cc, ctx := dial(t, serve(t, echoing, s.Options()...)), within(t)
	for _, step := range []struct{ actual, left int }{{2, 8}, {0, 8}, {-1, 8}, {1, 7}, {7, 0}} {
		actual = step.actual
		answer, err := say(ctx, cc, "hello")
		require.NoError(t, err)
		require.Equal(t, "hello", answer)
		require.Equal(t, step.left, l.Tokens(), "%v", step)
	}
}

func TestWhatIsDeniedIsNotSettled(t *testing.T) {
	var settled atomic.Int64
	s := &grpclimit.Server{Layers: layersOf(still(hourly(0, "closed"))), Settle: func(*grpclimit.Call, codes.Code) int {
		settled.Add(1)
		return 0
	}}
	cc, ctx := dial(t, serve(t, &echo{}, s.Options()...)), within(t)
	_, err := say(ctx, cc, "")
	requireDenied(t, err, "closed", 0)
	requireDenied(t, outcome(open(t, ctx, cc, methodChat)), "closed", 0)
	require.Zero(t, settled.Load())
}

func TestAPanicOfSettleLeavesWhatWasCharged(t *testing.T) {
	l := still(hourly(2, "all"))
	s := &grpclimit.Server{Layers: layersOf(l), Settle: func(*grpclimit.Call, codes.Code) int { panic("no") }}
	cc, ctx := dial(t, serve(t, echoing, append(recovering, s.Options()...)...)), within(t)
	_, err := say(ctx, cc, "")
	require.Equal(t, codes.Internal, status.Code(err))
	require.Equal(t, 1, l.Tokens())
}
