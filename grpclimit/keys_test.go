package grpclimit_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/grpclimit"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
)

type prefix = netip.Prefix

func tcp(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }

// incoming adds to the metadata that a client has sent.
func incoming(ctx context.Context, pairs ...string) context.Context {
	return metadata.NewIncomingContext(ctx, metadata.Pairs(pairs...))
}

func trusting(prefixes ...string) httplimit.AddressKey {
	var k httplimit.AddressKey
	for _, p := range prefixes {
		k.Trusted = append(k.Trusted, netip.MustParsePrefix(p))
	}
	return k
}

// textAddr is what grpc makes of Request.RemoteAddr in ServeHTTP.
type textAddr string

func (textAddr) Network() string  { return "tcp" }
func (a textAddr) String() string { return string(a) }

func TestPeerIsTheAddressOfTheConnection(t *testing.T) {
	for _, test := range []struct {
		addr net.Addr
		want string
	}{
		{tcp("192.0.2.7:1"), "192.0.2.7/32"},
		{tcp("[::ffff:192.0.2.7]:1"), "192.0.2.7/32"},
		{tcp("[2001:db8:1:2:3::7]:1"), "2001:db8:1:2::/64"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, "fe80::/64"},
		{textAddr("192.0.2.7:1"), "192.0.2.7/32"},
		{textAddr("[2001:db8::7]:1"), "2001:db8::/64"},
		{textAddr(""), "invalid Prefix"},
		{textAddr("bufconn"), "invalid Prefix"},
		{&net.UnixAddr{Name: "192.0.2.7:1"}, "invalid Prefix"},
		{(*net.TCPAddr)(nil), "invalid Prefix"},
		{nil, "invalid Prefix"},
	} {
		key, ok := grpclimit.Peer(&grpclimit.Call{Context: incoming(fromPeer(t.Context(), test.addr), "x-forwarded-for", "203.0.113.9")})
		require.True(t, ok)
		require.Equal(t, test.want, key.String(), "%v", test.addr)
	}
	key, ok := grpclimit.Peer(&grpclimit.Call{Context: t.Context()})
	require.True(t, ok, "where there is no peer")
	require.Zero(t, key)
}

func TestAddressReadsMetadataOfTrustedPeersOnly(t *testing.T) {
	proxies := trusting("192.0.2.0/24", "::1/128")
	named, unix, wide := proxies, proxies, proxies
	named.Header, unix.TrustUnix, wide.IPv6Bits = "forwarded", true, 48
	custom := proxies
	custom.Header = "x-real-ip"
	socket := &net.UnixAddr{Name: "198.51.100.66:1", Net: "unix"} // a client may name its socket like that
	for _, test := range []struct {
		key  httplimit.AddressKey
		addr net.Addr
		sent []string
		want string
	}{
		{proxies, tcp("198.51.100.7:1"), []string{"x-forwarded-for", "203.0.113.9"}, "198.51.100.7/32"},
		{proxies, tcp("192.0.2.1:1"), nil, "192.0.2.1/32"},
		{proxies, tcp("192.0.2.1:1"), []string{"x-forwarded-for", "203.0.113.9"}, "203.0.113.9/32"},
		{proxies, tcp("192.0.2.1:1"), []string{"x-forwarded-for", "203.0.113.9, 198.51.100.7, 192.0.2.8"}, "198.51.100.7/32"},
		{proxies, tcp("192.0.2.1:1"), []string{"x-forwarded-for", "203.0.113.9", "X-Forwarded-For", "198.51.100.7"}, "198.51.100.7/32"},
		{proxies, tcp("192.0.2.1:1"), []string{"x-forwarded-for", "203.0.113.9, nonsense"}, "192.0.2.1/32"},
		{proxies, tcp("192.0.2.1:1"), []string{"forwarded", `for="[2001:db8:1:2::7]:1"`}, "2001:db8:1:2::/64"},
		{proxies, tcp("192.0.2.1:1"), []string{"forwarded", "for=198.51.100.7", "x-forwarded-for", "203.0.113.9"}, "192.0.2.1/32"},
		{named, tcp("192.0.2.1:1"), []string{"forwarded", "for=198.51.100.7", "x-forwarded-for", "203.0.113.9"}, "198.51.100.7/32"},
		{custom, tcp("192.0.2.1:1"), []string{"x-real-ip", "198.51.100.7", "x-forwarded-for", "203.0.113.9"}, "198.51.100.7/32"},
		{wide, tcp("[::1]:1"), []string{"x-forwarded-for", "2001:db8:1:2::7"}, "2001:db8:1::/48"},
		{wide, tcp("[2001:db8:3:2::7]:1"), []string{"x-forwarded-for", "2001:db8:1:2::7"}, "2001:db8:3::/48"},
		{proxies, textAddr("192.0.2.1:1"), []string{"x-forwarded-for", "203.0.113.9"}, "203.0.113.9/32"},
		{proxies, socket, []string{"x-forwarded-for", "203.0.113.9"}, "invalid Prefix"},
		{unix, socket, []string{"x-forwarded-for", "203.0.113.9"}, "203.0.113.9/32"},
		{unix, socket, nil, "invalid Prefix"},
		{unix, nil, []string{"x-forwarded-for", "203.0.113.9"}, "invalid Prefix"},
		{proxies, tcp("192.0.2.1:1"), []string{"x-forwarded-for", strings.Repeat("203.0.113.9,", 100_000) + "198.51.100.7"}, "198.51.100.7/32"},
	} {
		key, ok := grpclimit.Address(test.key)(&grpclimit.Call{Context: incoming(fromPeer(t.Context(), test.addr), test.sent...)})
		require.True(t, ok)
		require.Equal(t, test.want, key.String(), "%v, %.99v", test.addr, test.sent)
	}
	require.Panics(t, func() { grpclimit.Address(httplimit.AddressKey{IPv4Bits: 33}) })
}

func TestMetadataIsTheFirstValue(t *testing.T) {
	key := grpclimit.Metadata("X-Api-Key")
	for _, test := range []struct {
		sent []string
		want string
		ok   bool
	}{
		{nil, "", false},
		{[]string{"x-api", "b"}, "", false},
		{[]string{"x-api-key", ""}, "", true},
		{[]string{"x-api-key", "a"}, "a", true},
		{[]string{"x-api-key", "a", "X-API-KEY", "b"}, "a", true},
	} {
		got, ok := key(&grpclimit.Call{Context: incoming(t.Context(), test.sent...)})
		require.Equal(t, test.want, got)
		require.Equal(t, test.ok, ok)
	}
	_, ok := key(&grpclimit.Call{Context: t.Context()})
	require.False(t, ok, "where there is no metadata")
	_, ok = grpclimit.Method(&grpclimit.Call{})
	require.False(t, ok)
}

// Each layer has the key that it says, through a real connection.
func TestLayersInOneCall(t *testing.T) {
	clock := weir.WithClock(weir.NewManualClock())
	limit := grpclimit.Limit(
		grpclimit.PerPeer(hourly(8, "peer"), clock),
		grpclimit.PerClientIP(hourly(4, "client"), trusting("127.0.0.0/8").Trusted, clock),
		grpclimit.PerMetadata("x-api-key", hourly(2, "key"), clock),
		grpclimit.PerMethod(hourly(6, "method"), clock),
	)
	cc, ctx := dial(t, serve(t, echoing, limit...)), within(t)
	denier := func(method string, pairs ...string) string {
		sent := metadata.AppendToOutgoingContext(ctx, pairs...)
		err := error(nil)
		if method == methodSay {
			_, err = say(sent, cc, "hello")
		} else {
			err = chatOnce(sent, cc)
		}
		for _, policy := range []string{"peer", "client", "key", "method"} {
			if err != nil && strings.Contains(err.Error(), `"`+policy+`"`) {
				return policy
			}
		}
		require.NoError(t, err)
		return ""
	}
	ann := []string{"x-api-key", "ann", "x-forwarded-for", "198.51.100.7"}
	bob := []string{"x-api-key", "bob", "x-forwarded-for", "198.51.100.7"}
	eve := []string{"x-api-key", "eve", "x-forwarded-for", "198.51.100.7"}
	cat := []string{"x-forwarded-for", "198.51.100.8"}
	for i, step := range []struct {
		method string
		sent   []string
		want   string
	}{
		{methodSay, ann, ""}, {methodSay, ann, ""}, {methodSay, ann, "key"}, {methodChat, ann, "key"},
		{methodSay, append(ann, "x-api-key", "dan"), "key"},
		{methodSay, bob, ""}, {methodSay, bob, ""}, {methodSay, eve, "client"},
		{methodSay, cat, ""}, {methodSay, cat, ""}, {methodSay, cat, "method"},
		{methodChat, cat, ""}, {methodChat, cat, ""}, {methodChat, nil, "peer"},
	} {
		require.Equal(t, step.want, denier(step.method, step.sent...), "step %d", i)
	}
}

func TestASocketHasOneKey(t *testing.T) {
	dir, err := os.MkdirTemp("", "weir") // t.TempDir's names are too long for a socket on some systems
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	unix, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	memory := bufconn.Listen(1 << 10)
	for name, test := range map[string]struct {
		listener net.Listener
		target   string
		opt      grpc.DialOption
	}{
		"unix":    {unix, "unix:" + filepath.Join(dir, "s"), grpc.EmptyDialOption{}},
		"bufconn": {memory, "passthrough:bufconn", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return memory.DialContext(ctx) })},
	} {
		t.Run(name, func(t *testing.T) {
			peers := weir.NewPerClient[netip.Prefix](hourly(2, "peer"), weir.WithClock(weir.NewManualClock()))
			serveOn(t, test.listener, echoing, grpclimit.Limit(weir.By(peers, grpclimit.Peer))...)
			ctx := within(t)
			for range 2 {
				_, err := say(ctx, dial(t, test.target, test.opt), "hello")
				require.NoError(t, err)
			}
			_, err := say(ctx, dial(t, test.target, test.opt), "hello")
			require.Error(t, err)
			require.Zero(t, peers.Tokens(netip.Prefix{}))
			require.Equal(t, 1, peers.Len())
		})
	}
}

// Nothing of it is kept.
func TestHugeMetadataIsAKeyLikeAnyOther(t *testing.T) {
	keys := weir.NewPerClient[string](hourly(1, "key"), weir.WithClock(weir.NewManualClock()))
	cc := dial(t, serve(t, echoing, grpclimit.Limit(weir.By(keys, grpclimit.Metadata("x-api-key")))...))
	huge := strings.Repeat("k", 1<<20)
	ctx := metadata.AppendToOutgoingContext(within(t), "x-api-key", huge, "x-api-key", "second")
	_, err := say(ctx, cc, "hello")
	require.NoError(t, err)
	_, err = say(ctx, cc, "hello")
	requireDenied(t, err, "key", keys.Peek(huge, 1).RetryAfter)
	require.NotContains(t, err.Error(), "kkkk")
	require.Equal(t, 1, keys.Len())
}
