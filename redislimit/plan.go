package redislimit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// mostCount bounds the counts and bursts of limits, so that the function's numbers
// are exact.
const mostCount = 1 << 40

// mostOddPeriod bounds a window's period that is not whole microseconds.
const mostOddPeriod = 1 << 52 * time.Nanosecond

// mostBuckets is how many a state may have to be taken of in one step: a function of
// Redis has no place for thousands of numbers at once.
const mostBuckets = 100

// A plan is a policy as the function reads it.
type plan struct {
	policy weir.Policy
	share  weir.Policy // which Local decides by
	id     string      // of all policies that are alike: but for names and queues
	number uint64      // the same, with fewer that could be mistaken for each other
	words  []string    // in prefix notation
	leaves []leaf
	logs   int

	buckets  bool // all leaves are token buckets, which have to admit together, and they are few
	capacity int  // the least of a leaf

	// told is when the store was told the policy, in nanoseconds since knowledge.began, and 0
	// if not yet: of all with the same id.
	told *atomic.Int64
}

// A leaf is what a Decision says of one.
type leaf struct {
	name     string
	limit    int
	interval uint64 // in ticks, of a token bucket
}

// newPlan returns an error for a policy that is invalid, or too large for the function.
func newPlan(p weir.Policy) (*plan, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("redislimit: %s", strings.TrimPrefix(err.Error(), "weir: "))
	}
	plan := &plan{policy: p, buckets: true, capacity: math.MaxInt, told: new(atomic.Int64)}
	if err := plan.add(p); err != nil {
		return nil, err
	}
	plan.buckets = plan.buckets && len(plan.leaves) <= mostBuckets
	plan.identify()
	return plan, nil
}

// identify finds out what follows from the words.
func (pl *plan) identify() {
	sum := sha256.Sum256([]byte(strings.Join(pl.words, " ")))
	sum[0] = sum[0]&0x3f | 0x40 // neither a count, nor what stands for none
	pl.id, pl.number = string(sum[:5]), binary.BigEndian.Uint64(sum[5:])
	for _, word := range pl.words {
		if word == "W" {
			pl.logs++
		}
	}
}

func (pl *plan) add(p weir.Policy) error {
	l, single := p.Limit()
	if !single {
		kind := "A"
		if p.Algorithm() == weir.AlgorithmFirstOf {
			kind = "O"
		}
		pl.say(kind, int64(len(p.Parts())))
		for _, part := range p.Parts() {
			if err := pl.add(part); err != nil {
				return err
			}
		}
		return nil
	}
	capacity, ticks := l.Burst(), uint64(0)
	if p.Algorithm() == weir.AlgorithmLeakyBucket {
		capacity = min(capacity, 1)
	}
	switch {
	case l == weir.Unlimited():
		pl.say("K", -1)
		capacity = math.MaxInt
	case l.Count() == 0 || capacity == 0:
		pl.say("K", 0)
		capacity = 0
	case max(int64(l.Count()), int64(l.Burst())) > mostCount:
		return fmt.Errorf("redislimit: %v: a count or burst of more than %d, which is what the store counts exactly", p, int64(mostCount))
	default:
		ticks = interval(l)
		if err := pl.addLimited(p, l, capacity, ticks); err != nil {
			return err
		}
	}
	pl.leaves = append(pl.leaves, leaf{p.Name(), capacity, ticks})
	pl.capacity = min(pl.capacity, capacity)
	return nil
}

func (pl *plan) addLimited(p weir.Policy, l weir.Limit, capacity int, ticks uint64) error {
	period, unit := int64(l.Period()/time.Microsecond), int64(1)
	if l.Period()%time.Microsecond != 0 {
		period, unit = int64(l.Period()), int64(time.Microsecond)
	}
	windows := "F"
	switch p.Algorithm() {
	case weir.AlgorithmTokenBucket, weir.AlgorithmLeakyBucket:
		pl.say("T", int64(ticks/ticksPerMicro), int64(ticks%ticksPerMicro), int64(capacity))
		return nil
	case weir.AlgorithmSlidingWindow:
		up := (l.Period() + time.Microsecond - 1).Truncate(time.Microsecond)
		pl.say("W", int64(capacity), int64(up/time.Microsecond), int64(up-l.Period()))
		return nil
	case weir.AlgorithmSlidingCounter:
		windows = "C"
	}
	if unit != 1 && l.Period() >= mostOddPeriod {
		return fmt.Errorf("redislimit: %v: a window of %v, which is too long to count in nanoseconds: make it whole microseconds", p, l.Period())
	}
	pl.say(windows, int64(capacity), period, unit)
	return nil
}

func (pl *plan) say(kind string, numbers ...int64) {
	pl.buckets = pl.buckets && (kind == "T" || kind == "A")
	pl.words = append(pl.words, kind)
	for _, n := range numbers {
		pl.words = append(pl.words, strconv.FormatInt(n, 10))
	}
}

// ticksPerMicro is how finely a debt is kept, as in memory: in eighths of a
// nanosecond.
const (
	ticksPerMicro = 1000 * ticksPerNano
	ticksPerNano  = 8
)

// interval returns the time that one token takes, rounded up, in ticks.
func interval(l weir.Limit) uint64 {
	return ceil(uint64(l.Period())*ticksPerNano, uint64(l.Count()))
}
