package weir

import (
	"strconv"
	"strings"
	"time"
)

// Describe returns what the policy means in English, for people who look at it: "20 at
// once, and one more each 100ms (10 in 1s)". It is not for programs to read, and may change.
func (p Policy) Describe() string {
	if err := p.Validate(); err != nil {
		return "invalid"
	}
	return p.describe()
}

func (p *spec) describe() string {
	text := p.describeLimit()
	if p.combined() {
		parts := make([]string, len(p.parts))
		for i, part := range p.parts {
			parts[i] = part.describe()
			if part.combined() && part.name == part.text {
				parts[i] = "(" + parts[i] + ")"
			}
		}
		text = "all of these: "
		if p.algorithm == AlgorithmFirstOf {
			text = "the first of these that has enough: "
		}
		text += strings.Join(parts, "; ")
	}
	if p.name != p.text {
		text = strconv.Quote(p.name) + " (" + text + ")"
	}
	return text
}

func (p *spec) describeLimit() string {
	switch {
	case p.limit.unlimited:
		return "everything"
	case p.limit.deniesAll():
		return "nothing"
	}
	count, period := strconv.Itoa(p.limit.count), periodText(p.limit.period)
	switch p.algorithm {
	case AlgorithmLeakyBucket:
		text := "one each " + intervalText(p.limit) + ", and none sooner"
		if p.queue > 0 {
			text += "; up to " + strconv.Itoa(p.queue) + " wait their turn"
		}
		return text
	case AlgorithmFixedWindow:
		return count + " in each " + period + " of the clock"
	case AlgorithmSlidingWindow:
		return count + " in any " + period
	case AlgorithmSlidingCounter:
		return count + " in any " + period + ", taking what came in the last one of the clock as spread evenly"
	}
	return strconv.Itoa(p.limit.burst) + " at once, and one more each " + intervalText(p.limit) +
		" (" + count + " in " + period + ")"
}

// periodText writes a period with its number: "1h", "1h30m".
func periodText(d time.Duration) string {
	text := string(appendPeriod(nil, d))
	if !isDigit(text[0]) {
		text = "1" + text
	}
	return text
}

// intervalText is the time that one token takes, to three digits or two units.
func intervalText(l Limit) string {
	interval := nanos(l.interval())
	digit := time.Duration(1)
	for interval/digit >= 1000 {
		digit *= 10
	}
	switch {
	case interval >= 100*time.Hour:
		digit = time.Hour
	case interval >= time.Hour:
		digit = time.Minute
	case interval >= time.Minute:
		digit = time.Second
	}
	text := interval.Round(digit).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
