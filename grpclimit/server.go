package grpclimit

import (
	"context"
	"log/slog"
	"sync"

	"github.com/goweir/weir"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Server limits the RPCs of a grpc.Server, by the interceptors that it returns.
// Zero fields are the defaults; Layers is required. It must not be copied after
// first use, and its fields must not be changed then.
//
// An RPC that is denied takes nothing from any layer, and does not reach the handler.
// Layers in shadow deny nobody. Each interceptor of a chain decides by itself, so what
// is denied by a later one stays charged by an earlier one: put all layers of an RPC
// into one Server.
type Server struct {
	// Layers are the limits that an RPC has to pass, all or nothing. A unary one is asked
	// about when its request was read, a stream when it is opened.
	Layers *weir.Layers[*Call]

	// Cost is what an RPC takes of each layer that has no cost of its own; by default 1.
	// One of 0 is free, a negative one is denied for ever.
	Cost func(*Call) int

	// Settle returns what an RPC has cost after all, once the handler has returned or
	// panicked. What is too much is given back and what is too little is charged, as
	// weir.Hold.Settle does: with 0 for all but codes.Unauthenticated, only failed logins
	// count, while those that are under way count as if they were to fail.
	//
	// The Call has the handler's context. The code is the one that the client is sent;
	// codes.Internal after a panic. If Settle panics, what was charged stays charged.
	Settle func(c *Call, code codes.Code) int

	// Receive and Send limit the messages of streams: those that come from the client, the
	// one request of a server stream included, and those that go to it. By default
	// nothing does.
	Receive, Send Messages

	// Denied returns the error of an RPC or message that was denied; by default, and
	// where it returns nil, that of DeniedError.
	Denied func(*Call, weir.Decision) error

	// Error returns the error of an RPC or message that could not be decided about,
	// because a remote layer failed or the RPC was cancelled; by default
	// codes.Unavailable, or the code of a context that is done. If it returns nil, the
	// RPC or message passes.
	Error func(*Call, error) error

	// Logger gets a record at LevelWarn for each denial, with client, policy, method and
	// retry_after, which is absent if no wait would help; and with shadowed where a layer
	// in shadow would have denied. Of those that come faster than one a second, after the
	// first ten, only the number is told, in left_out of the next record. What a remote
	// layer fails to settle is a record at LevelError. By default nothing is logged.
	Logger *slog.Logger

	// Client is whom the Logger names; by default the address that a layer is keyed by,
	// or else that of Peer. No other key is logged unless it is returned here: it may be
	// a secret.
	Client func(*Call) string

	making  sync.Mutex
	denials *denialLog // of all its interceptors
}

// Limit returns the options of a grpc.Server whose RPCs, unary and streams, have to
// pass the layers, with the default fields of a [Server]:
//
//	server := grpc.NewServer(append(grpclimit.Limit(layers...), grpc.Creds(creds))...)
func Limit(layers ...weir.Layer[*Call]) []grpc.ServerOption {
	return (&Server{Layers: weir.NewLayers(layers...)}).Options()
}

// Options returns Unary and Stream as options of a grpc.Server, behind the interceptors
// of the options before them. It panics as these do.
func (s *Server) Options() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(s.Unary()), grpc.ChainStreamInterceptor(s.Stream())}
}

// Unary returns the interceptor of unary RPCs. It panics if Layers is nil, or Receive
// or Send makes no sense.
func (s *Server) Unary() grpc.UnaryServerInterceptor {
	s.ready()
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		r := &rpc{Context: ctx, call: Call{Context: ctx, FullMethod: info.FullMethod, Message: req}}
		hold, err := s.admit(r)
		if err != nil {
			return nil, err
		}
		if !hold.Allowed {
			return handler(r, req)
		}
		err = s.settled(r, hold, func() error {
			resp, err = handler(r, req)
			return err
		})
		return resp, err
	}
}

// ready checks the fields once an interceptor is made, rather than when a request comes.
func (s *Server) ready() {
	if s.Layers == nil {
		panic("grpclimit: Server.Layers is nil: make them with weir.NewLayers")
	}
	s.Receive.mustMakeSense("Receive")
	s.Send.mustMakeSense("Send")
	s.making.Lock()
	defer s.making.Unlock()
	if s.denials == nil {
		s.denials = newDenialLog()
	}
}

// admit decides about an RPC. An error is its answer; without one it goes on to the
// handler, and what is in the Hold, if anything is, has to be settled.
func (s *Server) admit(r *rpc) (hold weir.Hold, err error) {
	n := 1
	if s.Cost != nil {
		n = s.Cost(&r.call)
	}
	if s.Settle != nil {
		hold, err = s.Layers.Hold(r.Context, &r.call, n)
		r.decision = hold.Decision
	} else {
		r.decision, err = s.Layers.TakeContext(r.Context, &r.call, n)
	}
	r.decided = err == nil
	err = s.answer(&r.call, &r.decision, err)
	r.call.Context = r
	if s.Settle == nil {
		r.call.Message = nil // who keeps the context need not keep that
	}
	return hold, err
}

// answer returns the error that tells of what was decided, nil if that lets pass.
func (s *Server) answer(c *Call, d *weir.Decision, err error) error {
	if err != nil {
		return s.failed(c, err)
	}
	if s.Logger != nil && (!d.Allowed || d.Shadowed) {
		s.denials.log(s, c, d)
	}
	if d.Allowed {
		return nil
	}
	if s.Denied != nil {
		if err := s.Denied(c, *d); err != nil {
			return err
		}
	}
	return DeniedError(*d)
}

func (s *Server) failed(c *Call, err error) error {
	if s.Error != nil {
		return s.Error(c, err)
	}
	if ended := c.Context.Err(); ended != nil {
		return status.FromContextError(ended).Err()
	}
	return status.Error(codes.Unavailable, "the limits do not answer")
}

// settled calls a handler and settles what its RPC has cost, whatever becomes of it.
func (s *Server) settled(r *rpc, hold weir.Hold, handle func() error) error {
	code := codes.Internal
	defer func() {
		actual := s.Settle(&r.call, code)
		// The client may have gone: that must not keep what is given back.
		err := hold.Settle(context.WithoutCancel(r), actual)
		if err != nil && s.Logger != nil {
			s.denials.failed(s, err)
		}
	}()
	err := handle()
	code = codeOf(err)
	return err
}

// codeOf returns what a grpc.Server makes of a handler's error.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return status.FromContextError(err).Code()
}
