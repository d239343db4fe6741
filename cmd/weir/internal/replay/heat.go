package replay

import (
	"slices"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
)

// mostHot is how many clients a heat map is kept of, and twice as many for a while.
const mostHot = 512

// A heat is when clients were denied, of those who are denied most: when there are
// too many, the ones with fewer denials than the middle one are forgotten, so that
// whoever has more than a mostHot-th of all denials is there, whole.
type heat struct{ clients map[accesslog.Key]*hot }

type hot struct {
	count int
	first int      // the span of the first denial
	bins  []uint32 // denials, by the spans of the Timeline from there
}

func (h *heat) add(k accesslog.Key, bin int) {
	if h.clients == nil {
		h.clients = map[accesslog.Key]*hot{}
	}
	c := h.clients[k]
	if c == nil {
		if len(h.clients) >= 2*mostHot {
			h.forget()
		}
		c = &hot{first: bin}
		h.clients[k] = c
	}
	at := bin - c.first
	for len(c.bins) <= at {
		c.bins = append(c.bins, 0)
	}
	c.count++
	c.bins[at] = saturatingInc(c.bins[at])
}

func (h *heat) forget() {
	counts := make([]int, 0, len(h.clients))
	for _, c := range h.clients {
		counts = append(counts, c.count)
	}
	slices.Sort(counts)
	middle := counts[len(counts)/2]
	for k, c := range h.clients {
		if c.count -= middle; c.count <= 0 {
			delete(h.clients, k)
		}
	}
}

func (h *heat) merge(m merger) {
	for _, c := range h.clients {
		first := m.to(c.first)
		merged := make([]uint32, m.to(c.first+len(c.bins)-1)-first+1)
		for i, n := range c.bins {
			to := &merged[m.to(c.first+i)-first]
			*to = saturatingAdd(*to, n)
		}
		c.first, c.bins = first, merged
	}
}

// Denials returns when a client was denied, by the spans of the Timeline: nil if that
// was forgotten, as it is of those who were denied seldom.
func (t *Tally) Denials(k accesslog.Key) []uint32 {
	c := t.heat.clients[k]
	if c == nil {
		return nil
	}
	bins := make([]uint32, len(t.timeline.Bins))
	copy(bins[c.first:], c.bins)
	return bins
}
