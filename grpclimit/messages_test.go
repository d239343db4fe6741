package grpclimit_test

import (
	"context"
	"errors"
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
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// messagesOnly is a server that limits nothing but messages.
func messagesOnly(receive, send grpclimit.Messages) *grpclimit.Server {
	return &grpclimit.Server{Layers: layersOf(), Receive: receive, Send: send}
}

func TestAReceivedMessageThatIsDeniedEndsTheStream(t *testing.T) {
	l, settled := still(hourly(3, "messages")), make(chan codes.Code, 1)
	s := messagesOnly(grpclimit.Messages{Layers: layersOf(l)}, grpclimit.Messages{})
	s.Settle = func(_ *grpclimit.Call, code codes.Code) int { settled <- code; return 0 }
	var got []string
	cc := dial(t, serve(t, &echo{stream: func(s grpc.ServerStream) error {
		for {
			m, err := receive(s)
			if err == nil {
				got = append(got, m)
				continue
			}
			requireDenied(t, err, "messages", 20*time.Minute)
			<-s.Context().Done()
			require.ErrorIs(t, s.Context().Err(), context.Canceled)
			require.ErrorIs(t, context.Cause(s.Context()), err)
			require.ErrorContains(t, context.Cause(s.Context()), "grpclimit: the stream has ended: ")
			require.Equal(t, err, second(receive(s)), "nothing more is received")
			require.Equal(t, err, send(s, "sorry"), "nor sent")
			return nil // whatever the handler returns
		}
	}}, s.Options()...))
	for method, desc := range map[string]*grpc.StreamDesc{methodCollect: &collect, methodChat: &chat} {
		l.Reset()
		got = nil
		stream, err := cc.NewStream(within(t), desc, method)
		require.NoError(t, err)
		for _, m := range []string{"1", "2", "3", "4", "5"} {
			if err := send(stream, m); err != nil {
				require.ErrorIs(t, err, io.EOF)
			}
		}
		requireDenied(t, outcome(stream), "messages", 20*time.Minute)
		require.Equal(t, codes.ResourceExhausted, <-settled)
		require.Equal(t, []string{"1", "2", "3"}, got)
	}
	require.Equal(t, weir.Stats{Allowed: 6, Denied: 2}, l.Stats())
}

func TestASentMessageThatIsDeniedEndsTheStream(t *testing.T) {
	l := still(hourly(2, "messages"))
	cc := dial(t, serve(t, &echo{stream: func(s grpc.ServerStream) error {
		for {
			if err := send(s, "hello"); err != nil {
				return errors.New("another")
			}
		}
	}}, messagesOnly(grpclimit.Messages{}, grpclimit.Messages{Layers: layersOf(l)}).Options()...))
	stream := open(t, within(t), cc, methodCount)
	for range 2 {
		_, err := receive(stream)
		require.NoError(t, err)
	}
	requireDenied(t, outcome(stream), "messages", 30*time.Minute)
	require.Equal(t, weir.Stats{Allowed: 2, Denied: 1}, l.Stats())
}

func TestAMessageCostsWhatItIs(t *testing.T) {
	bytes := still(hourly(10, "bytes"))
	layers := weir.NewLayers(grpclimit.Global(bytes), grpclimit.Global(still(hourly(2, "b"))).WithCost(func(c *grpclimit.Call) int {
		if c.Message.(*wrapperspb.StringValue).Value[0] == 'b' {
			return 1
		}
		return 0
	}))
	cc := dial(t, serve(t, echoing, messagesOnly(grpclimit.Messages{Layers: layers, Cost: func(m any) int { return proto.Size(m.(proto.Message)) - 2 }}, grpclimit.Messages{}).Options()...))
	ctx := within(t)
	tell := func(messages ...string) error {
		stream := open(t, ctx, cc, methodChat)
		for _, m := range messages {
			require.NoError(t, send(stream, m))
			if _, err := receive(stream); err != nil {
				return err
			}
		}
		require.NoError(t, stream.CloseSend())
		return outcome(stream)
	}
	require.NoError(t, tell("a", "aa", "b", "b"))
	require.Equal(t, 5, bytes.Tokens())
	requireDenied(t, tell("b"), "b", 30*time.Minute)
	require.Equal(t, 5, bytes.Tokens())
	requireDenied(t, tell("aaaaaa"), "bytes", 6*time.Minute)
	requireDenied(t, tell("aaaaaaaaaaa"), "bytes", 0)
	require.NoError(t, tell("aaaaa"))
	require.Zero(t, bytes.Tokens())
}

func TestReceivedMessagesWaitTheirTurn(t *testing.T) {
	clock := weir.NewManualClock()
	l := weir.New(weir.TokenBucket(weir.PerSecond(1).WithBurst(2)), weir.WithClock(clock))
	got := make(chan string, 10)
	cc := dial(t, serve(t, &echo{stream: func(s grpc.ServerStream) error {
		for {
			m, err := receive(s)
			if err != nil {
				return nil
			}
			got <- m
		}
	}}, messagesOnly(grpclimit.Messages{Wait: func(ctx context.Context, _ *grpclimit.Call, n int) error { return l.WaitN(ctx, n) }}, grpclimit.Messages{}).Options()...))
	stream := open(t, within(t), cc, methodChat)
	for _, m := range []string{"1", "2", "3", "4"} {
		require.NoError(t, send(stream, m))
	}
	require.NoError(t, stream.CloseSend())
	require.Equal(t, "12", <-got+<-got)
	for _, want := range []string{"3", "4"} {
		clock.BlockUntil(1)
		clock.Advance(time.Second - 1)
		require.Empty(t, got)
		clock.Advance(1)
		require.Equal(t, want, <-got)
	}
	require.NoError(t, outcome(stream))
	require.Equal(t, weir.Stats{Allowed: 4}, l.Stats())
}

func TestSentMessagesWaitTheirTurnByClient(t *testing.T) {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock))
	s := messagesOnly(grpclimit.Messages{}, grpclimit.Messages{Wait: grpclimit.WaitFor(clients, grpclimit.Metadata("x-api-key"))})
	cc := dial(t, serve(t, &echo{stream: func(s grpc.ServerStream) error {
		for range 3 {
			if err := send(s, "hello"); err != nil {
				return err
			}
		}
		return nil
	}}, s.Options()...))
	free := open(t, within(t), cc, methodCount)
	require.NoError(t, outcome(free), "to whom the layer does not apply")
	ann := open(t, outgoing(within(t), "x-api-key", "ann"), cc, methodCount)
	bob := open(t, outgoing(within(t), "x-api-key", "bob"), cc, methodCount)
	for i := range 3 {
		if i > 0 {
			clock.BlockUntil(2)
			clock.Advance(time.Second)
		}
		require.NoError(t, second(receive(ann)))
		require.NoError(t, second(receive(bob)))
	}
	require.NoError(t, outcome(ann))
	require.NoError(t, outcome(bob))
	require.Equal(t, uint64(6), clients.Stats().Allowed)
}

func TestAWaitThatIsCancelledGivesBackWhatWasReserved(t *testing.T) {
	clock := weir.NewManualClock()
	clients := weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(1)), weir.WithClock(clock))
	codesOf := make(chan codes.Code, 1)
	s := messagesOnly(grpclimit.Messages{Wait: grpclimit.WaitFor(clients, grpclimit.Method)}, grpclimit.Messages{})
	s.Settle = func(_ *grpclimit.Call, code codes.Code) int { codesOf <- code; return 0 }
	cc := dial(t, serve(t, echoing, s.Options()...))
	ctx, cancel := context.WithCancel(within(t))
	stream := open(t, ctx, cc, methodChat)
	require.NoError(t, send(stream, "1"))
	require.NoError(t, second(receive(stream)))
	require.NoError(t, send(stream, "2"))
	clock.BlockUntil(1)
	require.Equal(t, 1, clients.Stats().Waiting)
	cancel()
	require.Equal(t, codes.Canceled, <-codesOf)
	require.Zero(t, clients.Stats().Waiting)
	require.Equal(t, time.Second, clients.Peek(methodChat, 1).RetryAfter, "no debt is left but that of the first")
}

func TestAWaitThatIsOfNoUseFailsAtOnce(t *testing.T) {
	hour := weir.PerHour(1)
	for name, test := range map[string]struct {
		policy weir.Policy
		cost   int
		code   codes.Code
		text   string
	}{
		"past the deadline": {weir.TokenBucket(hour), 1, codes.DeadlineExceeded, "the message's turn would come after the deadline"},
		"never":             {weir.TokenBucket(hour), 2, codes.ResourceExhausted, "more than the quota ever allows"},
		"negative":          {weir.TokenBucket(hour), -1, codes.ResourceExhausted, "more than the quota ever allows"},
		"no place to wait":  {weir.LeakyBucket(hour, 0), 1, codes.ResourceExhausted, "the quota is used up"},
	} {
		t.Run(name, func(t *testing.T) {
			clients := weir.NewPerClient[string](test.policy)
			defer clients.Close()
			require.True(t, clients.Allow(methodChat))
			cost := func(any) int { return test.cost }
			s := messagesOnly(grpclimit.Messages{Wait: grpclimit.WaitFor(clients, grpclimit.Method), Cost: cost}, grpclimit.Messages{})
			s.Error = func(_ *grpclimit.Call, err error) error { t.Error(err); return err }
			cc := dial(t, serve(t, &echo{stream: func(s grpc.ServerStream) error {
				_, err := receive(s)
				return err
			}}, s.Options()...))
			stream := open(t, within(t), cc, methodChat)
			require.NoError(t, send(stream, "hello"))
			err := outcome(stream)
			require.Equal(t, test.code, status.Code(err))
			require.ErrorContains(t, err, test.text)
			require.Equal(t, []any{uint64(1), 0}, []any{clients.Stats().Allowed, clients.Stats().Waiting})
		})
	}
}

func TestAMessageThatCannotBeDecidedAbout(t *testing.T) {
	lost := errors.New("lost")
	far := weir.NewLayers(farLayer(func(context.Context, int) (weir.Decision, error) { return weir.Decision{}, lost }, func(int) error { return nil }))
	wait := func(context.Context, *grpclimit.Call, int) error { return lost }
	for name, limits := range map[string]grpclimit.Messages{"Layers": {Layers: far}, "Wait": {Wait: wait}} {
		t.Run(name, func(t *testing.T) {
			cc, ctx := dial(t, serve(t, echoing, messagesOnly(limits, grpclimit.Messages{}).Options()...)), within(t)
			require.Equal(t, codes.Unavailable, status.Code(chatOnce(ctx, cc)))

			pass := messagesOnly(limits, grpclimit.Messages{})
			pass.Error = func(c *grpclimit.Call, err error) error {
				require.ErrorIs(t, err, lost)
				require.NotNil(t, c.Message)
				return nil
			}
			require.NoError(t, chatOnce(ctx, dial(t, serve(t, echoing, pass.Options()...))))
		})
	}
}

// One goroutine sends while another one receives, on each of many streams.
func TestMessagesAreCountedOnceInBothDirections(t *testing.T) {
	clock := weir.WithClock(weir.NewManualClock())
	in, out := weir.New(hourly(1000, "in"), clock), weir.New(hourly(1500, "out"), clock)
	var received, sent atomic.Uint64
	addr := serve(t, &echo{stream: func(s grpc.ServerStream) error {
		var both sync.WaitGroup
		both.Go(func() {
			for second(receive(s)) == nil {
				received.Add(1)
			}
		})
		both.Go(func() {
			for range 200 {
				if send(s, "hello") == nil {
					sent.Add(1)
				}
			}
		})
		both.Wait()
		return nil
	}}, messagesOnly(grpclimit.Messages{Layers: layersOf(in)}, grpclimit.Messages{Layers: layersOf(out)}).Options()...)
	var clients sync.WaitGroup
	var denied atomic.Uint64
	for range 16 {
		cc := dial(t, addr)
		stream := open(t, within(t), cc, methodChat)
		clients.Go(func() {
			for range 100 {
				if send(stream, "hello") != nil {
					break
				}
			}
			_ = stream.CloseSend()
			if err := outcome(stream); err != nil {
				if status.Code(err) != codes.ResourceExhausted {
					t.Error(err)
				}
				denied.Add(1)
			}
		})
	}
	clients.Wait()
	require.Equal(t, received.Load(), in.Stats().Allowed)
	require.Equal(t, sent.Load(), out.Stats().Allowed)
	require.LessOrEqual(t, sent.Load(), uint64(1500))
	require.LessOrEqual(t, received.Load(), uint64(1000))
	require.NotZero(t, denied.Load())
	require.LessOrEqual(t, in.Stats().Denied+out.Stats().Denied, 2*denied.Load(), "of a stream one in each direction")
}

func TestAnErrorOfTheStreamIsNotCounted(t *testing.T) {
	l, broken := still(hourly(5, "messages")), errors.New("broken")
	limits := grpclimit.Messages{Layers: layersOf(l)}
	ss := &fakeStream{ctx: t.Context(), receive: func(any) error { return broken }, send: func(any) error { return broken }}
	err := messagesOnly(limits, limits).Stream()(nil, ss, &grpc.StreamServerInfo{}, func(_ any, s grpc.ServerStream) error {
		require.Equal(t, broken, second(receive(s)))
		require.Zero(t, l.Stats())
		require.Equal(t, broken, send(s, "hello"))
		require.Equal(t, uint64(1), l.Stats().Allowed, "it had passed")
		return broken
	})
	require.Equal(t, broken, err)
}

// A chain of two, of which the outer one ends the stream.
func TestEachServerOfAChainLimitsMessages(t *testing.T) {
	outer, inner := still(hourly(2, "outer")), still(hourly(9, "inner"))
	limitedBy := func(l *weir.Limiter) []grpc.ServerOption {
		return messagesOnly(grpclimit.Messages{Layers: layersOf(l)}, grpclimit.Messages{}).Options()
	}
	opts := append(limitedBy(outer), limitedBy(inner)...)
	cc := dial(t, serve(t, &echo{stream: func(s grpc.ServerStream) error {
		for {
			if _, err := receive(s); err != nil {
				require.Equal(t, err, send(s, "sorry"))
				return nil
			}
		}
	}}, opts...))
	stream := open(t, within(t), cc, methodChat)
	for range 3 {
		require.NoError(t, send(stream, "hello"))
	}
	requireDenied(t, outcome(stream), "outer", 30*time.Minute)
	require.Equal(t, []uint64{2, 2}, []uint64{outer.Stats().Allowed, inner.Stats().Allowed})
}

// Nothing passes in either direction once the stream has ended, nor is it asked for.
func TestAnEndedStreamIsNotReadAndTakesNothing(t *testing.T) {
	in, out, read := still(hourly(1, "in")), still(hourly(9, "out")), 0
	ss := &fakeStream{ctx: t.Context(), receive: func(any) error { read++; return nil }, send: func(any) error { return nil }}
	var ctx context.Context
	err := messagesOnly(grpclimit.Messages{Layers: layersOf(in)}, grpclimit.Messages{Layers: layersOf(out)}).Stream()(nil, ss, &grpc.StreamServerInfo{},
		func(_ any, s grpc.ServerStream) error {
			ctx = s.Context()
			require.NoError(t, second(receive(s)))
			require.NoError(t, send(s, "hello"))
			denied := second(receive(s))
			requireDenied(t, denied, "in", time.Hour)
			for range 3 {
				require.Equal(t, denied, second(receive(s)))
				require.Equal(t, denied, send(s, "hello"))
			}
			return nil
		})
	requireDenied(t, err, "in", time.Hour)
	require.Equal(t, 2, read)
	require.Equal(t, weir.Stats{Allowed: 1, Denied: 1}, in.Stats())
	require.Equal(t, weir.Stats{Allowed: 1}, out.Stats())
	require.Error(t, ctx.Err())
}

func TestTheContextOfAStreamIsDoneWithIt(t *testing.T) {
	var ctx context.Context
	ss := &fakeStream{ctx: t.Context()}
	require.NoError(t, messagesOnly(grpclimit.Messages{Layers: layersOf()}, grpclimit.Messages{}).Stream()(nil, ss, &grpc.StreamServerInfo{},
		func(_ any, s grpc.ServerStream) error { ctx = s.Context(); return ctx.Err() }))
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}

// A timeout of whatever waits is not the stream's, which has no deadline.
func TestTheErrorsOfAWait(t *testing.T) {
	ss := &fakeStream{ctx: t.Context(), receive: func(any) error { return nil }}
	for err, code := range map[error]codes.Code{
		weir.ErrTooLong: codes.ResourceExhausted, context.DeadlineExceeded: codes.Unavailable, context.Canceled: codes.Unavailable,
	} {
		wait := func(context.Context, *grpclimit.Call, int) error { return err }
		require.Equal(t, code, status.Code(messagesOnly(grpclimit.Messages{Wait: wait}, grpclimit.Messages{}).Stream()(nil, ss, &grpc.StreamServerInfo{},
			func(_ any, s grpc.ServerStream) error { return second(receive(s)) })), err)
	}
}
