package debuglimit

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/goweir/weir"
)

// A frame is what all who read the stream are told of an instant, as JSON.
type frame struct {
	at              time.Time
	about, counters string
}

// frames makes a frame for the first who asks, and gives it to those who ask soon after: many
// pages cost little more than one. Soon is a little less than a tick, so that nobody is told the same twice.
type frames struct {
	mu   sync.Mutex
	last frame
}

func (f *frames) of(p *Page) frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); f.last.at.IsZero() || now.Sub(f.last.at) >= tick*9/10 {
		f.last = newFrame(now, p.now())
	}
	return f.last
}

func newFrame(at time.Time, c *contents) frame {
	about := make([]limiter, len(c.entries))
	rows := make([]row, len(c.entries))
	for i, e := range c.entries {
		about[i] = c.about(e)
		rows[i] = rowOf(e.stats())
	}
	return frame{at, encode(about), encode(struct {
		At       int64 `json:"at"` // milliseconds; never steps, as rates are per what lies between two
		Counters []row `json:"counters"`
	}{weir.SystemClock().Now().Milliseconds(), rows})}
}

// A row is the counters of a limiter in the order that the script knows.
type row [9]uint64

func rowOf(s weir.Stats) row {
	return row{
		s.Allowed, s.Denied, s.Shadowed, uint64(s.Waiting), uint64(s.Clients),
		s.Evicted, s.Overflowed, s.Local, s.Fallback,
	}
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("debuglimit: " + err.Error()) // there is none of numbers and strings
	}
	return string(text)
}
