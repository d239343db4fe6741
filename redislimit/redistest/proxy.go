package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Proxy is a bad network before a server. It is safe for concurrent use.
type Proxy struct {
	Addr     string
	target   atomic.Pointer[string]
	delay    atomic.Int64 // nanoseconds, each way
	drop     atomic.Bool
	cutEvery atomic.Int64
	pieces   atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once it is closed
	work  sync.WaitGroup
}

// StartProxy starts a proxy before an address that ends with the test.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{Addr: l.Addr().String(), conns: make(map[net.Conn]struct{})}
	p.Target(target)
	p.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for conn := range p.conns {
			_ = conn.Close()
		}
		p.conns = nil
		p.mu.Unlock()
		p.work.Wait()
	})
	return p
}

// Target sets where new connections lead.
func (p *Proxy) Target(addr string) { p.target.Store(&addr) }

// Delay delays what passes, in each direction.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Drop has nothing pass, or everything again: but never on a connection that has lost
// something.
func (p *Proxy) Drop(all bool) { p.drop.Store(all) }

// CutEvery resets a connection after half of each n-th piece that passes: 0 for none.
func (p *Proxy) CutEvery(n int) { p.cutEvery.Store(int64(n)) }

// Cut resets all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		reset(conn)
	}
}

func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func (p *Proxy) serve(client net.Conn) {
	defer p.forget(client)
	server, err := net.Dial("tcp", *p.target.Load())
	if err != nil {
		reset(client)
		return
	}
	defer p.forget(server)
	if !p.remember(client) || !p.remember(server) {
		return
	}
	lost := new(atomic.Bool)
	var back sync.WaitGroup
	back.Go(func() { p.pass(client, server, lost) })
	p.pass(server, client, lost)
	back.Wait()
}

func (p *Proxy) remember(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

func (p *Proxy) forget(conn net.Conn) {
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// pass passes on what comes, each piece when it is due, until either end is closed.
func (p *Proxy) pass(to, from net.Conn, lost *atomic.Bool) {
	type piece struct {
		due   time.Time
		bytes []byte
	}
	pieces := make(chan piece, 1024)
	var out sync.WaitGroup
	out.Go(func() {
		for piece := range pieces {
			time.Sleep(time.Until(piece.due))
			if n := p.cutEvery.Load(); n > 0 && p.pieces.Add(1)%n == 0 {
				_, _ = to.Write(piece.bytes[:len(piece.bytes)/2])
				reset(to)
				reset(from)
			} else if _, err := to.Write(piece.bytes); err != nil {
				reset(from)
			}
		}
		_ = to.Close()
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			break
		}
		if p.drop.Load() {
			lost.Store(true)
		}
		if !lost.Load() {
			pieces <- piece{time.Now().Add(time.Duration(p.delay.Load())), append([]byte(nil), buffer[:n]...)}
		}
	}
	close(pieces)
	out.Wait()
}
