package httplimit

import (
	"context"
	"sync"
	"time"
)

// askWithin is how long a remote layer may take over a connection. All others
// wait behind it.
const askWithin = 100 * time.Millisecond

// patience is a context that is done askWithin after it was first looked at. One
// whose time ran from the start could be over before the layers are asked, on a
// busy machine, and let in somebody whom no remote layer has to do with.
type patience struct {
	context.Context // the listener's

	mu   sync.Mutex
	ends context.Context // nil until somebody looks
	stop context.CancelFunc
}

func (p *patience) begun() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends == nil {
		p.ends, p.stop = context.WithTimeout(p.Context, askWithin)
	}
	return p.ends
}

func (p *patience) Done() <-chan struct{}       { return p.begun().Done() }
func (p *patience) Deadline() (time.Time, bool) { return p.begun().Deadline() }

// Err is no look: weir.Layers calls it before any layer is asked.
func (p *patience) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends == nil {
		return p.Context.Err()
	}
	return p.ends.Err()
}

// over frees what was needed to tell the time.
func (p *patience) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ends != nil {
		p.stop()
	}
}
