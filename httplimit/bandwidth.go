package httplimit

import (
	"context"
	"net/http"
)

// paced has the body of a response wait for its turn.
type paced struct{ chunker }

// newPaced returns nil for a response that has no body to send.
func newPaced(r *http.Request, wait func(context.Context, *http.Request, int) error) *paced {
	if r.Method == http.MethodHead {
		return nil
	}
	return &paced{newChunker(r.Context(), func(ctx context.Context, n int) error { return wait(ctx, r, n) })}
}

func (p *paced) write(w http.ResponseWriter, b []byte) (int, error) {
	if len(b) == 0 {
		return w.Write(b)
	}
	return p.each(len(b), func(from, to int) (int, error) { return w.Write(b[from:to]) })
}
