package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// A response is a ResponseWriter that is watched: what status it gets, and how fast
// its body goes.
type response struct {
	http.ResponseWriter
	status   int // 0 until it is written
	hijacked bool
	paced    *paced // nil without Bandwidth
}

// writer returns what a handler gets: a Flusher, Hijacker and Pusher where the
// ResponseWriter is one, or what that unwraps to, and not elsewhere, as handlers
// ask for these to find out what the connection can do.
func (w *response) writer() http.ResponseWriter {
	f, flushes := flusher{w}, can[http.Flusher](w.ResponseWriter)
	h, hijacks := hijacker{w}, can[http.Hijacker](w.ResponseWriter)
	p, pushes := pusher{w}, can[http.Pusher](w.ResponseWriter)
	switch {
	case flushes && hijacks && pushes:
		return struct {
			*response
			flusher
			hijacker
			pusher
		}{w, f, h, p}
	case flushes && hijacks: // HTTP/1
		return struct {
			*response
			flusher
			hijacker
		}{w, f, h}
	case flushes && pushes: // HTTP/2
		return struct {
			*response
			flusher
			pusher
		}{w, f, p}
	case hijacks && pushes:
		return struct {
			*response
			hijacker
			pusher
		}{w, h, p}
	case flushes:
		return struct {
			*response
			flusher
		}{w, f}
	case hijacks:
		return struct {
			*response
			hijacker
		}{w, h}
	case pushes:
		return struct {
			*response
			pusher
		}{w, p}
	}
	return w
}

// final returns the response's status when the handler has returned, or panicked.
func (w *response) final(returned bool) int {
	switch {
	case w.status != 0:
		return w.status
	case w.hijacked:
		return http.StatusSwitchingProtocols
	case !returned:
		return http.StatusInternalServerError
	}
	// Gin's handlers, and those of others, write around this one.
	if around, ok := w.ResponseWriter.(interface{ Status() int }); ok && around.Status() != 0 {
		return around.Status()
	}
	return http.StatusOK
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols { // no other 1xx is final
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// begin notes the first status. Of a connection that was hijacked none is written.
func (w *response) begin(status int) {
	if w.status == 0 && !w.hijacked {
		w.status = status
	}
}

func (w *response) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	if w.paced != nil {
		return w.paced.write(w.ResponseWriter, p)
	}
	return w.ResponseWriter.Write(p)
}

func (w *response) WriteString(s string) (int, error) {
	if w.paced != nil {
		return w.Write([]byte(s))
	}
	w.begin(http.StatusOK)
	return io.WriteString(w.ResponseWriter, s)
}

// ReadFrom has a file sent without a copy where the connection can, and nothing
// has to wait.
func (w *response) ReadFrom(src io.Reader) (int64, error) {
	if w.paced != nil {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	to, ok := w.ResponseWriter.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{w}, src)
	}
	n, err := to.ReadFrom(src)
	if n > 0 { // with nothing to write, nothing is begun
		w.begin(http.StatusOK)
	}
	return n, err
}

// A ResponseController does what a response, or one of those that it unwraps to, can.
type (
	flusher  struct{ w *response }
	hijacker struct{ w *response }
	pusher   struct{ w *response }
)

func (f flusher) Flush() { _ = f.FlushError() }

// CloseNotify is what Gin asks of every ResponseWriter that it streams to.
func (f flusher) CloseNotify() <-chan bool {
	if to, ok := find[interface{ CloseNotify() <-chan bool }](f.w.ResponseWriter); ok {
		return to.CloseNotify()
	}
	return nil // it never closes
}

func (f flusher) FlushError() error {
	f.w.begin(http.StatusOK)
	return http.NewResponseController(f.w.ResponseWriter).Flush()
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.w.ResponseWriter).Hijack()
	if err == nil {
		h.w.hijacked = true
	}
	return conn, rw, err
}

func (p pusher) Push(target string, opts *http.PushOptions) error {
	to, _ := find[http.Pusher](p.w.ResponseWriter)
	return to.Push(target, opts)
}

func can[T any](w http.ResponseWriter) bool {
	_, ok := find[T](w)
	return ok
}

// find returns what a ResponseWriter, or one that it unwraps to, is as well.
func find[T any](w http.ResponseWriter) (found T, ok bool) {
	for {
		if found, ok = w.(T); ok {
			return found, true
		}
		wrapper, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return found, false
		}
		w = wrapper.Unwrap()
	}
}
