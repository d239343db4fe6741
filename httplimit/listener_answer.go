package httplimit

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/goweir/weir"
)

const (
	// answerAfter is what a client gets to send its request in. net/http's Transport
	// takes an answer that comes earlier for a broken connection: on loopback, of
	// clients that were answered at once, one in a hundred did so.
	answerAfter = 50 * time.Millisecond
	// lingerFor is what it then gets to read the answer in: several round trips
	// around the world.
	lingerFor = time.Second
	// writeWithin bounds a write that blocks. Into a new socket it does not, so this is
	// long enough for any delay between setting the deadline and writing.
	writeWithin = time.Second

	// Each connection that lingers has a file descriptor, of 1024 perhaps.
	maxLingering  = 128
	maxUnanswered = maxLingering / 2
)

// lingering are refused connections that are to be answered. If one were closed
// right after that, with data unread that the client has sent, the kernel would
// send a reset, and the client's might throw the answer away.
//
//	len(conns) <= maxLingering, len(conns)-answered <= maxUnanswered
//
// The zero value has none. It is safe for concurrent use.
type lingering struct {
	mu       sync.Mutex
	conns    []refusal   // those that were answered, then the others; each the oldest first
	answered int         // how many were
	timer    *time.Timer // for the first one due; nil until there is one
	closed   bool
}

// A refusal is a connection that is told to go.
type refusal struct {
	conn   net.Conn
	answer []byte
	due    time.Time // to be answered, or when it was, to be closed
}

// add takes a connection over.
func (l *lingering) add(conn net.Conn, d weir.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		reset(conn)
		return
	}
	now := time.Now()
	l.conns = append(l.conns, refusal{conn, appendAnswer(nil, now, d), now.Add(answerAfter)})
	if len(l.conns)-l.answered > maxUnanswered {
		l.answerNext(now)
	}
	if len(l.conns) > maxLingering {
		l.resetOldest(1)
	}
	l.wakeLocked(now)
}

// wake does what is due.
func (l *lingering) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	over := 0
	for over < l.answered && !now.Before(l.conns[over].due) {
		over++
	}
	l.resetOldest(over)
	for l.answered < len(l.conns) && !now.Before(l.conns[l.answered].due) {
		l.answerNext(now)
	}
	l.wakeLocked(now)
}

// wakeLocked sets the timer, after whatever changed which one is due first.
func (l *lingering) wakeLocked(now time.Time) {
	if len(l.conns) == 0 {
		return
	}
	next := l.conns[0].due
	if l.answered < len(l.conns) && l.conns[l.answered].due.Before(next) {
		next = l.conns[l.answered].due
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(next.Sub(now), l.wake)
	} else {
		l.timer.Reset(next.Sub(now))
	}
}

// answerNext answers the oldest that was not, and half closes it: a client that
// reads to the end need not wait for ours.
func (l *lingering) answerNext(now time.Time) {
	r := &l.conns[l.answered]
	l.answered++
	r.due = now.Add(lingerFor)
	// If one of these fails, nobody is there to hear of it.
	if r.conn.SetWriteDeadline(time.Now().Add(writeWithin)) == nil {
		_, _ = r.conn.Write(r.answer)
	}
	_ = r.conn.(interface{ CloseWrite() error }).CloseWrite()
}

// resetOldest closes the n that were answered first.
func (l *lingering) resetOldest(n int) {
	for _, r := range l.conns[:n] {
		reset(r.conn)
	}
	l.conns = slices.Delete(l.conns, 0, n)
	l.answered -= n
}

// close closes them all, and whatever is added later.
func (l *lingering) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, r := range l.conns {
		reset(r.conn)
	}
	l.conns, l.answered = nil, 0
	if l.timer != nil {
		l.timer.Stop()
	}
}

// appendAnswer appends a response that is over with its head. Date is required of
// it by RFC 9110, section 6.6.1.
func appendAnswer(b []byte, now time.Time, d weir.Decision) []byte {
	b = append(b, "HTTP/1.1 429 Too Many Requests\r\nDate: "...)
	b = now.UTC().AppendFormat(b, http.TimeFormat)
	b = append(b, "\r\nContent-Length: 0\r\nConnection: close\r\nCache-Control: no-store\r\n"...)
	if seconds, ok := retrySeconds(d); ok {
		b = append(b, "Retry-After: "...)
		b = strconv.AppendUint(b, seconds, 10)
		b = append(b, "\r\n"...)
	}
	return append(b, "\r\n"...)
}
