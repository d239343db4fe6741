package replay

import "time"

// MostBins is how many spans a Timeline has at most.
const MostBins = 240

// A Timeline is requests over time, in spans of the same length, a second at first.
// When the log goes on for longer than there are spans, each two become one.
type Timeline struct {
	Start time.Time // of the first span
	Width time.Duration
	Bins  []Bin

	start int64 // Start in nanoseconds
	end   int64 // of the last span
}

// A Bin is what was asked for in a span.
type Bin struct{ Requests, Denied uint32 }

// add counts a request that is no older than the last, and returns how often the
// spans had to be made twice as long for it.
func (t *Timeline) add(at int64, ok bool) (halvings int) {
	if at >= t.end || t.Bins == nil {
		halvings = t.extend(at)
	}
	b := &t.Bins[len(t.Bins)-1]
	b.Requests = saturatingInc(b.Requests)
	if !ok {
		b.Denied = saturatingInc(b.Denied)
	}
	return halvings
}

// extend adds spans up to the one of an instant.
func (t *Timeline) extend(at int64) (halvings int) {
	if t.Bins == nil {
		t.Start, t.Width = time.Unix(0, at).UTC().Truncate(time.Second), time.Second
		t.start = t.Start.UnixNano()
	}
	for at-t.start >= MostBins*int64(t.Width) {
		t.halve()
		halvings++
	}
	for n := int((at-t.start)/int64(t.Width)) + 1; len(t.Bins) < n; {
		t.Bins = append(t.Bins, Bin{})
	}
	t.end = t.start + int64(len(t.Bins))*int64(t.Width)
	return halvings
}

func (t *Timeline) halve() {
	t.Width *= 2
	for i, b := range t.Bins {
		if i%2 == 0 {
			t.Bins[i/2] = b
			continue
		}
		t.Bins[i/2].Requests = saturatingAdd(t.Bins[i/2].Requests, b.Requests)
		t.Bins[i/2].Denied = saturatingAdd(t.Bins[i/2].Denied, b.Denied)
	}
	t.Bins = t.Bins[:(len(t.Bins)+1)/2]
}

// last returns the span of the last request that was added.
func (t *Timeline) last() int { return len(t.Bins) - 1 }
