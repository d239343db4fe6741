package explain

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// A Sentence is one policy in words, and how deep it is among the parts of others.
type Sentence struct {
	Policy weir.Policy
	Text   string
	Depth  int
}

// Words says what a valid policy does, and then each of its parts.
func Words(p weir.Policy) []Sentence { return words(nil, p, 0) }

func words(to []Sentence, p weir.Policy, depth int) []Sentence {
	to = append(to, Sentence{p, sentence(p), depth})
	for _, part := range p.Parts() {
		to = words(to, part, depth+1)
	}
	return to
}

func sentence(p weir.Policy) string {
	l, ok := p.Limit()
	switch {
	case !ok && p.Algorithm() == weir.AlgorithmAll:
		return "A request is admitted if each of these admits it; otherwise none of them is charged."
	case !ok:
		return "A request is paid by the first of these that admits it."
	case l == weir.Unlimited():
		return "All is admitted."
	case p.MaxWithin(time.Nanosecond) == 0:
		return "Nothing is admitted."
	}
	switch p.Algorithm() {
	case weir.AlgorithmTokenBucket:
		return fmt.Sprintf("A bucket holds %s. A request takes one, and one comes back every %s: %s at once, then %s, "+
			"and all again after %s of silence.", Plural(l.Burst(), "token"), Interval(l), number(l.Burst()), rate(l), Round(refill(l, l.Burst())))
	case weir.AlgorithmLeakyBucket:
		return fmt.Sprintf("One request every %s: whoever asks sooner is denied, or waits for it.", Interval(l))
	case weir.AlgorithmFixedWindow:
		return fmt.Sprintf("%s in each window of %s, which begin at round times in UTC: up to %s around the end of one.",
			Plural(l.Count(), "request"), Span(l.Period()), number(p.MaxWithin(l.Period())))
	case weir.AlgorithmSlidingWindow:
		return fmt.Sprintf("Never more than %s in any %s, wherever it begins.", Plural(l.Count(), "request"), Span(l.Period()))
	}
	return fmt.Sprintf("%s in %s, where what was admitted in the window before counts by as much of that as is still in view.",
		Plural(l.Count(), "request"), Span(l.Period()))
}

// Plural writes "1 client" and "2,000 clients".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(n) + " " + what + "s"
}

// number writes 12345 as 12,345.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func rate(l weir.Limit) string {
	if unit, ok := units[l.Period()]; ok {
		return number(l.Count()) + " a " + unit
	}
	return number(l.Count()) + " every " + Span(l.Period())
}

var units = map[time.Duration]string{time.Second: "second", time.Minute: "minute", time.Hour: "hour", 24 * time.Hour: "day"}

// refill returns how long n requests take to come back, without the overflow of n
// times a period.
func refill(l weir.Limit, n int) time.Duration {
	whole, rest := bits.Mul64(uint64(l.Period()), uint64(n))
	quotient, _ := bits.Div64(whole%uint64(l.Count()), rest, uint64(l.Count()))
	return time.Duration(quotient)
}

// Interval returns the time for which one request pays, to three digits.
func Interval(l weir.Limit) string { return Round(refill(l, 1)) }

// Round writes a duration to three digits.
func Round(d time.Duration) string {
	unit := time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return Span(d.Round(unit))
}

// Span writes a duration as people do: 1m, not 1m0s, and days.
func Span(d time.Duration) string {
	day := 24 * time.Hour
	if d >= day {
		text := strconv.FormatInt(int64(d/day), 10) + "d"
		if d %= day; d > 0 {
			text += Span(d)
		}
		return text
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
