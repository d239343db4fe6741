package httplimit_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// hang is when a test gives up on the network.
const hang = time.Minute

// connectionsPerAddress are layers that admit n connections of each address, on a clock that stands still.
func connectionsPerAddress(n int, opts ...weir.Option) (*weir.Layers[net.Addr], *weir.PerClient[netip.Prefix]) {
	opts = append(opts, weir.WithClock(weir.NewManualClock()))
	clients := weir.NewPerClient[netip.Prefix](weir.TokenBucket(weir.PerHour(n)), opts...)
	return weir.NewLayers(weir.By(clients, httplimit.AddrIP)), clients
}

func listenLoopback(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.(*net.TCPListener)
}

// greet says hello to whoever is accepted, until l is closed.
func greet(t *testing.T, l net.Listener, acceptors int) {
	t.Helper()
	var group sync.WaitGroup
	for range acceptors {
		group.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "hello")
				_ = conn.Close()
			}
		})
	}
	t.Cleanup(func() {
		_ = l.Close()
		group.Wait()
	})
}

// hears connects and returns what it is told.
func hears(l net.Listener, dialer net.Dialer) (string, error) {
	dialer.Timeout = hang
	conn, err := dialer.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hang))
	said, err := io.ReadAll(conn)
	return string(said), err
}

// hear counts what n connections are told, some at a time: the first line, and nothing for those that are reset.
func hear(t *testing.T, l net.Listener, dialer net.Dialer, n int) map[string]int {
	t.Helper()
	const workers = 8
	heard := make(chan string)
	for worker := range workers {
		go func() {
			for range (n + worker) / workers {
				said, err := hears(l, dialer)
				if os.IsTimeout(err) {
					said = err.Error()
				}
				line, _, _ := strings.Cut(said, "\r\n")
				heard <- line
			}
		}()
	}
	count := map[string]int{}
	for range n {
		count[<-heard]++
	}
	return count
}

func TestListenerAcceptsExactlyWhatTheLimitAdmits(t *testing.T) {
	t.Parallel()
	layers, clients := connectionsPerAddress(7)
	l := httplimit.Listener(listenLoopback(t), layers)
	greet(t, l, 4)
	require.Equal(t, map[string]int{"hello": 7, "": 93}, hear(t, l, net.Dialer{}, 100))
	require.Equal(t, weir.Stats{Allowed: 7, Denied: 93, Clients: 1}, clients.Stats())
}

func TestListenerLetsShadowsAndOtherPeoplesLayersPass(t *testing.T) {
	t.Parallel()
	_, shadow := connectionsPerAddress(1, weir.WithShadow())
	_, others := connectionsPerAddress(1)
	layers := weir.NewLayers(
		weir.By(shadow, httplimit.AddrIP),
		weir.By(others, httplimit.AddressKey{Trusted: prefixes("127.0.0.0/8")}.AddrFunc()),
	)
	l := httplimit.Listener(listenLoopback(t), layers)
	greet(t, l, 1)
	require.Equal(t, map[string]int{"hello": 20}, hear(t, l, net.Dialer{}, 20))
	require.Equal(t, weir.Stats{Denied: 19, Shadowed: 19, Allowed: 1, Clients: 1}, shadow.Stats())
	require.Zero(t, others.Stats())
}

func TestListenerOnAUnixSocketHasOneKey(t *testing.T) {
	t.Parallel()
	layers, clients := connectionsPerAddress(3)
	dir := t.TempDir()
	inner, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	l := httplimit.Listener(inner, layers)
	greet(t, l, 1)
	named := net.Dialer{LocalAddr: &net.UnixAddr{Name: filepath.Join(dir, "c"), Net: "unix"}}
	require.Equal(t, map[string]int{"hello": 2}, hear(t, l, net.Dialer{}, 2))
	said, err := hears(l, named)
	require.NoError(t, err)
	require.Equal(t, "hello", said)
	require.Equal(t, map[string]int{"": 10}, hear(t, l, net.Dialer{}, 10))
	require.Zero(t, clients.Tokens(netip.Prefix{}))
	require.Equal(t, 1, clients.Len())
}

func TestListenerServesHTTPUntilShutdown(t *testing.T) {
	t.Parallel()
	layers, _ := connectionsPerAddress(2)
	l := httplimit.Listener(listenLoopback(t), layers)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()

	url := "http://" + l.Addr().String()
	for range 2 {
		client := &http.Client{Transport: &http.Transport{}, Timeout: hang}
		for range 10 { // over one connection
			_, body := get(t, client, url)
			require.Equal(t, "hello", body)
		}
		defer client.CloseIdleConnections()
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: hang}
	_, err := client.Get(url)
	require.Error(t, err)
	require.False(t, os.IsTimeout(err))

	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	require.NoError(t, server.Shutdown(ctx))
	require.ErrorIs(t, <-served, http.ErrServerClosed)
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestListenerWithinTLSRefusesHandshakes(t *testing.T) {
	t.Parallel()
	layers, clients := connectionsPerAddress(1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	s.Listener = httplimit.Listener(s.Listener, layers)
	s.StartTLS()
	defer s.Close()
	_, body := get(t, s.Client(), s.URL)
	require.Equal(t, "hello", body)
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	require.Error(t, err)
	require.Nil(t, conn)
	require.Equal(t, uint64(1), clients.Stats().Denied)
}

// Were it asked for an answer, crypto/tls would read a handshake first.
func TestListenerAroundTLSNeitherReadsNorWrites(t *testing.T) {
	t.Parallel()
	layers, _ := connectionsPerAddress(1)
	config := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		t.Error("a handshake was read")
		return nil, errors.New("no")
	}}
	l := httplimit.Listener(tls.NewListener(listenLoopback(t), config), layers, httplimit.WithTooManyRequests())
	require.True(t, layers.Allow(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	greet(t, l, 1)
	require.Equal(t, map[string]int{"": 3}, hear(t, l, net.Dialer{}, 3))
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	require.Error(t, err)
	require.Nil(t, conn)
}

func TestListenerClosesAsItsInnerOne(t *testing.T) {
	t.Parallel()
	layers, _ := connectionsPerAddress(1)
	for _, opts := range [][]httplimit.ListenerOption{nil, {httplimit.WithTooManyRequests()}} {
		inner, plain := listenLoopback(t), listenLoopback(t)
		l := httplimit.Listener(inner, layers, opts...)
		require.Equal(t, inner.Addr(), l.Addr())
		ended := make(chan error)
		for range 3 {
			go func() {
				_, err := l.Accept()
				ended <- err
			}()
		}
		require.NoError(t, l.Close())
		for range 3 {
			require.ErrorIs(t, <-ended, net.ErrClosed)
		}
		require.NoError(t, plain.Close())
		again, plainAgain := l.Close(), plain.Close()
		require.ErrorIs(t, again, net.ErrClosed)
		require.IsType(t, plainAgain, again)
		_, err := l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	}
}

// The deadline is the inner listener's, and connections that are refused do not put it off.
func TestListenerKeepsDeadlines(t *testing.T) {
	t.Parallel()
	layers, _ := connectionsPerAddress(1)
	inner := listenLoopback(t)
	l := httplimit.Listener(inner, layers)
	for range 3 {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
	}
	conn, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, inner.SetDeadline(time.Now().Add(50*time.Millisecond)))
	_, err = l.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())

	require.NoError(t, inner.SetDeadline(time.Time{}))
	greet(t, l, 1)
	require.Equal(t, map[string]int{"": 1}, hear(t, l, net.Dialer{}, 1))
}
