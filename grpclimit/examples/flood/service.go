package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// limits are what the server is behind.
type limits struct {
	everybody *weir.Limiter
	users     *weir.PerClient[string] // RPCs
	uploads   *weir.PerClient[string] // messages
}

func newLimits() *limits {
	return &limits{
		everybody: weir.New(weir.TokenBucket(weir.PerSecond(500)).Named("everybody")),
		users:     weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(20).WithBurst(40)).Named("user")),
		uploads:   weir.NewPerClient[string](weir.TokenBucket(weir.PerSecond(100).WithBurst(20)).Named("uploads")),
	}
}

func (l *limits) close() {
	l.users.Close()
	l.uploads.Close()
}

// options are those of the server. In earnest, an interceptor before them would know the
// users.
func (l *limits) options() []grpc.ServerOption {
	user := grpclimit.Metadata("user")
	limit := grpclimit.Server{
		Layers:  weir.NewLayers(grpclimit.Global(l.everybody), weir.By(l.users, user)),
		Receive: grpclimit.Messages{Wait: grpclimit.WaitFor(l.uploads, user)},
	}
	return limit.Options()
}

// A greeter counts what reaches it: a service as protoc would make it.
type greeter struct {
	mu       sync.Mutex
	served   map[string]int // RPCs, by user
	messages int
}

const (
	methodGreet  = "/weir.flood.Greeter/Greet"
	methodUpload = "/weir.flood.Greeter/Upload"
)

var upload = grpc.StreamDesc{StreamName: "Upload", ClientStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
	return srv.(*greeter).upload(s)
}}

var greeterService = grpc.ServiceDesc{
	ServiceName: "weir.flood.Greeter",
	HandlerType: (*any)(nil),
	Streams:     []grpc.StreamDesc{upload},
	Methods: []grpc.MethodDesc{{MethodName: "Greet", Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		name := new(wrapperspb.StringValue)
		if err := decode(name); err != nil {
			return nil, err
		}
		return intercept(ctx, name, &grpc.UnaryServerInfo{Server: srv, FullMethod: methodGreet}, srv.(*greeter).greet)
	}}},
}

func (g *greeter) greet(ctx context.Context, name any) (any, error) {
	g.count(ctx)
	return wrapperspb.String("Hello, " + name.(*wrapperspb.StringValue).Value), nil
}

func (g *greeter) upload(s grpc.ServerStream) error {
	g.count(s.Context())
	for n := 0; ; n++ {
		switch err := s.RecvMsg(new(wrapperspb.StringValue)); {
		case errors.Is(err, io.EOF):
			return s.SendMsg(wrapperspb.Int64(int64(n)))
		case err != nil:
			return err
		}
		g.mu.Lock()
		g.messages++
		g.mu.Unlock()
	}
}

func (g *greeter) count(ctx context.Context) {
	user := metadata.ValueFromIncomingContext(ctx, "user")[0]
	g.mu.Lock()
	defer g.mu.Unlock()
	g.served[user]++
}
