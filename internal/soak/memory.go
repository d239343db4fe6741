package main

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// slack is what the runtime itself may hold more of: it keeps what goroutines
// and timers there were at most took, and does not always collect everything.
const slack = 2 << 20

// A footprint is what is held when nothing is done.
type footprint struct {
	heap       uint64
	goroutines int
}

// measure collects all garbage, that of which the end is noticed only then too.
func measure() footprint {
	for range 3 {
		runtime.GC()
	}
	return footprint{heapNow(), runtime.NumGoroutine()}
}

// heapNow returns how many bytes objects take that are not freed yet.
func heapNow() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// over returns an error if there is more than there was.
func (f footprint) over(floor footprint) error {
	switch {
	case f.heap > floor.heap+slack:
		return fmt.Errorf("%s of heap, %s before", mega(f.heap), mega(floor.heap))
	case f.goroutines > floor.goroutines:
		return fmt.Errorf("%d goroutines, %d before", f.goroutines, floor.goroutines)
	}
	return nil
}

// patience is for what timers have started and may still be about to end.
const patience = 2 * time.Second

// backTo measures until there is no more than there was, or patience is over.
func backTo(floor footprint) (footprint, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		f := measure()
		if err := f.over(floor); err == nil || time.Now().After(deadline) {
			return f, err
		}
	}
}

func mega(bytes uint64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
