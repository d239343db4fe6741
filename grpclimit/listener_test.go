package grpclimit_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What refuses connections for net/http does for gRPC too.
func TestAListenerRefusesConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	connections := weir.NewPerClient[netip.Prefix](hourly(1, "connections"), weir.WithClock(weir.NewManualClock()))
	serveOn(t, httplimit.Listener(l, weir.NewLayers(weir.By(connections, httplimit.AddrIP))), echoing)
	ctx, first := within(t), dial(t, l.Addr().String())
	for range 3 {
		_, err := say(ctx, first, "hello")
		require.NoError(t, err)
	}
	_, err = say(ctx, dial(t, l.Addr().String()), "hello")
	require.Equal(t, codes.Unavailable, status.Code(err))
	_, err = say(ctx, first, "hello")
	require.NoError(t, err)
}
