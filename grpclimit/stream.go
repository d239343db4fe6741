package grpclimit

import (
	"context"

	"google.golang.org/grpc"
)

// Stream returns the interceptor of streams. It panics as Unary does.
func (s *Server) Stream() grpc.StreamServerInterceptor {
	s.ready()
	limits := s.Receive.limit() || s.Send.limit()
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx := ss.Context()
		st := &stream{ServerStream: ss, rpc: rpc{Context: ctx, call: Call{Context: ctx, FullMethod: info.FullMethod}}}
		hold, err := s.admit(&st.rpc)
		if err != nil {
			return err
		}
		handle := func() error { return handler(srv, st) }
		if limits {
			handle = func() error { return s.limited(srv, st, handler) }
		}
		if !hold.Allowed {
			return handle()
		}
		return s.settled(&st.rpc, hold, handle)
	}
}

// A stream is one whose context has the Decision.
type stream struct {
	grpc.ServerStream
	rpc rpc
}

func (s *stream) Context() context.Context { return &s.rpc }

// limited calls a handler with a stream whose messages are limited.
func (s *Server) limited(srv any, st *stream, handler grpc.StreamHandler) error {
	ctx, cancel := context.WithCancelCause(st.rpc.Context)
	defer cancel(nil)
	st.rpc.Context = ctx
	l := &limitedStream{stream: st, server: s, cancel: cancel, receiving: st.rpc.call, sending: st.rpc.call}
	err := handler(srv, l)
	if ended := l.ended(); ended != nil {
		return ended
	}
	return err
}

// A limitedStream is one whose messages have to pass. One goroutine may receive while
// another one sends, so each has a Call of its own.
type limitedStream struct {
	*stream
	server             *Server
	cancel             context.CancelCauseFunc
	receiving, sending Call
}

func (s *limitedStream) RecvMsg(m any) error {
	if err := s.ended(); err != nil {
		return err
	}
	if err := s.stream.RecvMsg(m); err != nil {
		return err
	}
	return s.pass(&s.receiving, &s.server.Receive, m)
}

func (s *limitedStream) SendMsg(m any) error {
	if err := s.pass(&s.sending, &s.server.Send, m); err != nil {
		return err
	}
	return s.stream.SendMsg(m)
}

// pass has a message pass, unless the stream has ended, or ends it.
func (s *limitedStream) pass(c *Call, limits *Messages, m any) error {
	if err := s.ended(); err != nil || !limits.limit() {
		return err
	}
	c.Message = m
	defer func() { c.Message = nil }()
	err := s.server.pass(c, limits)
	if err != nil {
		s.cancel(&endError{err})
	}
	return err
}

// An endError is why a stream's context is done whose message did not pass.
type endError struct{ err error }

func (e *endError) Error() string { return "grpclimit: the stream has ended: " + e.err.Error() }
func (e *endError) Unwrap() error { return e.err }

// ended returns the error that the stream has ended with, or nil.
func (s *limitedStream) ended() error {
	if end, ok := context.Cause(s.rpc.Context).(*endError); ok {
		return end.err
	}
	return nil
}
