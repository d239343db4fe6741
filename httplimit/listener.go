package httplimit

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/goweir/weir"
)

// Listener returns a listener that accepts from l what the layers allow, at a
// cost of 1 for each connection, and refuses the others before a byte is read from
// them. Key the layers with [AddrIP] or [AddressKey.AddrFunc]. It panics if l or
// layers is nil.
//
// A refused connection is reset (RST), which leaves nothing behind on this side,
// neither a file descriptor nor a socket in TIME_WAIT; its client reads
// "connection reset by peer". What is no TCP connection is just closed. With
// [WithTooManyRequests] the client is told why.
//
// Accept returns the errors of l's Accept, temporary ones too, as they are, and
// none of its own: it goes on to the next connection when one is refused. Close
// closes l. All methods are safe for concurrent use if l's are. For the deadline,
// the file or the descriptor of a listener, keep l: they work as before.
//
// Let l be the listener on the socket. One around this one, such as netutil's
// LimitListener, then does not count what is refused, and with tls.NewListener or
// Server.ServeTLS around it no handshake is made with who is refused. The
// RemoteAddr of l's connections must not block, as it does where it is read from
// a PROXY header.
//
// A connection counts once, however many requests it carries: the requests need
// a limit of their own. Behind a load balancer all connections are the balancer's.
//
// Remote layers are asked one connection after the other, for at most 100 ms.
// If one fails, nothing is charged, and the connection is accepted unless
// [WithOnError] says otherwise. To let local layers refuse even then, nest two
// listeners: Listener(Listener(l, local), remote).
func Listener(l net.Listener, layers *weir.Layers[net.Addr], opts ...ListenerOption) net.Listener {
	if l == nil || layers == nil {
		panic("httplimit: Listener needs a listener and layers, and one of them is nil")
	}
	ctx, cancel := context.WithCancel(context.Background())
	limited := &listener{Listener: l, layers: layers, ctx: ctx, cancel: cancel}
	for _, option := range opts {
		if option == nil {
			panic("httplimit: a nil ListenerOption")
		}
		option(limited)
	}
	return limited
}

// A ListenerOption changes what a Listener does.
type ListenerOption func(*listener)

// WithTooManyRequests answers refused connections with a bare 429 in HTTP/1.1,
// with Retry-After unless no wait would help. Nothing is read from them: a client
// gets its answer some 50 ms after it has connected, in which it can send its
// request, as some do not expect an answer earlier, net/http's Transport for one.
// It then has a second to read it before the connection is reset. No more than
// 128 are kept so, without goroutines; when more come, answers go out earlier and
// the oldest are reset, as all are by Close. A client that closes in time leaves
// its connection in TIME_WAIT on this side, as wherever the server ends it first.
//
// Where connections carry TLS, leave this out: the answer is plain text, and the
// client would report a broken handshake. Clients that speak HTTP/2 from the
// start, or another protocol, cannot read it either. One that sends a body larger
// than the socket buffers and reads only after it, as Python's http.client does,
// sees a broken connection. A connection without CloseWrite and one of crypto/tls
// are reset at once.
func WithTooManyRequests() ListenerOption {
	return func(l *listener) { l.answers = true }
}

// WithOnError sets what is called when a remote layer failed, or did not answer
// in time, for a connection from that address: it reports whether to accept it.
// The default accepts all. The connection is otherwise reset, without an answer.
// It is called by Accept, and by several at once if several are called.
func WithOnError(accept func(net.Addr, error) bool) ListenerOption {
	if accept == nil {
		panic("httplimit: WithOnError(nil): leave it out to accept all")
	}
	return func(l *listener) { l.onError = accept }
}

type listener struct {
	net.Listener
	layers  *weir.Layers[net.Addr]
	answers bool
	onError func(net.Addr, error) bool // nil accepts all
	ctx     context.Context            // done when closed, so that no remote layer holds up Accept
	cancel  context.CancelFunc
	refused lingering
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.admits(conn) {
			return conn, nil
		}
	}
}

// admits decides, and does with a refused connection all that is to be done.
func (l *listener) admits(conn net.Conn) bool {
	addr := conn.RemoteAddr()
	ctx := &patience{Context: l.ctx}
	defer ctx.over()
	d, err := l.layers.TakeContext(ctx, addr, 1)
	switch {
	case d.Allowed:
		return true
	case err == nil && l.answers && canAnswer(conn):
		l.refused.add(conn, d)
		return false
	case err != nil && l.ctx.Err() == nil && (l.onError == nil || l.onError(addr, err)):
		return true
	}
	reset(conn)
	return false
}

// Close closes the listener that this one accepts from.
func (l *listener) Close() error {
	l.cancel()
	err := l.Listener.Close()
	l.refused.close()
	return err
}

// canAnswer reports whether an answer can be written to conn without a word from
// the other side, and be followed by an end that is no reset.
func canAnswer(conn net.Conn) bool {
	_, halfCloses := conn.(interface{ CloseWrite() error })
	_, shakesHands := conn.(interface{ HandshakeContext(context.Context) error })
	return halfCloses && !shakesHands
}

// reset closes a connection. Where it is TCP, no FIN is sent that the client would
// have to answer, and no state of the connection is kept.
func reset(conn net.Conn) {
	tcp := conn
	if secure, ok := conn.(*tls.Conn); ok {
		tcp = secure.NetConn()
	}
	if tcp, ok := tcp.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // fails if the connection is gone
	}
	_ = conn.Close()
}
