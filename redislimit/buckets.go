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

func (pl *plan) size() int { return stateHead + debtBytes*len(pl.leaves) }

// read returns what was decided about n for one of those who asked for it so many
// times: the state is that afterwards, with how often n was taken. With false nothing
// was decided.
func (pl *plan) read(state string, n, times, who int) (d weir.Decision, ok bool) {
	number := binary.BigEndian.Uint64([]byte(state)) >> 24
	if state[:len(pl.id)] == pl.id {
		number = 1
	}
	if number > uint64(times) {
		return d, false
	}
	taken := int(number)
	d.Allowed = who <= taken
	for i, l := range pl.leaves {
		word := binary.BigEndian.Uint64([]byte(state[stateHead+i*debtBytes:]))
		debt, full := word>>13*ticksPerMicro+word&(1<<13-1), uint64(l.limit)*l.interval
		wait := time.Duration(0)
		if d.Allowed {
			debt -= uint64(taken-who) * uint64(n) * l.interval
		} else {
			wait = time.Duration(ceil(max(debt+uint64(n)*l.interval, full)-full, ticksPerNano))
		}
		room := max(0, l.limit-int(ceil(debt, l.interval)))
		if i == 0 || d.Allowed && room < d.Remaining || wait > d.RetryAfter {
			d.Policy, d.Limit, d.RetryAfter, d.ResetAfter = l.name, l.limit, wait, micros(ceil(debt, ticksPerMicro))
		}
		if i == 0 || room < d.Remaining {
			d.Remaining = room
		}
	}
	d.RetryAfter = micros(ceil(uint64(d.RetryAfter), 1000))
	return d, true
}

func ceil(a, b uint64) uint64 { return (a + b - 1) / b }

func micros(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
