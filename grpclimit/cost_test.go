package grpclimit_test

import (
	"context"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// plenty is a policy that no test uses up.
var plenty = weir.TokenBucket(weir.PerSecond(1_000_000_000).WithBurst(1_000_000_000)).Named("plenty")

func costlyLayers() map[string]*weir.Layers[*grpclimit.Call] {
	all, peer := grpclimit.Global(weir.New(plenty)), grpclimit.PerPeer(plenty)
	client := grpclimit.PerClientIP(plenty, trusting("10.0.0.0/8").Trusted)
	return map[string]*weir.Layers[*grpclimit.Call]{
		"Global":      weir.NewLayers(all),
		"PerPeer":     weir.NewLayers(peer),
		"PerMethod":   weir.NewLayers(grpclimit.PerMethod(plenty)),
		"PerClientIP": weir.NewLayers(client),
		"ThreeLayers": weir.NewLayers(all, peer, client),
	}
}

func costlyContext(t testing.TB) context.Context {
	return incoming(fromPeer(t.Context(), tcp("192.0.2.7:1")), "x-api-key", "ann", "x-forwarded-for", "203.0.113.9")
}

func TestAnAllowedRPCAllocatesOnce(t *testing.T) {
	ctx, served := costlyContext(t), 0
	info, handle := &grpc.UnaryServerInfo{FullMethod: methodSay}, func(context.Context, any) (any, error) { served++; return nil, nil }
	for name, layers := range costlyLayers() {
		unary := (&grpclimit.Server{Layers: layers}).Unary()
		require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { _, _ = unary(ctx, nil, info, handle) }), name)
	}
	// A value of metadata comes in a slice of its own.
	unary := (&grpclimit.Server{Layers: weir.NewLayers(grpclimit.PerMetadata("x-api-key", plenty))}).Unary()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = unary(ctx, nil, info, handle) }), 2.0)
	require.Equal(t, 101*(len(costlyLayers())+1), served)
}

func TestAnAllowedStreamAllocatesOnceAndItsMessagesNothing(t *testing.T) {
	ctx := costlyContext(t)
	silent := func(any) error { return nil }
	ss, info := &fakeStream{ctx: ctx, receive: silent, send: silent}, &grpc.StreamServerInfo{FullMethod: methodChat}
	for name, layers := range costlyLayers() {
		s := (&grpclimit.Server{Layers: layers}).Stream()
		require.Equal(t, 1.0, testing.AllocsPerRun(100, func() {
			_ = s(nil, ss, info, func(any, grpc.ServerStream) error { return nil })
		}), name)

		limits := grpclimit.Messages{Layers: layers}
		_ = messagesOnly(limits, limits).Stream()(nil, ss, info, func(_ any, s grpc.ServerStream) error {
			require.Zero(t, testing.AllocsPerRun(100, func() {
				_ = s.RecvMsg(nil)
				_ = s.SendMsg(nil)
			}), name)
			return nil
		})
	}
}

func TestSettlingAllocatesLittle(t *testing.T) {
	ctx, info := costlyContext(t), &grpc.UnaryServerInfo{FullMethod: methodSay}
	unary := (&grpclimit.Server{Layers: costlyLayers()["PerPeer"], Settle: func(*grpclimit.Call, codes.Code) int { return 0 }}).Unary()
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = unary(ctx, nil, info, handled) }), 4.0)
}

func BenchmarkUnary(b *testing.B) {
	ctx, info := costlyContext(b), &grpc.UnaryServerInfo{FullMethod: methodSay}
	for name, layers := range costlyLayers() {
		unary := (&grpclimit.Server{Layers: layers}).Unary()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = unary(ctx, nil, info, handled)
			}
		})
	}
}
