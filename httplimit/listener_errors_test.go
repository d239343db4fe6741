package httplimit_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// scripted is a listener whose Accept returns what it is told to.
type scripted struct {
	accepts chan any // net.Conn or error
	done    chan struct{}
	once    sync.Once
}

func newScripted(accepts ...any) *scripted {
	s := &scripted{accepts: make(chan any, len(accepts)), done: make(chan struct{})}
	for _, a := range accepts {
		s.accepts <- a
	}
	return s
}

func (s *scripted) Accept() (net.Conn, error) {
	select {
	case <-s.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case a := <-s.accepts:
		conn, _ := a.(net.Conn)
		err, _ := a.(error)
		return conn, err
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *scripted) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (s *scripted) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

// pipe is a connection from that address, and its other end.
func pipe(address string) (server, client net.Conn) {
	server, client = net.Pipe()
	return connFrom{server, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}, client
}

func TestListenerReturnsErrorsAsTheyAre(t *testing.T) {
	t.Parallel()
	full := &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept", syscall.EMFILE)}
	late := &net.OpError{Op: "accept", Net: "tcp", Err: os.ErrDeadlineExceeded}
	odd := errors.New("odd")
	first, _ := pipe("192.0.2.1:1")
	second, refused := pipe("192.0.2.1:2")
	third, alsoRefused := pipe("192.0.2.1:3")
	other, _ := pipe("192.0.2.2:1")
	layers, _ := connectionsPerAddress(1)
	l := httplimit.Listener(newScripted(first, full, full, second, late, third, other, odd, net.ErrClosed), layers)
	for i, want := range []any{first, full, full, late, other, odd, net.ErrClosed} {
		conn, err := l.Accept()
		if wanted, ok := want.(net.Conn); ok {
			require.NoError(t, err, i)
			require.Equal(t, wanted, conn, i)
		} else {
			require.Nil(t, conn, i)
			require.True(t, err == want, "%d: %v", i, err)
		}
	}
	for _, client := range []net.Conn{refused, alsoRefused} {
		n, err := client.Read(make([]byte, 1))
		require.Zero(t, n)
		require.ErrorIs(t, err, io.EOF)
	}
}

func TestListenerClosesAPipeRatherThanWaitForItsReader(t *testing.T) {
	t.Parallel()
	refused, client := pipe("192.0.2.1:2")
	other, _ := pipe("192.0.2.2:1")
	layers, _ := connectionsPerAddress(1)
	require.True(t, layers.Allow(refused.RemoteAddr()))
	l := httplimit.Listener(newScripted(refused, other), layers, httplimit.WithTooManyRequests())
	conn, err := l.Accept()
	require.NoError(t, err)
	require.Equal(t, other, conn)
	_, err = client.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestListenerRefusesBadInput(t *testing.T) {
	t.Parallel()
	layers, l := weir.NewLayers[net.Addr](), newScripted()
	const missing = "httplimit: Listener needs a listener and layers, and one of them is nil"
	require.PanicsWithValue(t, missing, func() { httplimit.Listener(nil, layers) })
	require.PanicsWithValue(t, missing, func() { httplimit.Listener(l, nil) })
	require.PanicsWithValue(t, "httplimit: a nil ListenerOption", func() { httplimit.Listener(l, layers, nil) })
	require.PanicsWithValue(t, "httplimit: WithOnError(nil): leave it out to accept all", func() { httplimit.WithOnError(nil) })
}
