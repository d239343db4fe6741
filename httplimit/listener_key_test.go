package httplimit_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// namedAddr is an address of somebody else's type: its network and its text.
type namedAddr [2]string

func (a namedAddr) Network() string { return a[0] }
func (a namedAddr) String() string  { return a[1] }

func TestAddrIPKeysConnectionsByAddress(t *testing.T) {
	t.Parallel()
	four, mapped := net.IPv4(192, 0, 2, 1).To4(), net.IPv4(192, 0, 2, 1)
	six, link := net.ParseIP("2001:db8:1:2:3::1"), net.ParseIP("fe80::1")
	const v4, v6, none = "192.0.2.1/32", "2001:db8:1:2::/64", "invalid Prefix"
	require.Len(t, mapped, 16)
	for _, test := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: four, Port: 80}, v4},
		{&net.TCPAddr{IP: mapped, Port: 81}, v4},
		{&net.TCPAddr{IP: six, Port: 80}, v6},
		{&net.TCPAddr{IP: six, Zone: "eth0"}, v6},
		{&net.TCPAddr{IP: link, Zone: "eth0"}, "fe80::/64"},
		{&net.TCPAddr{IP: link, Zone: "]\x00"}, "fe80::/64"},
		{&net.TCPAddr{IP: net.IPv4zero}, "0.0.0.0/32"},
		{&net.TCPAddr{IP: net.IPv6zero}, "::/64"},
		{&net.TCPAddr{}, none},
		{&net.TCPAddr{IP: net.IP{1, 2, 3}}, none},
		{(*net.TCPAddr)(nil), none},
		{&net.UDPAddr{IP: mapped, Port: 53}, v4},
		{&net.UDPAddr{IP: six, Port: 53, Zone: "eth0"}, v6},
		{(*net.UDPAddr)(nil), none},
		{&net.IPAddr{IP: four}, v4},
		{&net.IPAddr{IP: six, Zone: "eth0"}, v6},
		{(*net.IPAddr)(nil), none},
		{&net.UnixAddr{Net: "unix"}, none},
		{&net.UnixAddr{Net: "unix", Name: "@"}, none},
		{&net.UnixAddr{Net: "unix", Name: "/run/client"}, none},
		{&net.UnixAddr{Net: "unix", Name: "192.0.2.1"}, none},
		{&net.UnixAddr{Name: "192.0.2.1:80"}, none},
		{(*net.UnixAddr)(nil), none},
		{namedAddr{"unixpacket", "192.0.2.1"}, none},
		{namedAddr{"tcp", "192.0.2.1:80"}, v4},
		{namedAddr{"tcp", "[::ffff:192.0.2.1]:80"}, v4},
		{namedAddr{"", "[2001:db8:1:2::%eth0]:80"}, v6},
		{namedAddr{"pipe", "pipe"}, none},
		{namedAddr{"bufconn", ""}, none},
		{namedAddr{"tcp", "example.com:80"}, none},
		{nil, none},
	} {
		key, ok := httplimit.AddrIP(test.addr)
		require.True(t, ok, "%#v", test.addr)
		require.Equal(t, test.want, key.String(), "%#v", test.addr)
	}
}

func TestAddrFuncKeysByOtherLengths(t *testing.T) {
	t.Parallel()
	key := httplimit.AddressKey{IPv4Bits: 24, IPv6Bits: 48}.AddrFunc()
	for addr, want := range map[string]string{"192.0.2.77": "192.0.2.0/24", "2001:db8:1:2::": "2001:db8:1::/48"} {
		got, ok := key(&net.TCPAddr{IP: net.ParseIP(addr)})
		require.True(t, ok)
		require.Equal(t, want, got.String())
	}
	require.PanicsWithValue(t, "httplimit: AddressKey.IPv4Bits is 33: it must be 1 to 32, or 0 for 32",
		func() { httplimit.AddressKey{IPv4Bits: 33}.AddrFunc() })
}

func TestAddrFuncDoesNotApplyToTrustedProxies(t *testing.T) {
	t.Parallel()
	ten, unix := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)}, &net.UnixAddr{Net: "unix"}
	unnamed, other := &net.TCPAddr{}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}
	for _, test := range []struct {
		key  httplimit.AddressKey
		want []net.Addr // that it does not apply to
	}{
		{httplimit.AddressKey{}, nil},
		{httplimit.AddressKey{Header: "X-Real-Ip"}, nil},
		{httplimit.AddressKey{Trusted: prefixes("10.0.0.0/8")}, []net.Addr{ten}},
		{httplimit.AddressKey{TrustUnix: true}, []net.Addr{unix}},
		{httplimit.AddressKey{Trusted: prefixes("0.0.0.0/0 ::/0"), TrustUnix: true}, []net.Addr{ten, unix, other}},
	} {
		key := test.key.AddrFunc()
		var got []net.Addr
		for _, addr := range []net.Addr{ten, unix, unnamed, other, nil} {
			if p, ok := key(addr); !ok {
				require.Zero(t, p)
				got = append(got, addr)
			}
		}
		require.Equal(t, test.want, got, "%+v", test.key)
	}
}

func TestAddrIPAllocatesNothing(t *testing.T) {
	var addr net.Addr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80, Zone: "eth0"}
	require.Zero(t, testing.AllocsPerRun(100, func() { httplimit.AddrIP(addr) }))
}

// A connection has the key that its requests have by RemoteIP, whatever its address.
func FuzzAddrIP(f *testing.F) {
	f.Add([]byte{192, 0, 2, 1}, "", 80, "192.0.2.1:80")
	f.Add([]byte(net.ParseIP("fe80::1")), "eth0", 0, "@")
	f.Add([]byte(net.IPv4(192, 0, 2, 1)), "", -1, "[::1%lo]:http")
	f.Fuzz(func(t *testing.T, ip []byte, zone string, port int, text string) {
		custom := namedAddr{"tcp", text}
		got, ok := httplimit.AddrIP(custom)
		require.True(t, ok)
		want, _ := httplimit.RemoteIP(request(text))
		require.Equal(t, want, got)

		tcp := &net.TCPAddr{IP: ip, Port: port, Zone: zone}
		got, _ = httplimit.AddrIP(tcp)
		require.Equal(t, got, got.Masked())
		if addr, ok := netip.AddrFromSlice(ip); ok {
			require.True(t, got.Contains(addr.Unmap()))
			bare, _ := httplimit.RemoteIP(request((&net.TCPAddr{IP: ip, Port: 80}).String()))
			require.Equal(t, bare, got, "neither port nor zone are part of it")
		} else {
			require.Zero(t, got)
		}
	})
}
