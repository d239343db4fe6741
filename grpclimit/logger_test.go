package grpclimit_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func textLogger(b *strings.Builder) *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: withoutTime}))
}

func handled(context.Context, any) (any, error) { return nil, nil }

// fromPeer is the context of an RPC from an address.
func fromPeer(ctx context.Context, a net.Addr) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: a})
}

func TestDenialsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		records := func() string {
			defer b.Reset()
			return b.String()
		}
		s := &grpclimit.Server{Logger: textLogger(&b), Layers: weir.NewLayers(grpclimit.Global(weir.New(hourly(1, "all"))))}
		unary := s.Unary()
		ctx := fromPeer(t.Context(), &net.TCPAddr{IP: net.ParseIP("2001:db8::7"), Port: 1})
		ask := func() { _, _ = unary(ctx, "secret", &grpc.UnaryServerInfo{FullMethod: methodSay}, handled) }
		ask()
		require.Empty(t, records())
		ask()
		require.Equal(t, "level=WARN msg=\"RPC denied\" client=2001:db8::/64 method=/weir.test.Echo/Say policy=all retry_after=1h0m0s\n", records())
		_ = s.Stream()(nil, &fakeStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: methodChat}, nil)
		require.Equal(t, "level=WARN msg=\"RPC denied\" client=unknown method=/weir.test.Echo/Chat policy=all retry_after=1h0m0s\n", records())
		for range 100 {
			ask()
		}
		require.Equal(t, 8, strings.Count(records(), "\n"))
		time.Sleep(time.Second)
		synctest.Wait()
		ask()
		ask()
		require.Regexp(t, " left_out=92\n$", records(), "one a second")
		time.Sleep(time.Second)
		synctest.Wait()
		ask()
		require.Contains(t, records(), " left_out=1\n")
		time.Sleep(time.Second)
		synctest.Wait()
		ask()
		require.NotContains(t, records(), "left_out")
	})
}

func TestTheLoggerNamesWhomALayerIsKeyedBy(t *testing.T) {
	var b strings.Builder
	proxied := grpclimit.Address(trusting("192.0.2.0/24"))
	s := &grpclimit.Server{Logger: textLogger(&b), Layers: weir.NewLayers(
		grpclimit.PerMetadata("x-api-key", hourly(1, "key"), weir.WithShadow()),
		weir.By(weir.NewPerClient[string](hourly(9, "method")), grpclimit.Method),
		weir.By(weir.NewPerClient[prefix](hourly(9, "address")), proxied),
	)}
	ctx := incoming(fromPeer(t.Context(), tcp("192.0.2.1:1")), "x-api-key", "secret", "x-forwarded-for", "198.51.100.7")
	ask := func(s *grpclimit.Server) string {
		b.Reset()
		_, err := s.Unary()(ctx, "secret", &grpc.UnaryServerInfo{FullMethod: "/" + strings.Repeat("é", 200)}, handled)
		require.NoError(t, err)
		return b.String()
	}
	require.Empty(t, ask(s))
	require.Regexp(t, `client=198\.51\.100\.7 method=/é{127}\.\.\. policy=key retry_after=\S+ shadowed=true\n$`, ask(s))
	named := &grpclimit.Server{Logger: s.Logger, Layers: s.Layers, Client: func(c *grpclimit.Call) string {
		return c.Metadata("x-api-key")[0][:3] + strings.Repeat("x", 100)
	}}
	require.Contains(t, ask(named), " client=sec"+strings.Repeat("x", 61)+"... method")

	for client, want := range map[string]string{
		strings.Repeat("a", 64): strings.Repeat("a", 64), strings.Repeat("\x80", 65): "...",
	} {
		named := &grpclimit.Server{Logger: s.Logger, Layers: s.Layers, Client: func(*grpclimit.Call) string { return client }}
		require.Contains(t, ask(named), " client="+want+" method")
	}

	silent := &grpclimit.Server{Layers: s.Layers, Logger: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelError})), Client: func(*grpclimit.Call) string {
		t.Error("nothing is logged")
		return ""
	}}
	require.Empty(t, ask(silent))
}
