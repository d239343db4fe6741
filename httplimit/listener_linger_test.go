package httplimit_test

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/httplimit"
	"github.com/stretchr/testify/require"
)

// halfClosing is a connection that notes what is done with it, and when. To read from it panics.
type halfClosing struct {
	net.Conn
	began time.Time

	mu    sync.Mutex
	notes []note
}

type note struct {
	what  string
	after time.Duration // since it began
}

func (c *halfClosing) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, note{what, time.Since(c.began)})
}

// done is what was done, in order.
func (c *halfClosing) done() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.notes {
		all = append(all, n.what)
	}
	return all
}

// after is when that was done.
func (c *halfClosing) after(what string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notes[slices.IndexFunc(c.notes, func(n note) bool { return n.what == what })].after
}

func (c *halfClosing) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)} }

func (c *halfClosing) SetWriteDeadline(t time.Time) error {
	if time.Until(t) != time.Second {
		panic("a write has a second")
	}
	c.note("deadline")
	return nil
}

func (c *halfClosing) Write(b []byte) (int, error) {
	c.note("answer")
	return len(b), nil
}

func (c *halfClosing) CloseWrite() error {
	c.note("half")
	return nil
}

func (c *halfClosing) SetLinger(seconds int) error {
	if seconds != 0 {
		panic("it would linger in the kernel")
	}
	c.note("reset")
	return nil
}

func (c *halfClosing) Close() error {
	c.note("close")
	return nil
}

var (
	wholeLife = []string{"deadline", "answer", "half", "reset", "close"}
	answered  = wholeLife[:3]
)

// crowd is a listener with its connections, of which none is admitted.
type crowd struct {
	net.Listener
	accepts chan any
	all     []*halfClosing
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	layers, _ := connectionsPerAddress(1)
	require.True(t, layers.Allow((*halfClosing).RemoteAddr(nil)))
	inner := newScripted()
	inner.accepts = make(chan any)
	c := &crowd{Listener: httplimit.Listener(inner, layers, httplimit.WithTooManyRequests()), accepts: inner.accepts}
	t.Cleanup(func() { _ = c.Close() })
	go func() { _, _ = c.Accept() }()
	return c
}

// connect has one more connection refused.
func (c *crowd) connect() *halfClosing {
	conn := &halfClosing{began: time.Now()}
	c.all = append(c.all, conn)
	c.accepts <- conn
	synctest.Wait()
	return conn
}

// counts checks that the oldest goes first in everything.
func (c *crowd) counts(t *testing.T) (unanswered, open int) {
	t.Helper()
	for _, conn := range c.all {
		done := conn.done()
		switch len(done) {
		case len(wholeLife):
			require.Equal(t, wholeLife, done)
			require.Zero(t, open, "an older one is open")
		case len(answered):
			require.Equal(t, answered, done)
			require.Zero(t, unanswered, "an older one is not answered")
			open++
		case 0:
			unanswered++
			open++
		default:
			require.Fail(t, "half done", "%q", done)
		}
	}
	return unanswered, open
}

func TestRefusedConnectionsAreAnsweredAndClosedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		for range 20 {
			for range 10 {
				c.connect()
				time.Sleep(7 * time.Millisecond)
			}
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for i, conn := range c.all {
			require.Equal(t, wholeLife, conn.done(), i)
			require.Equal(t, 50*time.Millisecond, conn.after("answer"), i)
			require.Equal(t, 1050*time.Millisecond, conn.after("close"), i)
		}
	})
}

// undated is a connection that has no deadlines.
type undated struct{ *halfClosing }

func (undated) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

func TestNothingIsWrittenThatCouldBlockForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, conn := newCrowd(t), undated{&halfClosing{}}
		c.accepts <- conn
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, wholeLife[2:], conn.done())
	})
}

func TestNoMoreThanSoManyRefusedConnectionsLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		for i := 1; i <= 200; i++ { // at once
			c.connect()
			unanswered, open := c.counts(t)
			require.Equal(t, min(i, 64), unanswered)
			require.Equal(t, min(i, 128), open)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 400 {
			c.connect()
			time.Sleep(time.Duration(random.IntN(4000)) * time.Duration(random.IntN(4000))) // 4 ms in the mean
			synctest.Wait()
			unanswered, open := c.counts(t)
			require.LessOrEqual(t, unanswered, 64)
			require.LessOrEqual(t, open, 128)
		}
		time.Sleep(1050 * time.Millisecond)
		synctest.Wait()
		for i, conn := range c.all {
			require.Equal(t, wholeLife, conn.done(), i)
			require.LessOrEqual(t, conn.after("answer"), 50*time.Millisecond, i)
			require.LessOrEqual(t, conn.after("close"), conn.after("answer")+time.Second, i)
		}
	})
}

func TestCloseClosesTheConnectionsThatLinger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		told := c.connect()
		time.Sleep(60 * time.Millisecond)
		untold := c.connect()
		require.NoError(t, c.Close())
		time.Sleep(2 * time.Second)
		require.Equal(t, wholeLife, told.done())
		require.Equal(t, 60*time.Millisecond, told.after("close"))
		require.Equal(t, []string{"reset", "close"}, untold.done())
		require.Zero(t, untold.after("close"))
	})
}

// closing is a listener that is closed while it accepts a connection.
type closing struct {
	net.Listener
	close func() error
}

func (l *closing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = l.close()
	}
	return conn, err
}

func TestAConnectionAcceptedWhileTheListenerClosesIsReset(t *testing.T) {
	t.Parallel()
	layers, clients := connectionsPerAddress(1) // which would admit it
	conn := &halfClosing{}
	inner := &closing{Listener: newScripted(conn)}
	l := httplimit.Listener(inner, layers, httplimit.WithTooManyRequests())
	inner.close = l.Close
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.Equal(t, []string{"reset", "close"}, conn.done())
	require.Zero(t, clients.Stats())
}

func TestAConnectionRefusedWhileTheListenerClosesIsReset(t *testing.T) {
	t.Parallel()
	_, clients := connectionsPerAddress(1)
	conn := &halfClosing{}
	require.True(t, clients.Allow(addressPrefix(conn.RemoteAddr())))
	var l net.Listener
	layer := weir.By(clients, func(a net.Addr) (netip.Prefix, bool) {
		require.NoError(t, l.Close())
		return addressPrefix(a), true
	})
	l = httplimit.Listener(newScripted(conn), weir.NewLayers(layer), httplimit.WithTooManyRequests())
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.Equal(t, []string{"reset", "close"}, conn.done())
}

func addressPrefix(a net.Addr) netip.Prefix {
	p, _ := httplimit.AddrIP(a)
	return p
}
