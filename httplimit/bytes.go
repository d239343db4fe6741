package httplimit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/goweir/weir"
)

// maxChunk is the most bytes that wait for their turn as one. A TLS record and,
// unless agreed otherwise, an HTTP/2 frame hold as much (RFC 8446, section 5.1;
// RFC 9113, section 4.2): more would save nothing on the wire, and those who share
// a limit would wait longer for each other.
const maxChunk = 16 << 10

// growAfter is how many chunks of a size are admitted before twice the size is
// tried, as there may be another policy by now. It is many because a limiter's
// Stats count a try in vain as denied.
const growAfter = 256

// A chunker cuts bytes into chunks and waits for the turn of each.
//
//	chunk <= size <= maxChunk; a byte moves once its chunk's wait has returned nil
//
// size follows the limiter's capacity from below, of which it knows only that
// ErrNever means that a chunk was larger.
type chunker struct {
	ctx  context.Context
	wait func(context.Context, int) error
	size int // bytes of the largest chunk to ask for
	full int // chunks of that size admitted since one was refused
}

func newChunker(ctx context.Context, wait func(context.Context, int) error) chunker {
	if wait == nil {
		panic("httplimit: byte rate with a nil wait: give it a limiter's WaitN")
	}
	return chunker{ctx: ctx, wait: wait, size: maxChunk}
}

// next waits for the turn of a chunk of at most n bytes, more than 0, and returns
// its size. On an error it is 0, and nothing is charged.
func (c *chunker) next(n int) (int, error) {
	for {
		chunk := min(n, c.size)
		err := c.wait(c.ctx, chunk)
		if err == nil {
			c.admitted(chunk)
			return chunk, nil
		}
		if chunk == 1 || !errors.Is(err, weir.ErrNever) {
			return 0, err
		}
		c.size, c.full = chunk/2, 0
	}
}

func (c *chunker) admitted(chunk int) {
	if chunk < c.size { // which says nothing about larger ones
		return
	}
	if c.full++; c.full >= growAfter {
		c.size = min(2*c.size, maxChunk)
	}
}

// each moves n bytes chunk by chunk: at its turn, do moves those at from up to
// to and returns how many it did. It ends with the first error, io.ErrShortWrite if
// do moved fewer and had none, and returns how many were moved. What of a chunk
// was not moved stays charged: whoever kept it could exceed the limit with it later.
func (c *chunker) each(n int, do func(from, to int) (int, error)) (int, error) {
	moved := 0
	for moved < n {
		chunk, err := c.next(n - moved)
		if err != nil {
			return moved, err
		}
		did, err := do(moved, moved+chunk)
		moved += did
		if err == nil && did < chunk {
			err = io.ErrShortWrite
		}
		if err != nil {
			return moved, err
		}
	}
	return moved, nil
}

// NewWriter returns a writer that passes bytes on to w as their turn comes. wait
// waits for the turn of so many bytes: the WaitN of a [weir.Limiter], or of one
// client of a [weir.PerClient]:
//
//	httplimit.NewWriter(ctx, w, func(ctx context.Context, n int) error {
//		return clients.WaitN(ctx, client, n)
//	})
//
// Readers and writers that wait for the same limiter share its rate, in turns of
// a chunk: at most 16 KiB, and at most the limiter's capacity, which is found by
// halving a chunk that fails with [weir.ErrNever] (the Stats count it as denied).
// Use weir.TokenBucket, whose rate is used to the last byte whatever its burst is. A
// window leaves unused what is less than the next chunk, so make it a multiple of
// 16 KiB or much more; a LeakyBucket lets single bytes through, one by one.
//
// Write returns how many bytes w has taken, with the error of w or of wait: ctx's
// once it is done, and at once one that is context.DeadlineExceeded if the turn of
// the next chunk would come after ctx's deadline. What w did not take of a chunk
// stays charged. An empty Write goes to w at once. A Write of w's that blocks is not
// ended by ctx.
//
// The writer has no other method than Write, so io.Copy cannot get around it. In a
// handler, the last few KiB that have passed stay in net/http's buffer until they
// are flushed, and the server's WriteTimeout goes on while a response waits. The
// writer is not safe for concurrent use. NewWriter panics if wait is nil.
func NewWriter(ctx context.Context, w io.Writer, wait func(context.Context, int) error) io.Writer {
	return &writer{newChunker(ctx, wait), w}
}

type writer struct {
	chunker
	w io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return w.w.Write(p)
	}
	return w.each(len(p), func(from, to int) (int, error) { return w.w.Write(p[from:to]) })
}

// NewReader returns a reader that hands out the bytes of r as their turn comes.
// For wait, chunks and policies see [NewWriter].
//
// A Read reads first, at most a chunk, then waits for as many bytes as it got, and
// then returns them: a limiter is charged for what was there to read, however
// large the buffer. When it cannot wait it returns wait's error and keeps the
// bytes; the next Read waits for them again, so a failure that passes loses
// nothing. Once ctx is done nothing more is read from r, and each Read returns
// ctx's error; a Read of r's that blocks is not ended by it. An error that r
// returns with bytes comes with the last of them.
//
// The reader has no other method than Read; for one with Close see [NewBody]. It
// is not safe for concurrent use. NewReader panics if wait is nil.
func NewReader(ctx context.Context, r io.Reader, wait func(context.Context, int) error) io.Reader {
	return &reader{chunker: newChunker(ctx, wait), r: r}
}

type reader struct {
	chunker
	r    io.Reader
	held []byte // read from r, and their turn is still to come
	err  error  // what r returned with the last of held
}

func (r *reader) Read(p []byte) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case len(r.held) > 0:
		return r.readHeld(p)
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p[:min(len(p), r.size)])
	if n <= 0 {
		return n, err
	}
	turn, failed := r.next(n)
	if turn == n {
		return n, err
	}
	r.held, r.err = slices.Clone(p[turn:n]), err
	return turn, failed
}

func (r *reader) readHeld(p []byte) (int, error) {
	n, err := r.next(min(len(p), len(r.held)))
	copy(p, r.held[:n])
	if r.held = r.held[n:]; len(r.held) == 0 {
		err = r.err
	}
	return n, err
}

// NewBody is [NewReader] for a body, of a request that is received or sent or of
// a response: Close ends a Read that waits, with context.Canceled, and closes
// body. It may be called during a Read if that of body may. A client's request
// has its body a second time in GetBody, for redirects: wrap that too.
// A nil body is http.NoBody.
func NewBody(ctx context.Context, body io.ReadCloser, wait func(context.Context, int) error) io.ReadCloser {
	if body == nil {
		body = http.NoBody
	}
	b := &limitedBody{reader: reader{chunker: newChunker(ctx, wait), r: body}, body: body}
	b.ctx, b.cancel = context.WithCancel(ctx)
	return b
}

type limitedBody struct {
	reader
	body   io.Closer
	cancel context.CancelFunc
}

func (b *limitedBody) Close() error {
	b.cancel()
	return b.body.Close()
}
