package grpclimit_test

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// fakeStream is a grpc.ServerStream without a server.
type fakeStream struct {
	ctx           context.Context
	receive, send func(m any) error
}

func (s *fakeStream) Context() context.Context     { return s.ctx }
func (s *fakeStream) RecvMsg(m any) error          { return s.receive(m) }
func (s *fakeStream) SendMsg(m any) error          { return s.send(m) }
func (s *fakeStream) SetHeader(metadata.MD) error  { return nil }
func (s *fakeStream) SendHeader(metadata.MD) error { return nil }
func (s *fakeStream) SetTrailer(metadata.MD)       {}

func outgoing(ctx context.Context, pairs ...string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}
