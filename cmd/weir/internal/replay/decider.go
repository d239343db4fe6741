package replay

import (
	"slices"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/accesslog"
	"github.com/goweir/weir/cmd/weir/internal/explain"
)

// A Decider sweeps once a minute, as a PerClient does unless it is told otherwise,
// but not for fewer requests than fewest: in a log of years that would be most of
// the work.
const (
	sweepEvery = time.Minute
	fewest     = 512
)

// A Decider decides about rows by a candidate. It is of one goroutine.
type Decider struct {
	clock  *weir.ManualClock
	now    int64
	width  int
	column int // of the key of a single layer
	single *weir.PerClient[accesslog.Key]
	layers *weir.Layers[[]uint64]

	// SweepRarely sweeps when twice as many clients are held as after the last time,
	// for whom Peak does not matter.
	SweepRarely bool

	held  []holder
	few   int   // clients that SweepRarely does not sweep for
	sweep int64 // when the next is due
	asked int   // since the last
	peak  Held
}

// A holder is a limiter that holds clients, and what each takes.
type holder struct {
	clients     *weir.PerClient[accesslog.Key]
	least, most int // bytes
}

// Held is how many clients limiters hold, and how many bytes those take: at least,
// and, with logs that are full, at most.
type Held struct{ Clients, Bytes, MostBytes int }

func (h Held) max(other Held) Held {
	return Held{max(h.Clients, other.Clients), max(h.Bytes, other.Bytes), max(h.MostBytes, other.MostBytes)}
}

// NewDecider returns a Decider for rows that have keys for these fields.
func NewDecider(c Candidate, fields []accesslog.Field) *Decider {
	d := &Decider{clock: weir.NewManualClock(), width: 1 + len(fields)}
	var layers []weir.Layer[[]uint64]
	for _, l := range c.Layers {
		if l.Global {
			layers = append(layers, weir.Global[[]uint64](weir.New(l.Policy, weir.WithClock(d.clock))))
			continue
		}
		clients := weir.NewPerClient[accesslog.Key](l.Policy, weir.WithClock(d.clock), weir.WithSweepEvery(0))
		column := 1 + slices.Index(fields, l.Field)
		least, most := explain.Bytes(l.Policy)
		d.held = append(d.held, holder{clients, least, most})
		d.single, d.column = clients, column
		layers = append(layers, weir.By(clients, func(row []uint64) (accesslog.Key, bool) {
			return accesslog.Key(row[column]), row[column] != uint64(accesslog.None)
		}))
	}
	if len(layers) > 1 || d.single == nil {
		d.single, d.layers = nil, weir.NewLayers(layers...)
	}
	return d
}

// Decide appends to verdicts whether each of the rows, which are in order of time,
// is allowed. A request without a key is not limited by the layers that it has no
// key for.
func (d *Decider) Decide(rows []uint64, verdicts []bool) []bool {
	for i := 0; i < len(rows); i += d.width {
		row := rows[i : i+d.width]
		d.asked++
		if at := int64(row[0]); at != d.now {
			d.advance(at)
		}
		ok := true
		switch {
		case d.layers != nil:
			ok = d.layers.Allow(row)
		case row[d.column] != uint64(accesslog.None):
			ok = d.single.Allow(accesslog.Key(row[d.column]))
		}
		verdicts = append(verdicts, ok)
	}
	return verdicts
}

// advance sets the clock, and sweeps by it.
func (d *Decider) advance(at int64) {
	d.clock.Advance(time.Duration(at - d.now))
	if d.now = at; at < d.sweep || d.asked < fewest {
		return
	}
	d.asked = 0
	d.sweep = at - at%int64(sweepEvery) + int64(sweepEvery)
	now := d.holds()
	d.peak = d.peak.max(now)
	if d.SweepRarely && now.Clients < max(d.few, 4096) {
		return
	}
	for _, h := range d.held {
		now.Clients -= h.clients.Sweep()
	}
	d.few = 2 * now.Clients
}

// holds returns what is held now.
func (d *Decider) holds() Held {
	var now Held
	for _, h := range d.held {
		n := h.clients.Len()
		now.Clients += n
		now.Bytes += n * h.least
		now.MostBytes += n * h.most
	}
	return now
}

// Peak returns the most that was held at once, in all layers together.
func (d *Decider) Peak() Held { return d.peak.max(d.holds()) }
