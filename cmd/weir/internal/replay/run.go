package replay

import (
	"sync"

	"github.com/goweir/weir/cmd/weir/internal/accesslog"
)

// A Trial is a candidate, and what became of whom under it.
type Trial struct {
	Candidate
	Decider *Decider
	Tally   *Tally

	verdicts []bool
}

// NewTrials returns a Trial of each candidate, for rows with keys for these fields.
// Where a candidate has no client of its own, key tells them apart.
func NewTrials(candidates []Candidate, key accesslog.Field, fields []accesslog.Field) []*Trial {
	trials := make([]*Trial, len(candidates))
	for i, c := range candidates {
		trials[i] = &Trial{Candidate: c, Decider: NewDecider(c, fields), Tally: NewTally(c.Client(key), fields)}
	}
	return trials
}

// Each has all trials decide about rows, each trial in a goroutine of its own.
func Each(trials []*Trial, rows []uint64) {
	if len(trials) == 1 {
		trials[0].add(rows)
		return
	}
	var all sync.WaitGroup
	for _, t := range trials {
		all.Go(func() { t.add(rows) })
	}
	all.Wait()
}

func (t *Trial) add(rows []uint64) {
	t.verdicts = t.Decider.Decide(rows, t.verdicts[:0])
	t.Tally.Add(rows, t.verdicts)
}
