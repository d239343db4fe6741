package replay

import "time"

// MostBins is how many spans a Timeline has at most.
const MostBins = 480

// A Timeline is requests over time, in spans of the same length, a second at first,
// which begin at round times. When the log goes on for longer than there are spans,
// some become one.
type Timeline struct {
	Start time.Time // of the first span
	Width time.Duration
	Bins  []Bin

	start int64 // Start in nanoseconds
	end   int64 // of the last span
}

// A Bin is what was asked for in a span.
type Bin struct{ Requests, Denied uint32 }

// widths are those of spans; from the last on, each is twice the one before.
var widths = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
	3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// A merger makes fewer spans of many: the first of the new has begun skipped old
// ones before the first of the old, and each of the new is of as many old ones as
// factor says.
type merger struct{ factor, skipped int }

func (m merger) to(i int) int { return (i + m.skipped) / m.factor }

// add counts a request that is no older than the last, and returns how spans had to
// be merged for it.
func (t *Timeline) add(at int64, ok bool) (mergers []merger) {
	if at >= t.end || t.Bins == nil {
		mergers = t.extend(at)
	}
	b := &t.Bins[len(t.Bins)-1]
	b.Requests = saturatingInc(b.Requests)
	if !ok {
		b.Denied = saturatingInc(b.Denied)
	}
	return mergers
}

// extend adds spans up to the one of an instant.
func (t *Timeline) extend(at int64) (mergers []merger) {
	if t.Bins == nil {
		t.Start, t.Width = time.Unix(0, at).UTC().Truncate(time.Second), time.Second
		t.start = t.Start.UnixNano()
	}
	for (at-t.start)/int64(t.Width) >= MostBins { // no product: two centuries of spans overflow
		mergers = append(mergers, t.merge())
	}
	for n := int((at-t.start)/int64(t.Width)) + 1; len(t.Bins) < n; {
		t.Bins = append(t.Bins, Bin{})
	}
	t.end = t.start + int64(len(t.Bins))*int64(t.Width)
	return mergers
}

func (t *Timeline) merge() merger {
	width := 2 * t.Width
	for _, w := range widths {
		if w > t.Width {
			width = w
			break
		}
	}
	start := t.Start.Truncate(width)
	m := merger{int(width / t.Width), int(t.Start.Sub(start) / t.Width)}
	merged := make([]Bin, m.to(len(t.Bins)-1)+1)
	for i, b := range t.Bins {
		to := &merged[m.to(i)]
		to.Requests, to.Denied = saturatingAdd(to.Requests, b.Requests), saturatingAdd(to.Denied, b.Denied)
	}
	t.Start, t.start, t.Width, t.Bins = start, start.UnixNano(), width, merged
	return m
}

// last returns the span of the last request that was added.
func (t *Timeline) last() int { return len(t.Bins) - 1 }
