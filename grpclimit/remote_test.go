package grpclimit_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type takeFunc = func(context.Context, int) (weir.Decision, error)

// farLayer is one that is decided elsewhere: by take.
func farLayer(take takeFunc, refund func(int) error) weir.Layer[*grpclimit.Call] {
	ask := func(ctx context.Context, _ netip.Prefix, n int) (weir.Decision, error) { return take(ctx, n) }
	return weir.ByRemote(weir.Remote[netip.Prefix]{
		Take: ask, Peek: ask, Refund: func(_ context.Context, _ netip.Prefix, n int) error { return refund(n) },
	}, grpclimit.Peer)
}

func TestARemoteLayerIsOneLikeAnyOther(t *testing.T) {
	near, far := still(hourly(9, "near")), still(hourly(2, "far"))
	s := &grpclimit.Server{
		Layers: weir.NewLayers(grpclimit.Global(near), farLayer(
			func(_ context.Context, n int) (weir.Decision, error) { return far.Take(n), nil },
			func(n int) error { far.Refund(n); return nil })),
		Settle: func(_ *grpclimit.Call, code codes.Code) int {
			if code == codes.OK {
				return 0
			}
			return 1
		},
	}
	cc := dial(t, serve(t, &echo{say: func(_ context.Context, s string) (string, error) {
		return s, status.Error(codes.Code(len(s)), s)
	}}, s.Options()...))
	ctx := within(t)
	for _, answer := range []string{"", "", "", "1", "2"} {
		_, err := say(ctx, cc, answer)
		require.Equal(t, codes.Code(len(answer)), status.Code(err))
	}
	_, err := say(ctx, cc, "")
	requireDenied(t, err, "far", far.Peek(1).RetryAfter)
	require.Equal(t, []int{7, 0}, []int{near.Tokens(), far.Tokens()})
}

func TestAnErrorIsNoDenial(t *testing.T) {
	lost, near := errors.New("10.0.0.7:6379 does not answer"), still(hourly(5, "near"))
	for name, settle := range map[string]func(*grpclimit.Call, codes.Code) int{
		"taken": nil, "held": func(*grpclimit.Call, codes.Code) int { t.Error("nothing is to be settled"); return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			s := &grpclimit.Server{Settle: settle, Layers: weir.NewLayers(grpclimit.Global(near), farLayer(
				func(context.Context, int) (weir.Decision, error) { return weir.Decision{}, lost }, func(int) error { return nil }))}
			cc, ctx := dial(t, serve(t, echoing, s.Options()...)), within(t)
			for _, err := range []error{second(say(ctx, cc, "")), outcome(open(t, ctx, cc, methodChat))} {
				require.Equal(t, codes.Unavailable, status.Code(err))
				require.NotContains(t, err.Error(), "10.0.0.7")
			}

			pass := &grpclimit.Server{Settle: settle, Layers: s.Layers, Error: func(c *grpclimit.Call, err error) error {
				require.ErrorIs(t, err, lost)
				if c.FullMethod == methodCount {
					return status.Error(codes.Aborted, "lost")
				}
				return nil
			}}
			cc = dial(t, serve(t, &echo{
				say: func(ctx context.Context, s string) (string, error) {
					_, decided := grpclimit.FromContext(ctx)
					require.False(t, decided)
					return s, nil
				},
				stream: echoing.stream,
			}, pass.Options()...))
			_, err := say(ctx, cc, "")
			require.NoError(t, err)
			require.NoError(t, chatOnce(ctx, cc))
			require.Equal(t, codes.Aborted, status.Code(outcome(open(t, ctx, cc, methodCount))))
			require.Equal(t, 5, near.Tokens(), "what the layers before it took is given back")
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestAnRPCWhoseClientHasGoneIsNotDecidedAbout(t *testing.T) {
	l := still(hourly(5, "all"))
	unary := (&grpclimit.Server{Layers: layersOf(l)}).Unary()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	for ctx, code := range map[context.Context]codes.Code{gone: codes.Canceled, late: codes.DeadlineExceeded} {
		_, err := unary(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { t.Error("served"); return nil, nil })
		require.Equal(t, code, status.Code(err))
	}
	require.Zero(t, l.Stats())
}

// A store's own timeout is not the RPC's.
func TestAStoreThatIsSlowIsUnavailable(t *testing.T) {
	s := &grpclimit.Server{Layers: weir.NewLayers(farLayer(
		func(context.Context, int) (weir.Decision, error) { return weir.Decision{}, context.DeadlineExceeded }, func(int) error { return nil }))}
	_, err := say(within(t), dial(t, serve(t, echoing, s.Options()...)), "")
	require.Equal(t, codes.Unavailable, status.Code(err))
}

func TestWhatCannotBeSettledIsLogged(t *testing.T) {
	var b strings.Builder
	s := &grpclimit.Server{
		Logger: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
		Layers: weir.NewLayers(farLayer(func(context.Context, int) (weir.Decision, error) { return weir.Decision{Allowed: true}, nil },
			func(int) error { return errors.New("gone") })),
		Settle: func(*grpclimit.Call, codes.Code) int { return 0 },
	}
	unary := s.Unary()
	for range 20 { // of which ten are told
		_, err := unary(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { return nil, nil })
		require.NoError(t, err)
	}
	record := "level=ERROR msg=\"RPC not settled\" error=gone\n"
	require.True(t, strings.HasPrefix(b.String(), strings.Repeat(record, 10)), b.String())
	require.Less(t, strings.Count(b.String(), record), 20)
}

func TestARemoteLayerIsSettledThoughTheClientHasGone(t *testing.T) {
	far, given := still(hourly(1, "far")), 0
	take := func(_ context.Context, _ netip.Prefix, n int) (weir.Decision, error) { return far.Take(n), nil }
	s := &grpclimit.Server{
		Layers: weir.NewLayers(weir.ByRemote(weir.Remote[netip.Prefix]{Take: take, Peek: take, Refund: func(ctx context.Context, _ netip.Prefix, n int) error {
			given += n
			return ctx.Err()
		}}, grpclimit.Peer)),
		Settle: func(*grpclimit.Call, codes.Code) int { return 0 },
		Logger: slog.New(slog.NewTextHandler(failing{t}, nil)),
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Unary()(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { cancel(); return nil, ctx.Err() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, given)
}

// failing is for a log that nothing should be written to.
type failing struct{ t *testing.T }

func (f failing) Write(b []byte) (int, error) {
	f.t.Errorf("%s", b)
	return len(b), nil
}

func TestWhatCannotBeSettledWithoutALoggerIsLeft(t *testing.T) {
	s := &grpclimit.Server{
		Layers: weir.NewLayers(farLayer(func(context.Context, int) (weir.Decision, error) { return weir.Decision{Allowed: true}, nil },
			func(int) error { return errors.New("gone") })),
		Settle: func(*grpclimit.Call, codes.Code) int { return 0 },
	}
	_, err := s.Unary()(t.Context(), nil, &grpc.UnaryServerInfo{}, handled)
	require.NoError(t, err)
}
