package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// An echo is a service of strings: a unary method, and streams of each kind.
type echo struct {
	say    func(context.Context, string) (string, error)
	stream func(grpc.ServerStream) error
}

const (
	methodSay     = "/weir.test.Echo/Say"
	methodCollect = "/weir.test.Echo/Collect"
	methodCount   = "/weir.test.Echo/Count"
	methodChat    = "/weir.test.Echo/Chat"
)

var (
	collect = grpc.StreamDesc{StreamName: "Collect", Handler: streamed, ClientStreams: true}
	count   = grpc.StreamDesc{StreamName: "Count", Handler: streamed, ServerStreams: true}
	chat    = grpc.StreamDesc{StreamName: "Chat", Handler: streamed, ClientStreams: true, ServerStreams: true}
)

var streamKinds = map[string]*grpc.StreamDesc{methodCollect: &collect, methodCount: &count, methodChat: &chat}

var echoService = grpc.ServiceDesc{
	ServiceName: "weir.test.Echo",
	HandlerType: (*any)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Say", Handler: said}},
	Streams:     []grpc.StreamDesc{collect, count, chat},
}

func said(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.StringValue)
	if err := decode(in); err != nil {
		return nil, err
	}
	handle := func(ctx context.Context, req any) (any, error) {
		answer, err := srv.(*echo).say(ctx, req.(*wrapperspb.StringValue).Value)
		return wrapperspb.String(answer), err
	}
	if interceptor == nil {
		return handle(ctx, in)
	}
	return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: methodSay}, handle)
}

func streamed(srv any, s grpc.ServerStream) error { return srv.(*echo).stream(s) }

// echoing answers what it is told.
var echoing = &echo{
	say: func(_ context.Context, s string) (string, error) { return s, nil },
	stream: func(s grpc.ServerStream) error {
		for {
			m, err := receive(s)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = s.SendMsg(wrapperspb.String(m))
			}
			if err != nil {
				return err
			}
		}
	},
}

// serve serves on loopback until the test ends, and returns the address.
func serve(t testing.TB, e *echo, opts ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, l, e, opts...)
	return l.Addr().String()
}

func serveOn(t testing.TB, l net.Listener, e *echo, opts ...grpc.ServerOption) {
	t.Helper()
	server := grpc.NewServer(append(opts, grpc.WaitForHandlers(true))...)
	server.RegisterService(&echoService, e)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop() // which waits for the handlers
		require.NoError(t, <-done)
	})
}

// dial returns a client of an address, which is closed before its server is stopped.
func dial(t testing.TB, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient(target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { cc.Close() })
	return cc
}

// within is the test's context with a guard against hanging.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func say(ctx context.Context, cc grpc.ClientConnInterface, s string, opts ...grpc.CallOption) (string, error) {
	out := new(wrapperspb.StringValue)
	err := cc.Invoke(ctx, methodSay, wrapperspb.String(s), out, opts...)
	return out.Value, err
}

func open(t testing.TB, ctx context.Context, cc grpc.ClientConnInterface, method string) grpc.ClientStream {
	t.Helper()
	s, err := cc.NewStream(ctx, streamKinds[method], method)
	require.NoError(t, err)
	return s
}

// receive receives from either side.
func receive(s interface{ RecvMsg(any) error }) (string, error) {
	m := new(wrapperspb.StringValue)
	err := s.RecvMsg(m)
	return m.Value, err
}

func send(s interface{ SendMsg(any) error }, m string) error { return s.SendMsg(wrapperspb.String(m)) }

// outcome sends nothing and returns what a stream ends with, OK for EOF.
func outcome(s grpc.ClientStream) error {
	for {
		switch _, err := receive(s); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// still is a limiter whose time stands still.
func still(p weir.Policy) *weir.Limiter { return weir.New(p, weir.WithClock(weir.NewManualClock())) }

func hourly(n int, name string) weir.Policy { return weir.TokenBucket(weir.PerHour(n)).Named(name) }

func layersOf(limiters ...*weir.Limiter) *weir.Layers[*grpclimit.Call] {
	var layers []weir.Layer[*grpclimit.Call]
	for _, l := range limiters {
		layers = append(layers, grpclimit.Global(l))
	}
	return weir.NewLayers(layers...)
}

// requireDenied looks at the error of a client.
func requireDenied(t testing.TB, err error, policy string, retry time.Duration) {
	t.Helper()
	require.Error(t, err)
	s, ok := status.FromError(err)
	require.True(t, ok)
	require.Equal(t, codes.ResourceExhausted, s.Code(), s.Message())
	told := time.Duration(0)
	var violations []*errdetails.QuotaFailure_Violation
	for _, detail := range s.Details() {
		switch detail := detail.(type) {
		case *errdetails.RetryInfo:
			require.Zero(t, told)
			told = detail.RetryDelay.AsDuration()
		case *errdetails.QuotaFailure:
			violations = append(violations, detail.Violations...)
		default:
			require.Fail(t, "another detail", "%T", detail)
		}
	}
	require.Equal(t, retry, told)
	require.Len(t, violations, 1)
	require.Equal(t, policy, violations[0].Subject)
	require.Contains(t, violations[0].Description, policy)
}
