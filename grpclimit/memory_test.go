package grpclimit_test

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// A handler may leave its context with somebody who goes on, and a stream may be idle for hours.
func TestMessagesAreNotKept(t *testing.T) {
	type message struct{ _ [1 << 10]byte }
	collected := func(m weak.Pointer[message]) bool {
		runtime.GC()
		return m.Value() == nil
	}
	request := new(message)
	unary, gone := weak.Make(request), false
	var left context.Context
	_, err := (&grpclimit.Server{Layers: layersOf()}).Unary()(t.Context(), request, &grpc.UnaryServerInfo{}, func(ctx context.Context, _ any) (any, error) {
		left = ctx
		return nil, nil
	})
	require.NoError(t, err)
	request = nil
	require.True(t, collected(unary))
	runtime.KeepAlive(left)

	silent := func(any) error { return nil }
	limits := grpclimit.Messages{Layers: layersOf()}
	require.NoError(t, messagesOnly(limits, limits).Stream()(nil, &fakeStream{ctx: t.Context(), receive: silent, send: silent}, &grpc.StreamServerInfo{},
		func(_ any, s grpc.ServerStream) error {
			m := new(message)
			streamed := weak.Make(m)
			_, _ = s.RecvMsg(m), s.SendMsg(m)
			m = nil
			gone = collected(streamed)
			runtime.KeepAlive(s)
			return nil
		}))
	require.True(t, gone)
}
