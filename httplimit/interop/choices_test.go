package interop_test

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// choices are drawn from bytes: random ones, or those that a fuzzer tries. After
// the last one each is 0, which never leads to another.
type choices struct{ bytes []byte }

func (c *choices) below(n int64) int64 {
	var word [8]byte
	need := 1
	if n > 1<<8 {
		need = 8
	}
	c.bytes = c.bytes[copy(word[:need], c.bytes):]
	return int64(binary.LittleEndian.Uint64(word[:]) % uint64(n))
}

// oneIn is false once nothing is left to draw from.
func (c *choices) oneIn(n int64) bool { return c.below(n) == n-1 }

func pick[T any](c *choices, from ...T) T { return from[c.below(int64(len(from)))] }

func (c *choices) policies() []weir.Policy {
	n := 1 + c.below(3)
	if c.oneIn(10) {
		n = c.below(60)
	}
	var policies []weir.Policy
	for range n {
		policies = append(policies, c.policy(3))
	}
	return policies
}

// policy makes one of any algorithm, nested to that depth, now and then invalid.
func (c *choices) policy(depth int) weir.Policy {
	var p weir.Policy
	l := c.limit()
	window := weir.Per(l.Count(), l.Period())
	switch c.below(10) {
	case 0:
		p = weir.TokenBucket(l)
	case 1:
		p = weir.LeakyBucket(l, int(c.below(5)))
	case 2:
		p = weir.FixedWindow(window)
	case 3:
		p = weir.SlidingWindow(window)
	case 4:
		p = weir.SlidingCounter(window)
	case 5:
		p = weir.BurstReserve(l, c.limit())
	case 6:
		p = weir.Policy{}
	case 7:
		p = weir.TokenBucket(weir.Unlimited())
	default:
		var parts []weir.Policy
		for range c.below(4) {
			if depth > 0 {
				parts = append(parts, c.policy(depth-1))
			}
		}
		p = pick(c, weir.All, weir.FirstOf)(parts...)
	}
	if c.below(3) > 0 {
		p = p.Named(c.name())
	}
	return p
}

func (c *choices) limit() weir.Limit {
	number := func() int {
		return int(pick(c, 1, c.below(10), c.below(1<<16), c.below(math.MaxInt), math.MaxInt>>c.below(31)))
	}
	period := pick(c, time.Second, time.Minute, time.Hour, 24*time.Hour, 1, 1500*time.Millisecond,
		time.Duration(c.below(int64(time.Hour))), time.Duration(c.below(int64(40*365*24*time.Hour))))
	l := weir.Per(number(), period)
	if c.below(3) == 1 {
		l = l.WithBurst(number())
	}
	if c.oneIn(30) {
		l = weir.Limit{}
	}
	return l
}

// name makes one of pieces that are trouble in a String, in a header's line or in
// percent-encoding, or the next bytes as they are.
func (c *choices) name() string {
	var b strings.Builder
	for range c.below(6) {
		b.WriteString(pick(c, "login", `"`, `\`, "%", "%41", "%2", "ü", "限", "\x00", "\r\n", "\t", "\x7f", "\x80\xff",
			" ", ",", ";q=1", `";q=9,"`, "+", "a stranger's", string(rune(c.below(0x11000))), string([]byte{byte(c.below(256))})))
	}
	name := b.String()
	if c.oneIn(20) {
		name = strings.Repeat(name, 1+int(c.below(2000)))
	}
	return name
}

// decision takes something under one of the policies, which it then says, or makes
// the decision up.
func (c *choices) decision(policies []weir.Policy) (d weir.Decision, taken bool) {
	if c.below(3) == 2 || len(policies) == 0 {
		return c.fiction(), false
	}
	p := policies[c.below(int64(len(policies)))]
	if p.Validate() != nil {
		return c.fiction(), false
	}
	clock := weir.NewManualClock()
	limiter := weir.New(p, weir.WithClock(clock))
	d = limiter.Peek(0)
	for range c.below(4) {
		d = limiter.Take(int(pick(c, 1, 2, int64(max(d.Remaining, 0)), c.below(math.MaxInt))))
		clock.Advance(time.Duration(c.below(int64(time.Minute))))
	}
	return d, true
}

func (c *choices) fiction() weir.Decision {
	number := func() int { return int(pick(c, 0, 1, -1, c.below(1000), math.MaxInt-c.below(2), math.MinInt)) }
	wait := func() time.Duration {
		return pick(c, 0, 1, -1, time.Duration(c.below(int64(time.Hour))), weir.Never-1, weir.Never, math.MinInt64)
	}
	return weir.Decision{
		Allowed: c.below(2) == 0, Policy: c.name(), Limit: number(), Remaining: number(),
		RetryAfter: wait(), ResetAfter: wait(), Shadowed: c.below(2) == 1,
	}
}
