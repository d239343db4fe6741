package debuglimit

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// tick is how often who reads the stream is told.
	tick = time.Second
	// writeWithin bounds how long one is kept who does not take what is written.
	writeWithin = 10 * time.Second
	// mostReaders bounds what pages cost that somebody leaves open, or opens by the thousand.
	mostReaders = 256
)

// stream serves the counters as server-sent events (HTML Standard, 9.2), one a second: "limiters",
// when these are not what they were, and "counters".
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	if p.readers.Add(1) > mostReaders {
		p.readers.Add(-1)
		w.Header().Set("Retry-After", "60")
		writeError(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages are open: close some", mostReaders))
		return
	}
	defer p.readers.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that it comes through, with Page.Allow
	if r.Method == http.MethodHead {
		return
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	reader := reader{w, http.NewResponseController(w), frame{}}
	for reader.tell(p.frames.of(p)) == nil {
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-p.ended.closed():
			return
		}
	}
}

// A reader is one who is told of frames.
type reader struct {
	http.ResponseWriter
	control *http.ResponseController
	last    frame
}

func (r *reader) tell(f frame) error {
	// Not every ResponseWriter has deadlines: then the server's own are what there is.
	_ = r.control.SetWriteDeadline(time.Now().Add(writeWithin))
	if r.last.about != f.about {
		if _, err := fmt.Fprintf(r, "event: limiters\ndata: %s\n\n", f.about); err != nil {
			return err
		}
	}
	r.last = f
	if _, err := fmt.Fprintf(r, "event: counters\ndata: %s\n\n", f.counters); err != nil {
		return err
	}
	return r.control.Flush()
}
