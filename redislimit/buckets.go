package redislimit

import (
	"encoding/binary"
	"time"

	"github.com/goweir/weir"
)

// A state of token buckets is the answer about them: what it says is found out here,
// where that is cheaper.
const (
	stateHead = 12 // bytes before the leaves
	debtBytes = 8  // of each: microseconds << 13 | ticks
)

// read returns what was decided about n: the state is that after it was taken, or if
// the id is not the policy's, what it would have been.
func (pl *plan) read(state string, n int) (d weir.Decision, taken int) {
	d.Allowed = state[:len(pl.id)] == pl.id
	for i, l := range pl.leaves {
		word := binary.BigEndian.Uint64([]byte(state[stateHead+i*debtBytes:]))
		debt, full := word>>13*ticksPerMicro+word&(1<<13-1), uint64(l.limit)*l.interval
		wait := time.Duration(ceil(max(debt, full)-full, ticksPerNano))
		if !d.Allowed {
			debt -= uint64(n) * l.interval
		}
		room := l.limit - int(ceil(debt, l.interval))
		if i == 0 || d.Allowed && room < d.Remaining || wait > d.RetryAfter {
			d.Policy, d.Limit, d.RetryAfter, d.ResetAfter = l.name, l.limit, wait, micros(ceil(debt, ticksPerMicro))
		}
		if i == 0 || room < d.Remaining {
			d.Remaining = room
		}
	}
	d.RetryAfter = micros(ceil(uint64(d.RetryAfter), 1000))
	if d.Allowed {
		taken = n
	}
	return d, taken
}

func ceil(a, b uint64) uint64 { return (a + b - 1) / b }

func micros(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
