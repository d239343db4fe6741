package main

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"time"
)

// Results is all that a run found, and what it takes to write the pages.
type Results struct {
	Machine  Machine
	Redis    string `json:",omitempty"` // its version
	Quick    bool
	Rounds   int
	Took     time.Duration
	Speeds   []Speed
	Memory   []Memory
	Latency  []Latency
	Swept    []time.Duration // what the sweeps took
	Reloaded []Reload
	Admitted []Admitted
}

// A Speed is what a case's decisions cost.
type Speed struct {
	Name, Title, About string
	New                bool // it brings new clients
	Rows               []SpeedRow
}

// A SpeedRow is one contender's nanoseconds an operation, a figure a round. The
// contenders' figures of one round were measured one right after the other.
type SpeedRow struct {
	By               string
	Floor            bool
	Serial, Parallel []float64
	Allocs           []float64 // an operation; none where new clients come
}

// Memory is what a client takes, and what a garbage collection does then.
type Memory struct {
	By      string
	Note    string
	Clients []int
	Bytes   []float64       // a client, at so many
	GC      []time.Duration // beside the most clients
	Without []time.Duration // before the first one
}

// A Latency is how long single decisions took.
type Latency struct {
	By, When        string
	P50, P99, P9999 []time.Duration // a figure a round
	Max             time.Duration
	Count           uint64
}

// A Reload is what replacing a policy took.
type Reload struct {
	What string
	Took []time.Duration // a figure a round
}

// Admitted is how many were let through, and how many the limit is.
type Admitted struct {
	By              string
	Waits           bool
	Admitted, Limit []int
	Asked           []int
}

func median[T float64 | time.Duration](of []T) T {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func (r Results) speed(name string) *Speed {
	i := slices.IndexFunc(r.Speeds, func(s Speed) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Speeds[i]
}

func (s *Speed) row(by string) *SpeedRow {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Rows, func(r SpeedRow) bool { return r.By == by })
	if i < 0 {
		return nil
	}
	return &s.Rows[i]
}

func (r Results) latency(by, when string) *Latency {
	i := slices.IndexFunc(r.Latency, func(l Latency) bool { return l.By == by && l.When == when })
	if i < 0 {
		return nil
	}
	return &r.Latency[i]
}

// mostAllocs returns the most that weir allocates for one operation in these
// cases, and NaN unless all of them were measured.
func (r Results) mostAllocs(cases ...string) (most float64) {
	for _, name := range cases {
		s := r.speed(name)
		if s == nil {
			return math.NaN()
		}
		for _, row := range s.Rows {
			if !isWeir(row.By) {
				continue
			}
			if len(row.Allocs) == 0 {
				return math.NaN()
			}
			most = max(most, slices.Max(row.Allocs))
		}
	}
	return most
}

// allocs returns how much one of a case's contenders allocates, NaN if that was
// not counted.
func (s *Speed) allocs(by string) float64 {
	row := s.row(by)
	if row == nil || len(row.Allocs) == 0 {
		return math.NaN()
	}
	return median(row.Allocs)
}

func (r Results) memory(by string) *Memory {
	i := slices.IndexFunc(r.Memory, func(m Memory) bool { return m.By == by })
	if i < 0 {
		return nil
	}
	return &r.Memory[i]
}

func readResults(file string) (r Results, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}
