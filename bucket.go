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

const year = 365 * 24 * time.Hour

// mostOverdraft is by how much Charge may bring a debt above the capacity.
const mostOverdraft = ticksPerNano * uint64(year)

// debtSlack is by how much the debt of a word alone may seem to be above the
// capacity: it may be overdrawn, and a reading a little late for it. What is
// further ahead is no debt but an instant long past, modulo 2^64.
const debtSlack = 2 * mostOverdraft

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

// debt returns the ticks at now until the bucket is full. A word that is more
// than furthest ahead is one that time has passed.
func (b bucket) debt(word uint64, now int64, furthest uint64) uint64 {
	debt := word - ticks(now)
	if word == 0 || debt > furthest {
		return 0
	}
	return debt
}

// furthest returns how far ahead a word that stands alone can be.
func (b bucket) furthest() uint64 { return b.capacity + debtSlack }

// unpassed returns a word that stands alone, or the one for full if time has
// passed it.
func (b bucket) unpassed(word uint64, now int64) uint64 {
	if b.debt(word, now, b.furthest()) == 0 {
		return 0
	}
	return word
}

// draw returns a debt with n more, as many as a debt may have.
func (b bucket) draw(debt uint64, n int64) uint64 {
	most := b.capacity + mostOverdraft
	if hi, lo := bits.Mul64(uint64(n), b.interval); hi == 0 && lo <= most {
		return max(debt, min(debt+lo, most))
	}
	return max(debt, most)
}

// fullFor returns how long a full bucket has been full at now.
func (b bucket) fullFor(word uint64, now int64) time.Duration {
	return time.Duration((ticks(now) - word) / ticksPerNano)
}

// wait returns how long it takes a debt to shrink so far that n, not more than
// a whole burst, can be taken.
func (b bucket) wait(debt uint64, n int64) time.Duration {
	most := b.capacity - uint64(n)*b.interval // that n leaves room for
	if n == 0 || debt <= most {
		return 0
	}
	return nanos(debt - most)
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
	if word-leastReserved <= math.MaxUint64-leastReserved+1 {
		return 1 // the reserved ones and 0 mean something else; 1 is a little later
	}
	return word
}

// wordOrFull is word for a debt that may be 0.
func (b bucket) wordOrFull(debt uint64, now int64) uint64 {
	if debt == 0 {
		return 0
	}
	return b.word(debt, now)
}

// owed returns how many a debt is for, rounded up.
func (b bucket) owed(debt uint64) int64 {
	return clampInt64(debt/b.interval + min(1, debt%b.interval))
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
