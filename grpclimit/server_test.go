package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestADeniedUnaryRPCIsToldExactlyWhenToComeBack(t *testing.T) {
	clock, served := weir.NewManualClock(), 0
	addr := serve(t, &echo{say: func(_ context.Context, s string) (string, error) { served++; return s, nil }},
		grpclimit.Limit(grpclimit.PerPeer(weir.TokenBucket(weir.Per(3, 10*time.Second).WithBurst(2)).Named("peer"), weir.WithClock(clock)))...)
	cc, ctx := dial(t, addr), within(t)
	for range 2 {
		answer, err := say(ctx, cc, "hello")
		require.NoError(t, err)
		require.Equal(t, "hello", answer)
	}
	// A third of 10 s, rounded up to eighths of a nanosecond and then to nanoseconds.
	const retry = 3_333_333_334
	_, err := say(ctx, cc, "hello")
	requireDenied(t, err, "peer", retry)
	require.EqualError(t, err, `rpc error: code = ResourceExhausted desc = the quota "peer" is used up; retry after 3.333333334s`)
	clock.Advance(retry - 1)
	_, err = say(ctx, cc, "hello")
	requireDenied(t, err, "peer", 1)
	require.Equal(t, 2, served)
	told, ok := grpclimit.RetryAfter(err)
	require.True(t, ok)
	clock.Advance(told)
	_, err = say(ctx, cc, "hello")
	require.NoError(t, err)
	require.Equal(t, 3, served)
}

func TestADeniedStreamDoesNotReachItsHandler(t *testing.T) {
	for method := range streamKinds {
		t.Run(method, func(t *testing.T) {
			served, l := 0, still(hourly(1, "all"))
			addr := serve(t, &echo{stream: func(grpc.ServerStream) error { served++; return nil }}, grpclimit.Limit(grpclimit.Global(l))...)
			cc, ctx := dial(t, addr), within(t)
			require.NoError(t, endless(outcome(open(t, ctx, cc, method))))
			requireDenied(t, outcome(open(t, ctx, cc, method)), "all", time.Hour)
			require.Equal(t, 1, served)
			require.Equal(t, weir.Stats{Allowed: 1, Denied: 1}, l.Stats())
		})
	}
}

// endless has no error for the stream that should have brought an answer, and has not: Collect's.
func endless(err error) error {
	if status.Code(err) == codes.Internal {
		return nil
	}
	return err
}

func TestWhatIsNeverAllowedHasNoRetryInfo(t *testing.T) {
	s := &grpclimit.Server{Layers: layersOf(still(hourly(3, "small"))), Cost: func(c *grpclimit.Call) int {
		return len(c.Message.(*wrapperspb.StringValue).Value)
	}}
	cc, ctx := dial(t, serve(t, echoing, s.Options()...)), within(t)
	_, err := say(ctx, cc, "four")
	requireDenied(t, err, "small", 0)
	require.ErrorContains(t, err, `more than the quota "small" ever allows`)
	_, err = say(ctx, cc, "333")
	require.NoError(t, err)
	_, err = say(ctx, cc, "")
	require.NoError(t, err, "what costs nothing is free")
}

func TestDeniedErrorTellsWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		d       weir.Decision
		text    string
		details int
	}{
		{weir.Decision{Policy: "a", RetryAfter: time.Second}, `the quota "a" is used up; retry after 1s`, 2},
		{weir.Decision{Policy: "a", RetryAfter: weir.Never - 1}, `the quota "a" is used up; retry after 2562047h47m16.854775806s`, 2},
		{weir.Decision{Policy: "a", RetryAfter: weir.Never}, `more than the quota "a" ever allows`, 1},
		{weir.Decision{RetryAfter: weir.Never}, "more than the quota ever allows", 0},
		{weir.Decision{}, "the quota is used up", 0},
		{weir.Decision{Policy: "\xff\n", RetryAfter: 1}, `the quota "\xff\n" is used up; retry after 1ns`, 2},
	} {
		s := status.Convert(grpclimit.DeniedError(test.d))
		require.Equal(t, codes.ResourceExhausted, s.Code())
		require.Equal(t, test.text, s.Message())
		require.Len(t, s.Details(), test.details, test.text)
		if told, ok := grpclimit.RetryAfter(s.Err()); ok {
			require.Equal(t, test.d.RetryAfter, told)
		}
	}
	for _, err := range []error{nil, io.EOF, status.Error(codes.Unavailable, "")} {
		told, ok := grpclimit.RetryAfter(err)
		require.False(t, ok)
		require.Zero(t, told)
	}
}

func TestSixteenConnectionsAreAdmittedWhatTheLimitsAllow(t *testing.T) {
	policy := weir.TokenBucket(weir.PerSecond(500).WithBurst(100))
	all := weir.New(policy)
	var served atomic.Uint64
	addr := serve(t, &echo{
		say:    func(_ context.Context, s string) (string, error) { served.Add(1); return s, nil },
		stream: func(s grpc.ServerStream) error { served.Add(1); return echoing.stream(s) },
	}, grpclimit.Limit(grpclimit.Global(all))...)
	var conns []*grpc.ClientConn
	for range 16 {
		conns = append(conns, dial(t, addr))
	}

	ctx := within(t)
	var allowed, denied atomic.Uint64
	var clients sync.WaitGroup
	began := time.Now()
	for _, cc := range conns {
		clients.Go(func() {
			for i := range 40 {
				var err error
				if i%2 == 0 {
					_, err = say(ctx, cc, "hello")
				} else {
					err = chatOnce(ctx, cc)
				}
				switch status.Code(err) {
				case codes.OK:
					allowed.Add(1)
				case codes.ResourceExhausted:
					denied.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	require.LessOrEqual(t, allowed.Load(), uint64(policy.MaxWithin(time.Since(began)+1)))
	require.GreaterOrEqual(t, allowed.Load(), uint64(100))
	require.Equal(t, allowed.Load(), served.Load())
	require.Equal(t, weir.Stats{Allowed: allowed.Load(), Denied: denied.Load()}, all.Stats())
	require.Equal(t, uint64(16*40), allowed.Load()+denied.Load())
}

// chatOnce has one message go forth and back on a stream.
func chatOnce(ctx context.Context, cc *grpc.ClientConn) error {
	s, err := cc.NewStream(ctx, &chat, methodChat)
	if err != nil {
		return err
	}
	if err := send(s, "hello"); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	return outcome(s)
}

func TestALayerInShadowLetsThrough(t *testing.T) {
	shadow := weir.New(hourly(1, "tried"), weir.WithShadow(), weir.WithClock(weir.NewManualClock()))
	var told []weir.Decision
	addr := serve(t, &echo{say: func(ctx context.Context, s string) (string, error) {
		d, _ := grpclimit.FromContext(ctx)
		told = append(told, d)
		return s, nil
	}}, grpclimit.Limit(grpclimit.Global(shadow))...)
	cc, ctx := dial(t, addr), within(t)
	for range 3 {
		_, err := say(ctx, cc, "hello")
		require.NoError(t, err)
	}
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 2, Shadowed: 2}, shadow.Stats())
	require.Equal(t, []bool{false, true, true}, []bool{told[0].Shadowed, told[1].Shadowed, told[2].Shadowed})
}

// Two servers in a chain, and one of their methods around.
func TestTheInnermostDecisionIsInTheContext(t *testing.T) {
	outer, inner := still(hourly(5, "outer")), still(hourly(3, "inner"))
	look := func(ctx context.Context) {
		d, ok := grpclimit.FromContext(ctx)
		require.True(t, ok)
		require.Equal(t, "inner", d.Policy)
		require.NotContains(t, fmt.Sprint(ctx), "secret")
		require.Contains(t, fmt.Sprint(ctx), ".WithDecision")
		derived, cancel := context.WithCancel(context.WithValue(ctx, t, t))
		defer cancel()
		again, _ := grpclimit.FromContext(derived)
		require.Equal(t, d, again)
	}
	opts := append(grpclimit.Limit(grpclimit.Global(outer)), grpclimit.Limit(grpclimit.Global(inner))...)
	cc := dial(t, serve(t, &echo{
		say:    func(ctx context.Context, s string) (string, error) { look(ctx); return s, grpc.SetHeader(ctx, nil) },
		stream: func(s grpc.ServerStream) error { look(s.Context()); return echoing.stream(s) },
	}, opts...))
	ctx := within(t)
	_, err := say(ctx, cc, "secret")
	require.NoError(t, err)
	require.NoError(t, chatOnce(ctx, cc))
	require.Equal(t, []int{3, 1}, []int{outer.Tokens(), inner.Tokens()})
	_, ok := grpclimit.FromContext(ctx)
	require.False(t, ok)
}

func TestDeniedMakesAnotherError(t *testing.T) {
	s := &grpclimit.Server{Layers: layersOf(still(hourly(0, "closed")))}
	var custom error = status.Error(codes.Aborted, "later")
	s.Denied = func(c *grpclimit.Call, d weir.Decision) error {
		require.Equal(t, "closed", d.Policy)
		return custom
	}
	cc, ctx := dial(t, serve(t, &echo{}, s.Options()...)), within(t)
	_, err := say(ctx, cc, "hello")
	require.Equal(t, codes.Aborted, status.Code(err))
	require.Equal(t, codes.Aborted, status.Code(outcome(open(t, ctx, cc, methodChat))))
	custom = nil
	_, err = say(ctx, cc, "hello")
	requireDenied(t, err, "closed", 0)
}

func TestBadSetUpPanicsWhenTheInterceptorIsMade(t *testing.T) {
	layers := layersOf()
	wait := func(context.Context, *grpclimit.Call, int) error { return nil }
	one := func(any) int { return 1 }
	for _, test := range []struct {
		server *grpclimit.Server
		text   string
	}{
		{&grpclimit.Server{}, "grpclimit: Server.Layers is nil: make them with weir.NewLayers"},
		{&grpclimit.Server{Layers: layers, Receive: grpclimit.Messages{Layers: layers, Wait: wait}},
			"grpclimit: Server.Receive has Layers, which deny, and Wait: set one of them"},
		{&grpclimit.Server{Layers: layers, Send: grpclimit.Messages{Cost: one}},
			"grpclimit: Server.Send has a Cost and neither Layers nor Wait: nothing would take it"},
	} {
		s := test.server
		require.PanicsWithValue(t, test.text, func() { s.Unary() })
		require.PanicsWithValue(t, test.text, func() { s.Stream() })
		require.PanicsWithValue(t, test.text, func() { s.Options() })
	}
	require.Panics(t, func() { grpclimit.WaitFor[string](nil, grpclimit.Method) })
	require.Panics(t, func() { grpclimit.WaitFor[string](weir.NewPerClient[string](hourly(1, "a")), nil) })
	for _, name := range []string{"", ":", "a b", "ä", "a:b", "x\n", "a/", "a{", "a`", "a,", "[a]"} {
		require.Panics(t, func() { grpclimit.Metadata(name) }, name)
	}
	for _, name := range []string{"x-api-key", "X-Api-Key", ":authority", "trace_1.x-bin", "az09"} {
		require.NotPanics(t, func() { grpclimit.Metadata(name) }, name)
	}
}

// A retry of a service config is another RPC to the server: each is decided about.
func TestEachAttemptOfARetryIsDecidedAbout(t *testing.T) {
	l := still(hourly(1, "all"))
	cc := dial(t, serve(t, echoing, grpclimit.Limit(grpclimit.Global(l))...), grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{"service": "weir.test.Echo"}],
		"retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
			"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}
	}]}`))
	ctx := within(t)
	_, err := say(ctx, cc, "hello")
	require.NoError(t, err)
	_, err = say(ctx, cc, "hello")
	requireDenied(t, err, "all", time.Hour)
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 3}, l.Stats())
}

func TestAMethodThatDoesNotExistTakesNothing(t *testing.T) {
	l := still(hourly(1, "all"))
	cc, ctx := dial(t, serve(t, echoing, grpclimit.Limit(grpclimit.Global(l))...)), within(t)
	err := cc.Invoke(ctx, "/weir.test.Echo/Shout", wrapperspb.String(""), new(wrapperspb.StringValue))
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.Zero(t, l.Stats())
}
