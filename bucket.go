package weir

import (
	"math"
	"math/bits"
	"time"
)

// An instant is kept in ticks of 1/8 ns, modulo 2^64: fine enough that the
// rounded interval of a million per second is 0.0125 % too long at most, and
// wide enough to tell apart two instants that are 36.5 years from each other.
const ticksPerNano = 8

// tickOrigin is the tick of the clock's origin. It is no multiple of
// ticksPerNano, so that no whole nanosecond is the word 0, which means full.
const tickOrigin = 0x9e3779b97f4a7c15

// ticks returns the instant of a clock reading.
func ticks(now int64) uint64 { return uint64(now)*ticksPerNano + tickOrigin }

// debtSlack is by how much a debt may seem to be above the capacity: a reading
// may be a little late for the word. What is further ahead than that is no debt
// but an instant long past, modulo 2^64.
const debtSlack = ticksPerNano * uint64(365*24*time.Hour)

// A bucket drains by one token an interval. All that it remembers is one word:
// the instant when it will be full again, or 0 for a full one.
//
//	debt(t)   = max(0, word - t)
//	tokens(t) = floor((capacity - debt(t)) / interval)
//	take n    : word = t + debt(t) + n * interval, if that is at most t + capacity
//
// This is the virtual scheduling form of the Generic Cell Rate Algorithm
// (ITU-T I.371 Annex A; ATM Forum Traffic Management 4.1): word is its
// theoretical arrival time, and capacity its burst tolerance plus an interval.
type bucket struct {
	interval uint64 // ticks a token, rounded up
	capacity uint64 // ticks of a whole burst, at most maxSpan
}

// debt returns the ticks at now until the bucket is full. idle is the time in
// nanoseconds since the state was last charged: beyond maxSpan a word would be
// misread, and every bucket is full.
func (b bucket) debt(word uint64, now int64, idle uint64) uint64 {
	if word == 0 || idle > uint64(maxSpan) {
		return 0
	}
	debt := word - ticks(now)
	if debt > b.capacity+debtSlack {
		return 0
	}
	return debt
}

// fullFor returns how long a full bucket has been full at now.
func (b bucket) fullFor(word uint64, now int64) time.Duration {
	return time.Duration((ticks(now) - word) / ticksPerNano)
}

// wait returns how long it takes a debt to shrink so far that n, not more than
// a whole burst, can be taken.
func (b bucket) wait(debt uint64, n int64) time.Duration {
	need := debt + uint64(n)*b.interval
	if n == 0 || need <= b.capacity {
		return 0
	}
	return nanos(need - b.capacity)
}

// tokens returns how many a debt leaves.
func (b bucket) tokens(debt uint64) int64 {
	if debt >= b.capacity {
		return 0
	}
	return int64((b.capacity - debt) / b.interval)
}

// word returns the word of a bucket with that debt, which is not 0, at now.
func (b bucket) word(debt uint64, now int64) uint64 {
	word := ticks(now) + debt
	if word == 0 || word == reserved {
		return 1 // these two mean something else; 1 is a little later than either
	}
	return word
}

// within returns how many intervals begin in a span of d.
func (b bucket) within(d time.Duration) int64 {
	hi, lo := bits.Mul64(uint64(d-1), ticksPerNano)
	if hi >= b.interval {
		return math.MaxInt64
	}
	n, _ := bits.Div64(hi, lo, b.interval)
	return clampInt64(n)
}

// nanos returns ticks as a duration, rounded up: never too early.
func nanos(ticks uint64) time.Duration {
	return time.Duration(ticks/ticksPerNano + min(1, ticks%ticksPerNano))
}
