package httplimit_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// On Linux all of 127.0.0.0/8 is this machine, so that a test can be several.
func clientAt(address string) net.Dialer {
	return net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
}

func TestAFloodFromOneAddressHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for refused, opts := range map[string][]httplimit.ListenerOption{
		"":                               nil,
		"HTTP/1.1 429 Too Many Requests": {httplimit.WithTooManyRequests()},
	} {
		t.Run("refused with "+strconv.Quote(refused), func(t *testing.T) {
			t.Parallel()
			layers, clients := connectionsPerAddress(20)
			l := httplimit.Listener(listenLoopback(t), layers, opts...)
			greet(t, l, 2)
			other := make(chan map[string]int)
			go func() { other <- hear(t, l, clientAt("127.0.0.2"), 20) }()
			require.Equal(t, map[string]int{"hello": 20, refused: 180}, hear(t, l, clientAt("127.0.0.1"), 200))
			require.Equal(t, map[string]int{"hello": 20}, <-other)
			require.Equal(t, map[string]int{refused: 1}, hear(t, l, clientAt("127.0.0.2"), 1))
			require.Equal(t, weir.Stats{Allowed: 40, Denied: 181, Clients: 2}, clients.Stats())
		})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(files)
}

// It is not parallel: others open files as well.
func TestRefusedConnectionsLeaveNoFilesOpen(t *testing.T) {
	const n, slack = 600, 50
	layers, _ := connectionsPerAddress(1)
	require.True(t, layers.Allow(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	for _, test := range []struct {
		lingering int
		opts      []httplimit.ListenerOption
	}{{0, nil}, {128, []httplimit.ListenerOption{httplimit.WithTooManyRequests()}}} {
		l := httplimit.Listener(listenLoopback(t), layers, test.opts...)
		greet(t, l, 1)
		before := openFiles(t)
		for range n {
			if conn, err := net.DialTimeout("tcp", l.Addr().String(), hang); err == nil {
				_ = conn.Close()
			}
		}
		_, _ = hears(l, net.Dialer{}) // accepted in turn, it is refused after all others
		require.LessOrEqual(t, openFiles(t), before+test.lingering+slack)
		require.NoError(t, l.Close())
		require.LessOrEqual(t, openFiles(t), before+slack)
	}
}

func TestAResetLeavesNothingInTimeWait(t *testing.T) {
	t.Parallel()
	for _, inner := range []net.Listener{listenLoopback(t), tls.NewListener(listenLoopback(t), &tls.Config{})} {
		layers, _ := connectionsPerAddress(1)
		l := httplimit.Listener(inner, layers)
		require.True(t, layers.Allow(l.Addr()))
		greet(t, l, 1)
		for range 50 {
			_, err := hears(l, net.Dialer{}) // which closes after this side
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}
		const timeWait = "06"
		table, err := os.ReadFile("/proc/net/tcp")
		require.NoError(t, err)
		here := fmt.Sprintf("0100007F:%04X", l.Addr().(*net.TCPAddr).Port)
		listening := false
		for line := range strings.Lines(string(table)) {
			if fields := strings.Fields(line); fields[1] == here {
				listening = true
				require.NotEqual(t, timeWait, fields[3], line)
			}
		}
		require.True(t, listening, "the table was read as it is")
	}
}
